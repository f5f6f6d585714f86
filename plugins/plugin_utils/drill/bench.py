# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What all drills need: the hub, its SuperNodes, and waiting until the SuperLink has heard of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import ModuleType
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK_POD
from ..base.times import moment
from ..flower import in_pod
from ..flower.cli import CONTAINER, FlowerCLI, superlink_state
from ..kube.client import Cluster
from ..lease import parent as playbook
from ..ledger.ranges import Book
from ..ledger.records import Record
from ..ledger.store import Ledger
from ..programs import heartbeat_program
from ..reach.site import Reach, Run
from ..rotation import conditions
from ..spec.hub_spec import HubSpec
from . import heartbeats, mark

PAUSE = 1.0  # seconds between two looks
# SuperNodes send a heartbeat every 27 s at most (flwr 1.41): who was not heard of for longer than that is cut off.
_LASTING = 36.0
LATE = 4.0  # seconds in which a call that had begun before the fault may still succeed


@dataclass(frozen=True)
class Options:
    """What is wanted.

    Attributes:
        site: inventory name of the site that is cut off, or whose SuperNode is killed; empty for the first one that can be.
        hold: seconds for which a fault lasts.
        wait: seconds to wait for a recovery.
        directory: folder of the control node for the backup; C(None) where none is given.
        recipients: public keys of age.
        identity: the private key, as C(age_keys.identity_of) returns it.
    """

    site: str = ""
    hold: int = 60
    wait: int = 300
    directory: Path | None = None
    recipients: Sequence[Any] = ()
    identity: Any = field(default=None, repr=False)


@dataclass
class Bench:
    """A hub on which drills are conducted.

    Attributes:
        run: the run.
        hub: a connection to the hub.
        spec: the hub.
        ca_namespace: that of the CA keys.
        options: see there.
        sites: inventory names of the sites.
        reach: site -> the way to it.
        parent: process of the playbook.
    """

    run: Run
    hub: Cluster
    spec: HubSpec
    ca_namespace: str
    options: Options
    sites: Sequence[str]
    reach: Callable[[str], Reach]
    parent: int = field(default_factory=os.getppid)

    @property
    def namespace(self) -> str:
        """The SuperLink's namespace."""
        return self.spec.namespace

    @property
    def federation(self) -> str:
        """Name of the federation."""
        return self.spec.federation

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger."""
        return Ledger(self.hub, self.namespace, self.federation)

    @cached_property
    def cli(self) -> FlowerCLI:
        """Flower's command line."""
        return FlowerCLI(self.hub, self.namespace)

    @cached_property
    def store(self) -> mark.Store:
        """The mark."""
        return mark.Store(self.hub, self.namespace, self.federation)

    @cached_property
    def records(self) -> tuple[Book, Mapping[str, Record]]:
        """Book and records of the ledger at the begin."""
        return self.ledger.read_book(), self.ledger.read_records()

    def superlink(self) -> dict[str, Any] | None:
        """The SuperLink's pod."""
        return self.hub.get("v1", "Pod", SUPERLINK_POD, self.namespace)

    def ask(self, program: ModuleType, request: Mapping[str, Any] | None = None, *, pod: str = SUPERLINK_POD, seconds: float = 60) -> dict[str, Any]:
        """The answer of a program in the SuperLink's container.

        Raises:
            ClusterError: it gave none, or has a fault to report.
        """
        output = in_pod.run(self.hub, self.namespace, pod, CONTAINER, program, request or {}, seconds=seconds)
        answer = (output.objects() or [{"fault": "it gave no answer"}])[-1]
        if answer.get("fault"):
            raise ClusterError(f"{self.hub.name}: a program in pod {self.namespace}/{pod}: {answer['fault']}")
        return answer

    def look(self) -> heartbeats.Sight:
        """When SuperNodes were heard of."""
        return heartbeats.sight_of(self.ask(heartbeat_program))

    def expected(self, site: str = "") -> dict[str, str]:
        """Node id -> where it is, of the SuperNodes that are online now; of one site, or of all that are admitted."""
        book, found = self.records
        online = {node for node, facts in self.cli.nodes().items() if facts["status"] == "online"}
        return {
            key["node_id"]: f"{name} {key['pool']}/{key['name']}"
            for name, record in sorted(found.items())
            if site in ("", name) and not conditions.exemption(name, book, found)
            for key in conditions.expected(record)
            if key["node_id"] in online
        }

    @property
    def lasting(self) -> float:
        """Seconds for which a fault lasts: long enough to notice that SuperNodes are cut off."""
        return max(float(self.options.hold), _LASTING)

    def hold(self, seconds: float, why: str) -> None:
        """Leave something broken for a while."""
        self.run.say(f"{self.hub.name}: {why}, for {seconds:.0f} s")
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.go_on()
            time.sleep(min(PAUSE, max(end - time.monotonic(), 0)))

    def go_on(self) -> None:
        """Look whether the playbook is still there; called before each step.

        Raises:
            Abandoned: it is not.
        """
        playbook.go_on(self.parent, f"{self.hub.name}: the playbook of the drill")

    def cut_off(self, nodes: Mapping[str, str], since: float) -> dict[str, str]:
        """Those SuperNodes that were not heard of since a time of the SuperLink."""
        heard = set(self.look().back(nodes, since + LATE))
        return {node: where for node, where in nodes.items() if node not in heard}

    def until_back(self, nodes: Mapping[str, str], since: float, begun: float, *, restarted: bool = False) -> tuple[float | None, str]:
        """Wait until SuperNodes are back.

        Args:
            nodes: node id -> where it is.
            since: time of the SuperLink after which they must be heard of.
            begun: begin of the measurement, as C(time.monotonic) has it.
            restarted: whether they must have begun a session after C(since).

        Returns:
            Seconds from C(begun) until all were back, None if they were not; and a sentence on those that were not.
        """
        if not nodes:
            return None, ""
        self.run.say(f"{self.hub.name}: waiting for {len(nodes)} SuperNodes")
        deadline = time.monotonic() + self.options.wait
        missing, trouble = dict(nodes), ""
        while True:
            self.go_on()
            try:
                back = self.look().back(nodes, since, restarted=restarted)
                missing, trouble = {node: where for node, where in nodes.items() if node not in back}, ""
            except ClusterError as error:
                trouble = f"; the last look failed: {error.message}"
            if not missing:
                return time.monotonic() - begun, ""
            if time.monotonic() >= deadline:
                return None, f"not back after {self.options.wait} s: {', '.join(missing.values())}{trouble}"
            time.sleep(PAUSE)

    def until_superlink(self, other_than: str = "") -> float:
        """Wait until the SuperLink runs; returns when its container started.

        Args:
            other_than: uid of a pod that does not count.

        Raises:
            ClusterError: it does not.
        """
        deadline = time.monotonic() + self.options.wait
        while True:
            self.go_on()
            pod = self.superlink()
            seen = superlink_state(pod)
            if pod is not None and pod["metadata"]["uid"] == other_than:
                seen = "the old pod has not ended yet"
            if pod is not None and seen is None:
                (running,) = [one["state"]["running"] for one in pod["status"]["containerStatuses"] if one["name"] == CONTAINER]
                started = moment(running["startedAt"])
                if started is not None:
                    return started.timestamp()
            if time.monotonic() >= deadline:
                raise ClusterError(f"{self.hub.name}: the SuperLink does not run after {self.options.wait} s; last seen: {seen}")
            time.sleep(PAUSE / 4)
