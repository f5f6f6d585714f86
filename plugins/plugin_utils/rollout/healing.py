# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restart SuperNodes that run, but are not online at the SuperLink: C(heal_plan) decides, this reads and acts."""

from __future__ import annotations

import datetime
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from ..base import times
from ..base.errors import ClusterError
from ..base.values import Object
from ..flower.cli import CONTAINER, FlowerCLI, superlink_state
from ..kube.client import Cluster
from ..ledger.store import Ledger
from ..manifests.superlink import POD
from ..marks import proof
from ..reach.site import Reach, Run, Site, named
from . import heal_plan
from .outcome import Outcomes, resting


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
        # Node ids that were online again before their turn came.
        self._came: set[str] = set()

    def heal(self, sites: Mapping[str, Site], ways: Mapping[str, Reach], outcomes: Outcomes) -> dict[str, Any]:
        """Read the fleet, restart what is due, and wait for it.

        Returns:
            C(healed), C(due), C(waiting), C(given_up) (lists of dicts, see C(Lost.as_dict); a healed one has C(seconds)), C(unreadable)
            (site -> why), and C(fault) and C(pause) of C(heal_plan.Plan).

        Raises:
            ClusterError: the hub cannot be read, or its SuperLink does not run: then nothing is restarted.
            Abandoned: the playbook has ended; sites whose turn had not come are left as they are.
        """
        started = self._superlink()
        nodes = self.cli.nodes()
        found, unreadable = self.ledger.read_sites()
        pods = outcomes.each(resting(ways, lambda name: self._pods(sites[name], ways[name])), [*sites])
        unreadable = {name: words for name, words in unreadable.items() if name in sites}
        unreadable |= {name: outcomes[name].msg for name in sites if outcomes[name].failed}
        hub = heal_plan.Hub(found, self.ledger.read_book(), nodes, started)
        now = datetime.datetime.now(datetime.timezone.utc)
        plan = heal_plan.plan(hub, pods, now, datetime.timedelta(seconds=self.options.after))
        result: dict[str, Any] = {"healed": [], "due": [], "unreadable": unreadable}
        result |= {"fault": plan.fault, "pause": plan.pause}
        result["waiting"] = [one.as_dict() for one in plan.waiting]
        result["given_up"] = [one.as_dict() for one in plan.given_up]
        if not self.options.restart or self.run.check:
            result["due"] = [one.as_dict() for listed in plan.restart.values() for one in listed]
            return result
        for name in found:
            if found[name].get(heal_plan.HEALING):
                self.ledger.change_record(name, partial(heal_plan.settled, nodes=nodes))
        for name, lost in plan.restart.items():
            outcomes.go_on()
            try:
                self._site(ways[name], lost, result)
            except ClusterError as error:
                result["unreadable"][name] = named(name, error.message)
            finally:
                ways[name].rest()
        return result

    def _superlink(self) -> datetime.datetime | None:
        """When the SuperLink's container started."""
        pod = self.hub.get("v1", "Pod", POD, self.namespace)
        seen = superlink_state(pod)
        if pod is None or seen is not None:
            raise ClusterError(
                f"the SuperLink does not run, so no SuperNode is restarted: pod {self.namespace}/{POD} on {self.hub.name}: {seen}"
            )
        running = [one["state"]["running"] for one in pod["status"]["containerStatuses"] if one["name"] == CONTAINER]
        return times.moment(running[0].get("startedAt"))

    def _pods(self, site: Site, way: Reach) -> Sequence[Object] | None:
        pods = way.pods()
        return None if pods is None else [pod for pod in pods if proof.belongs(pod, site.federation)]

    def _site(self, way: Reach, lost: Sequence[heal_plan.Lost], result: dict[str, Any]) -> None:
        """One after the other, or all at once; the first that does not come back ends it."""
        batches = [list(lost)] if self.options.together else [[one] for one in lost]
        for number, batch in enumerate(batches):
            back = self._restart(way, batch)
            result["healed"] += [
                {**one.as_dict(), "seconds": round(back[one.node], 1)} for one in batch if one.node in back
            ]
            missing = [one for one in batch if one.node not in back and one.node not in self._came]
            if missing:
                late = f"it was restarted and is not online after {self.options.seconds} s"
                behind = f"restart of {missing[0].pool}/{missing[0].name} did not help, so this one was left alone"
                result["waiting"] += [{**one.as_dict(), "why": late} for one in missing]
                result["waiting"] += [
                    {**one.as_dict(), "why": behind} for rest in batches[number + 1 :] for one in rest
                ]
                return

    def _restart(self, way: Reach, batch: Sequence[heal_plan.Lost]) -> dict[str, float]:
        """Node id -> seconds until it was online, of those that are."""
        site = batch[0].site
        fresh = self.cli.nodes()
        begun = time.monotonic()
        todo = [one for one in batch if fresh.get(one.node, {}).get("status") != "online"]
        self._came |= {one.node for one in batch if one not in todo}
        before = {one.node: fresh.get(one.node, {}).get("online-at") for one in todo}
        if todo:
            # Before the restart: if this run ends here, the next one knows of it.
            now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
            self.ledger.change_record(site, lambda record: heal_plan.tried(record, [one.node for one in todo], now))
            self.restarted += len(todo)
            way.restart_pods([one.pod for one in todo])
            self.run.say(f"{site}: waiting for {', '.join(one.pod['metadata']['name'] for one in todo)}")
        back: dict[str, float] = {}
        while True:
            fresh = self.cli.nodes()
            for node in before:
                state = fresh.get(node, {})
                if state.get("status") == "online" and state.get("online-at") != before[node]:
                    back.setdefault(node, time.monotonic() - begun)
            if len(back) == len(before) or time.monotonic() - begun >= self.options.seconds:
                break
            time.sleep(1)
        self.ledger.change_record(site, partial(heal_plan.settled, nodes=fresh))
        return back
