# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Access to a site's job through an Open Cluster Management hub, see C(site_keygen.Place)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..apply.engine import apply_objects
from ..apply.results import Result
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..kube.client import Cluster
from ..manifests import key_job
from ..site_keys import public, shipped
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, key_work, scraping
from . import work as works

# The site's own timeout is later than the control node's.
_HEADROOM = 60
# An agent retries what was refused: the namespace may be created a moment later.
_PATIENCE = 20.0


class ThroughHub:
    """A site that is reached through the hub only.

    Args:
        hub: a connection to it.
        owner: returns the live ManagedClusterAddOn, after applying it.
        first: see C(key_work.idle_work).
        seconds: how long to wait until the site has reported anything.
        check: nothing is written, and nothing waited for.
    """

    def __init__(
        self,
        hub: Cluster,
        spec: SiteSpec,
        owner: Callable[[], Mapping[str, Any] | None],
        *,
        first: Sequence[Mapping[str, Any]] = (),
        seconds: float,
        check: bool = False,
    ) -> None:
        self.hub, self.spec, self.owner, self.first = hub, spec, owner, [dict(item) for item in first]
        self.seconds, self.check = seconds, check
        self.name = spec.cluster
        #: What became of the ManifestWork.
        self.written: list[Result] = []
        self._made: Mapping[str, Any] | None = None
        self._watches: bool | None = None  # whether the hub's ManifestWorks support them
        self._pending: public.Public | None = None

    def read(self) -> public.Public:
        """What the site reports now: nothing before the first request.

        Raises:
            ClusterError: it does not answer.
        """
        if self._pending is not None:
            reported, self._pending = self._pending, None
            return reported
        live = self._live()
        if live is None or self.check:
            return key_work.result(live, self.spec.namespace)
        return key_work.result(self._answered(live, Clock(self.seconds)), self.spec.namespace)

    def make_room(self, seconds: float) -> bool:
        """Wait for the job of another run, for as long as it may take, and remove it."""
        clock, live = Clock(seconds), self._live()
        if not key_work.job_of(live):
            return False
        while key_work.job_of(live) and not (key_work.job_state(live).done or key_work.job_state(live).failed):
            if not clock.tick():
                break  # its run has died, or the site does not report: replace it
            live = self._live()
        self.settle()
        return True

    def run(self, request: Mapping[str, Any], seconds: int) -> None:
        """Let the site create its keys, and remove the job."""
        clock = Clock(seconds)
        owner = self._owner()
        self._apply(key_work.idle_work(self.spec, request["secrets"], owner, self.first))
        live = self._answered(self._live(), clock)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": key_job.OWNER, "uid": key_work.owner_uid(live)}
        complete = {**request, "owner": reference}
        wanted = key_work.keygen_work(self.spec, complete, shipped.files(), seconds + _HEADROOM, owner, self.first)
        try:
            self._apply(wanted)
            live = self._wait(key_work.job_of(wanted), clock)
            self._pending = key_work.result(live, self.spec.namespace)
        finally:
            self._apply(key_work.idle_work(self.spec, request["secrets"], owner, self.first))

    def settle(self) -> None:
        """Apply the idle ManifestWork in its current form: labels are updated, and a left-over job is removed."""
        live = self._live()
        if live is not None:
            names = sorted(self._secrets(live))
            self._apply(key_work.idle_work(self.spec, names, self._owner(), self.first), live)

    def _owner(self) -> Mapping[str, Any] | None:
        if self._made is None:
            self._made = self.owner()
        return self._made

    def _secrets(self, live: Mapping[str, Any] | None) -> set[str]:
        reported = key_work.result(live, self.spec.namespace)
        return {
            *key_job.secret_names(pool.name for pool in self.spec.pools),
            *key_job.secret_names(pool.name for pool in reported.pools),
        }

    def _live(self) -> dict[str, Any] | None:
        name = addon_objects.work_name(self.spec, key_work.PART)
        return self.hub.get(api.WORKS, "ManifestWork", name, self.spec.ocm_cluster)

    def _apply(self, wanted: Mapping[str, Any], live: Mapping[str, Any] | None = None) -> None:
        if self._watches is None:
            self._watches = scraping.served(self.hub, live or self._live())
        if self._watches:
            wanted = {**wanted, "spec": scraping.watched(wanted["spec"])}
        self.written.append(apply_objects(self.hub, [wanted], check=self.check))

    def _answered(self, live: dict[str, Any] | None, clock: Clock) -> dict[str, Any] | None:
        """The ManifestWork once the site has reported something about its current form."""
        while not (works.applied(live).done and key_work.owner_uid(live)):
            if not clock.tick():
                raise ClusterError(
                    f"{self.name}: the agents of the managed cluster {self.spec.ocm_cluster} have not applied the "
                    f"ManifestWork {addon_objects.work_name(self.spec, key_work.PART)} ({works.applied(live).why or 'no values were reported'}). "
                    "Is the cluster available, and may its work agent write what is refused? Run again then."
                )
            live = self._live()
        return live

    def _wait(self, job: str, clock: Clock) -> dict[str, Any] | None:
        patience = Clock(_PATIENCE)
        while True:
            live = self._live()
            if key_work.job_of(live) != job:
                raise ClusterError(f"{self.name}: another run is creating keys there; run again when it is complete.")
            state = key_work.job_state(live)
            if state.done:
                return live
            there = works.applied(live)
            refused = there.failed and patience.is_over()
            if state.failed or refused or not clock.tick():
                why = there.why if there.failed else state.words
                raise ClusterError(
                    f"{self.name}: job {self.spec.namespace}/{job} on the managed cluster {self.spec.ocm_cluster} could not "
                    f"create the site's keys: {why}. Its log is available in its pod, in that cluster: kubectl logs -n "
                    f"{self.spec.namespace} job/{job}. The state is consistent: run again after resolving it."
                )
