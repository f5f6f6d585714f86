# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a change of a workload does to its pods, in words. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from ..base.sizes import counted

_WORKLOADS = ("DaemonSet", "Deployment", "StatefulSet")
Object = Mapping[str, Any]


def words(live: Object | None, now: Object | None) -> list[str]:
    """What becomes of the pods of a workload, or of those in a ManifestWork.

    Args:
        live: the object as it is; None if there is none.
        now: the object as it would be; None if it is deleted.
    """
    before, after = dict(_workloads(live)), dict(_workloads(now))
    found = []
    for which in sorted({*before, *after}):
        name = "" if len(before | after) == 1 else f"{which}: "
        text = _one(before.get(which), after.get(which))
        if text:
            found.append(name + text)
    return found


def _workloads(obj: Object | None) -> Iterator[tuple[str, Object]]:
    if obj is None:
        return
    if obj.get("kind") in _WORKLOADS:
        yield f"{obj['kind']} {obj['metadata']['name']}", obj
    listed = ((obj.get("spec") or {}).get("workload") or {}).get("manifests") if obj.get("kind") == "ManifestWork" else None
    for inner in listed or []:
        yield from _workloads(inner)


def _one(live: Object | None, now: Object | None) -> str:
    if live is None or now is None:
        verb, there = ("starts", now) if live is None else ("stops", live)
        return f"{verb} {_pods(there or {})}"
    said = []
    if live["spec"].get("template") != now["spec"].get("template"):
        said.append(f"restarts {_pods(live)}")
    was, becomes = _count(live), _count(now)
    if was is not None and becomes is not None and was != becomes:
        said.append(f"{was} pods become {becomes}")
    return ", ".join(said)


def _count(workload: Object) -> int | None:
    return None if workload["kind"] == "DaemonSet" else int(workload["spec"].get("replicas", 1))


def _pods(workload: Object) -> str:
    count = _count(workload)
    if count is None:
        return "a pod on each of its nodes"
    return counted(count, "pod")
