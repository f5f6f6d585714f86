# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Take, renew and return the lease on the hub. Every write names the version that it replaces, so one of several rivals gets it."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden, NotFound
from ..kube.client import Cluster
from ..kube.configmaps import retry_on_conflict
from ..marks import proof
from . import lease_object as record

Object = dict[str, Any]

_POLL = 1.0  # seconds between two reads of a lease that someone else holds
_SAY = 30.0  # seconds after which it is said again that it is waited for
_TIMEOUT = 5.0  # seconds for a request of the thread, or longer if the connection has more (flower_api_timeout)
_LONGEST = (record.SECONDS - record.RENEW) / 5  # at most: a renewal is a read and a write, and one that failed leaves time for another
_ABANDONED = 120.0  # seconds for which it is renewed after the end of the playbook: three minutes later it has ended
_AGAIN = 2.0  # seconds until the next attempt after a renewal that failed
_TERMINATING = "NamespaceTerminating"  # a namespace that is being deleted accepts no new objects (apiserver, NamespaceLifecycle)


class Lost(ClusterError):
    """Someone else holds the lease now."""


class Lease:
    """The lease of one fleet.

    Args:
        identity: that of this run, see C(lease_object.identity).
    """

    def __init__(self, cluster: Cluster, namespace: str, federation: str, identity: str = "") -> None:
        self.cluster, self.namespace, self.federation, self.identity = cluster, namespace, federation, identity
        self._run = identity.rpartition(", ")[2]

    @property
    def what(self) -> str:
        """The object, in messages."""
        return f"Lease {self.namespace}/{record.NAME} on {self.cluster.name}"

    def read(self) -> Object | None:
        """The object; None if there is none.

        Raises:
            ClusterError: someone else created it.
        """
        live = self.cluster.get(record.API, record.KIND, record.NAME, self.namespace)
        if live is not None and not proof.belongs(live, self.federation):
            raise ClusterError(
                f"{self.what} exists already and {proof.holder(live)}: it is not changed. Delete or rename it, or deploy into another "
                "namespace (flower_namespace)."
            )
        return live

    def inspect(self) -> tuple[Object | None, bool]:
        """The object, and whether its holder has lost it without returning it, as far as the hub's clock tells."""
        live = self.read()
        return live, live is not None and record.seconds_left(live, self._now()) <= 0

    def take(
        self, seconds: float, say: Callable[[str], None], *, had: bool = False, breaks: Callable[[Object], bool] = lambda _live: False
    ) -> Object | None:
        """Take it when it is free, or has ended, or is this run's, which renews it.

        Args:
            seconds: how long it is waited for at most.
            say: shows who is waited for.
            had: whether this run has taken it before. Then no other run may have had it since.
            breaks: whether it is taken from its holder at once; gets the object.

        Returns:
            The object; None when there is no such namespace yet, or it is being deleted.

        Raises:
            Lost: someone else has had it since this run took it.
            ClusterError: someone else holds it, or the rights are missing.
        """
        deadline = time.monotonic() + seconds
        shown, said_at = "", 0.0
        while True:
            try:
                live = retry_on_conflict(self.what, lambda: self._try(had, breaks))
            except Forbidden as error:
                raise ClusterError(
                    f"the lease of the fleet, which prevents two playbooks from changing it at the same time, cannot be taken: {error.text}. "
                    "Ask the hub's administrators for these rights (the playbook federated.flower.rbac writes them down)."
                ) from error
            if live is None or self._is_own(live):
                return live
            now = time.monotonic()
            if now >= deadline:
                waited = f" after {seconds:g} s" if seconds else ""
                raise ClusterError(
                    f"{record.describe_holder(live)} has been changing the federation {self.federation} since {record.since(live)} and still holds its "
                    f"lease{waited}, so nothing was changed. Run this again when that has ended, or wait longer: -e flower_lease_wait=SECONDS. A playbook "
                    f"that was killed loses the lease within {record.SECONDS + 2} s. If {record.name(live)} hangs and cannot be cancelled: "
                    "-e flower_lease_break=true"
                )
            if record.holder(live) != shown or now - said_at >= _SAY:
                shown, said_at = record.holder(live), now
                say(
                    f"Waiting for {record.describe_holder(live)}, who has been changing the federation {self.federation} since {record.since(live)}: "
                    f"{deadline - now:.0f} s at most."
                )
            time.sleep(min(_POLL, deadline - now))

    def renew(self) -> bool:
        """Write that its holder is still there; False when it is gone, as after the hub's namespace was deleted.

        Raises:
            Lost: someone else holds it.
        """

        def attempt() -> bool:
            live = self._own()
            if live is not None:
                self.cluster.replace(record.renewed(live, self._now()))
            return live is not None

        return retry_on_conflict(self.what, attempt, unsure=False)

    def give_back(self) -> bool:
        """Delete it; False when it was gone.

        Raises:
            Lost: someone else holds it.
        """

        def attempt() -> bool:
            live = self._own()
            if live is None:
                return False
            meta, place = live["metadata"], (record.API, record.KIND, record.NAME, self.namespace)
            # Not in the foreground, which would leave it there for a moment, with its holder.
            return self.cluster.delete(*place, propagation="Background", uid=meta["uid"], version=meta["resourceVersion"]) is not None

        try:
            return retry_on_conflict(self.what, attempt, unsure=False)
        except Forbidden:
            return False  # on OpenShift, it went with its project; otherwise it ends by itself

    @contextmanager
    def kept(self, is_abandoned: Callable[[], bool] = lambda: False) -> Iterator[None]:
        """Renew it in a thread for as long as the block lasts. The connection is that of the thread meanwhile.

        When the hub cannot be reached, the lease ends by itself; it is renewed again afterwards unless someone took it.

        Args:
            is_abandoned: whether the playbook was killed. What its fork still does keeps the lease for a while only, since it may hang.
        """
        self.cluster.timeout = self.cluster.retry_seconds = min(max(self.cluster.timeout, _TIMEOUT), _LONGEST)
        ended = threading.Event()
        thread = threading.Thread(target=self._keep, args=(ended, is_abandoned), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _keep(self, ended: threading.Event, is_abandoned: Callable[[], bool]) -> None:
        pause, left = record.RENEW, _ABANDONED
        while not ended.wait(pause):
            left -= pause if is_abandoned() else 0
            if left <= 0:
                return
            try:
                if not self.renew():
                    return
                pause = record.RENEW
            except Lost:
                return  # the next task says so
            except ClusterError:
                pause = _AGAIN

    def _try(self, had: bool, breaks: Callable[[Object], bool]) -> Object | None:
        """The object as it is; this run's, if it could be taken."""
        live = self.read()
        if live is not None and self._is_own(live):
            fresh = record.seconds_left(live, self._now()) > record.SECONDS - record.RENEW / 2
            return live if fresh else self.cluster.replace(record.renewed(live, self._now()))
        if live is not None and had:
            raise self._lost(f"{record.describe_holder(live)} took it at {record.since(live)}")
        if live is not None and record.seconds_left(live, self._now()) > 0 and not breaks(live):
            return live
        wanted = record.taken(live, self.namespace, self.federation, self.identity, self._now())
        if live is not None:
            return self.cluster.replace(wanted)
        try:
            created = self.cluster.create(wanted)
        except NotFound:
            return None
        except Forbidden as error:
            if _TERMINATING in [cause.get("reason") for cause in error.details.get("causes") or []]:
                return None  # the deployment waits for the end of the namespace, and creates it again
            raise
        if had:
            self.give_back()
            raise self._lost("someone took and returned it, or deleted it")
        return created

    def _is_own(self, live: Object) -> bool:
        return record.run_of(live) == self._run

    def _own(self) -> Object | None:
        live = self.read()
        if live is not None and not self._is_own(live):
            raise self._lost(f"{record.describe_holder(live)} took it at {record.since(live)}")
        return live

    def _lost(self, what: str) -> Lost:
        return Lost(
            f"this run lost the lease of the federation {self.federation}: {what}, after this run had not renewed it for {record.SECONDS} s, or by "
            "force. To prevent two playbooks from changing the fleet at the same time, this run changes nothing more. Run the playbook again when the "
            "other one has ended."
        )

    def _now(self) -> datetime.datetime:
        """The hub's time; that of this machine while it is not known."""
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.cluster.skew or 0)
