# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The SuperLink cannot write to any file for a while, as on a disk that is full. The disk itself is not touched, since a node may share it."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from typing import Any

from ...base.errors import ClusterError
from ...base.object_names import SUPERLINK, SUPERLINK_POD
from ...flower import in_pod
from ...programs import disk_program
from ..bench import LATE
from ..drill_verdict import Measured
from ..heartbeats import Sight
from .base_break import Break

_SILENT = 30.0  # seconds without a line of the program: it prints one every 5 s
_LOOK = 6.0  # seconds before the end in which is looked who is cut off


class DiskFull(Break):
    """See C(Break)."""

    def facts(self) -> dict[str, Any]:
        """The pod; another one has its usual limits."""
        pod = self._bench.superlink()
        return {"pod": pod["metadata"]["uid"] if pod else ""}

    def conduct(self) -> Measured:
        """Hold the limit down for a while; the program in the pod releases it, even if the control node dies."""
        bench = self._bench
        nodes = bench.expected()
        seconds = bench.lasting + _LOOK
        bench.run.say(f"{bench.hub.name}: the SuperLink cannot write, for {seconds:.0f} s")
        states: dict[str, dict[str, Any]] = {}
        sights: list[Sight] = []

        def heard(text: str) -> None:
            bench.go_on()
            line = json.loads(text)
            states[str(line["state"])] = line
            if 1 < line.get("left", 0) <= _LOOK:
                sights.append(bench.look())

        output = in_pod.stream(
            bench.hub, bench.namespace, SUPERLINK_POD, SUPERLINK, disk_program, {"action": "hold", "seconds": seconds}, heard,
            seconds=seconds + 60, silence=_SILENT,
        )  # fmt: skip
        begun = time.monotonic()
        if output.rc or "fault" in states or not {"full", "released"} <= set(states) or not sights:
            said = states.get("fault", {}).get("fault") or output.said
            raise ClusterError(f"{bench.hub.name}: the SuperLink's limits could not be changed in pod {bench.namespace}/{SUPERLINK_POD}: {said}")
        bench.run.note(words=[f"drill: the SuperLink could not write for {seconds:.0f} s"])
        since = float(states["released"]["now"])
        served = sights[-1].back(nodes, float(states["full"]["now"]) + LATE)
        away = {node: where for node, where in nodes.items() if node not in served}
        took, missing = bench.until_back(away, since, begun)
        return Measured(len(nodes), len(away), took, f"it could not write for {seconds:.0f} s", missing)

    def undo(self, facts: Mapping[str, Any]) -> list[str]:
        """Release the limit of the SuperLink if it still has it."""
        pod = self._bench.superlink()
        if pod is None or pod["metadata"]["uid"] != facts.get("pod"):
            return []
        if not any(one["name"] == SUPERLINK and "running" in one.get("state", {}) for one in pod["status"].get("containerStatuses", [])):
            return []
        answer = self._bench.ask(disk_program, {"action": "release"})
        return ["the SuperLink can write again"] if answer.get("count") else []
