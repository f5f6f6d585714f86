# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Restart SuperNodes that run, but are not online at the SuperLink, one after another at each site."""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK_POD
from ..base.values import Object
from ..flower.cli import FlowerCLI, FlowerError, started_at, superlink_state
from ..kube.client import Cluster
from ..marks import proof
from ..sites.site import Run, Site, SiteBackend
from ..state.ledger import Ledger
from ..state.parent import Abandoned
from . import heal_plan
from .heal_plan import Lost
from .outcome import Outcomes

Nodes = Mapping[str, Mapping[str, Any]]

# Seconds after which no restart begins: the lease is held meanwhile, and a run of a schedule must end.
_LONGEST = 1800.0
# Seconds for which the SuperLink may list no SuperNodes while pods restart.
_SILENCE = 60.0


@dataclass
class _Batch:
    """SuperNodes of one site that are restarted at once.

    Attributes:
        lost: those that are waited for.
        before: node id -> since when it was online before.
        begun: when the restart began.
    """

    lost: list[Lost]
    before: dict[str, Any]
    begun: float = 0.0

    def take_back(self, nodes: Nodes, now: float) -> list[dict[str, Any]]:
        """Those that are online again, for a result; they are waited for no longer."""
        states = {one.node: nodes.get(one.node, {}) for one in self.lost}
        back = [one for one in self.lost if _is_online(states[one.node]) and states[one.node].get("online-at") != self.before[one.node]]
        self.lost = [one for one in self.lost if one not in back]
        return [{**one.as_dict(), "seconds": round(now - self.begun, 1)} for one in back]


@dataclass(frozen=True)
class Options:
    """What is wanted.

    Attributes:
        restart: whether to restart anything; without it, what would be done is shown.
        together: restart all SuperNodes of a site at once.
        after: seconds for which a pod must have been ready, and its node offline.
        seconds: how long a restarted one may take to be online.
    """

    restart: bool
    together: bool
    after: int
    seconds: int


class Healer:
    """The sites of one run.

    Args:
        run: the run.
        hub: a connection to the hub.
        namespace: the SuperLink's.
        federation: the federation's name.
        options: see there.
    """

    def __init__(self, run: Run, hub: Cluster, namespace: str, federation: str, options: Options) -> None:
        self.run, self.hub, self.namespace, self.federation, self.options = run, hub, namespace, federation, options
        self.ledger = Ledger(hub, namespace, federation, check=run.check)
        self.cli = FlowerCLI(hub, namespace)
        self.restarted = 0
        # A connection is not for several threads.
        self._one_at_the_hub = threading.Lock()

    def heal(self, sites: Mapping[str, Site], backends: Mapping[str, SiteBackend], outcomes: Outcomes) -> dict[str, Any]:
        """Read the fleet, restart what is due, and wait for it.

        Returns:
            C(healed), C(due), C(waiting), C(given_up) (lists of dicts, see C(Lost.as_dict); a healed one has C(seconds)), C(unreadable)
            (site -> why), and C(fault) and C(pause) of C(heal_plan.Plan). While the SuperLink does not run, C(fault) says so, and the rest is
            not known.

        Raises:
            ClusterError: the hub cannot be read, or has no federation.
            Abandoned: the playbook has ended; sites whose turn had not come are left as they are.
        """
        found, damaged = self.ledger.read_sites()
        unreadable = {name: words for name, words in damaged.items() if name in sites}
        result: dict[str, Any] = {"healed": [], "due": [], "waiting": [], "given_up": [], "unreadable": unreadable, "fault": "", "pause": ""}
        try:
            started = self._superlink()
            nodes = self.cli.nodes()
        except FlowerError as error:
            if not found and not damaged:
                raise
            # The hub is compared with the inventory nevertheless: what stopped it may be drift.
            return {**result, "fault": error.message}
        pods = outcomes.each(lambda name: self._pods(sites[name], backends[name]), [*sites])
        hub = heal_plan.Hub(found, self.ledger.read_book(), nodes, started)
        plan = heal_plan.plan(hub, pods, self._now(), datetime.timedelta(seconds=self.options.after))
        result |= {"fault": plan.fault, "pause": plan.pause}
        result["waiting"] = [one.as_dict() for one in plan.waiting]
        result["given_up"] = [one.as_dict() for one in plan.given_up]
        if not self.options.restart or self.run.check:
            result["due"] = [one.as_dict() for listed in plan.restart.values() for one in listed]
        else:
            for name in found:
                if found[name].get(heal_plan.HEALING):
                    self.ledger.change_record(name, partial(heal_plan.without_healed, nodes=nodes))
            if plan.restart:
                self._restart_all(plan.restart, backends, outcomes, result)
        result["unreadable"] |= {name: outcomes[name].msg for name in sites if outcomes[name].failed}
        return result

    def _now(self) -> datetime.datetime:
        """The time of the hub's cluster, by which pods and SuperNodes are dated. The control node's may be another one."""
        return datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=self.hub.skew or 0)

    def _superlink(self) -> datetime.datetime | None:
        """When the SuperLink's container started."""
        pod = self.hub.get("v1", "Pod", SUPERLINK_POD, self.namespace)
        seen = superlink_state(pod)
        if seen is not None:
            raise FlowerError(
                f"the SuperLink does not run, so no SuperNode is restarted: pod {self.namespace}/{SUPERLINK_POD} on {self.hub.name}: {seen}"
            )
        return started_at(pod)

    def _pods(self, site: Site, backend: SiteBackend) -> Sequence[Object] | None:
        pods = backend.pods()
        return None if pods is None else [heal_plan.seen(pod) for pod in pods if proof.belongs(pod, site.federation)]

    def _restart_all(self, todo: Mapping[str, Sequence[Lost]], backends: Mapping[str, SiteBackend], outcomes: Outcomes, result: dict[str, Any]) -> None:
        """Restart at all sites at the same time; fills in C(healed), C(waiting) and C(fault). A site that fails is left to C(outcomes).

        At each site the next one is restarted when the one before it is online again. If that is not online in time, nothing more is restarted there.
        """
        left = {name: [list(lost)] if self.options.together else [[one] for one in lost] for name, lost in todo.items()}
        open_batches: dict[str, _Batch] = {}

        def leave(name: str, why: str) -> None:
            result["waiting"] += [{**one.as_dict(), "why": why} for batch in left.pop(name, []) for one in batch]

        def restart(name: str) -> None:
            open_batches[name].begun = time.monotonic()
            self._restart(backends[name], open_batches[name].lost)

        answered = time.monotonic()
        end = answered + _LONGEST
        try:
            while left or open_batches:
                try:
                    nodes = self.cli.nodes()
                except ClusterError:  # an interrupted connection does not end the healing of all sites
                    if time.monotonic() - answered > _SILENCE:
                        raise
                    outcomes.require_playbook()
                    time.sleep(1)
                    continue
                answered = now = time.monotonic()
                for name, batch in list(open_batches.items()):
                    result["healed"] += batch.take_back(nodes, now)
                    if batch.lost and now - batch.begun < self.options.seconds:
                        continue
                    if batch.lost:
                        late = f"it was restarted and is not online after {self.options.seconds:g} s"
                        result["waiting"] += [{**one.as_dict(), "why": late} for one in batch.lost]
                        leave(name, f"restart of {batch.lost[0].pool}/{batch.lost[0].name} did not help, so this one was left alone")
                    del open_batches[name]
                    self._record_healed(name, nodes, outcomes)
                due = []
                for name in [name for name in left if name not in open_batches and not outcomes[name].failed]:
                    if now >= end:
                        leave(name, f"restarts took {_LONGEST:.0f} s, so this one is left to the next run")
                        continue
                    batches = [away for batch in left[name] if (away := [one for one in batch if not _is_online(nodes.get(one.node, {}))])]
                    left[name] = batches[1:]
                    if not left[name]:
                        del left[name]
                    if batches:
                        open_batches[name] = _Batch(batches[0], {one.node: nodes.get(one.node, {}).get("online-at") for one in batches[0]})
                        due.append(name)
                outcomes.each(restart, due)
                for name in [name for name in todo if outcomes[name].failed]:  # its error is reported instead
                    left.pop(name, None)
                    open_batches.pop(name, None)
                for name in [name for name in due if name in open_batches]:
                    self.run.say(f"{name}: waiting for {', '.join(one.pod['metadata']['name'] for one in open_batches[name].lost)}")
                if open_batches:
                    outcomes.require_playbook()
                    time.sleep(1)
        except Abandoned:
            raise
        except ClusterError as error:  # of the hub: what was done until then is reported nevertheless
            result["fault"] = error.message
            for name in todo:
                left[name] = [open_batches[name].lost if name in open_batches else [], *left.get(name, [])]
                leave(name, "whether it is online is unknown, because the SuperLink did not answer")
        for kind in ("healed", "waiting"):
            result[kind].sort(key=lambda one: str(one["site"]))

    def _restart(self, backend: SiteBackend, batch: Sequence[Lost]) -> None:
        now = self._now().isoformat(timespec="seconds")
        # Before the restart: if this run ends here, the next one knows of it.
        with self._one_at_the_hub:
            self.ledger.change_record(batch[0].site, lambda record: heal_plan.with_restart(record, [one.node for one in batch], now))
            self.restarted += len(batch)
        backend.restart_pods([one.pod for one in batch])

    def _record_healed(self, name: str, nodes: Mapping[str, Mapping[str, Any]], outcomes: Outcomes) -> None:
        try:
            self.ledger.change_record(name, partial(heal_plan.without_healed, nodes=nodes))
        except ClusterError as error:
            outcomes.fail(name, error.message)


def _is_online(state: Mapping[str, Any]) -> bool:
    return state.get("status") == "online"
