# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A plan and the present: whether the fleet is still as it was planned for. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from . import plan_document
from .planned_object import objects

Content = Mapping[str, Any]
_BOUND = {
    "change": "it would now be {now} instead of {was}",
    "uid": "it was deleted and created again",
    "was": "it was changed since",
    "becomes": "the inventory wants something else now",
    "diff": "it would differ in other fields",
}


def differences(planned: Content, present: Content) -> list[str]:
    """What of the present is not as planned, a sentence each."""
    told = plan_document.header_faults(planned, present)
    for host in sorted({*planned["clusters"], *present["clusters"]}):
        was, now = planned["clusters"].get(host) or {}, present["clusters"].get(host) or {}
        told += [f"{host}: {text}" for text in _of_cluster(was, now)]
    return told


def _of_cluster(was: Mapping[str, Any], now: Mapping[str, Any]) -> Iterator[str]:
    if was.get("failed") != now.get("failed"):
        yield "it cannot be looked at any more" if now.get("failed") else "it could not be looked at when the plan was made, and can be now"
        return
    before, after = _by_name(was), _by_name(now)
    for name, found in after.items():
        if name not in before:
            yield f"{found['object']} would be {found['change']}, which is not planned"
        elif found != before[name]:
            yield f"{found['object']}: {_why(before[name], found)}"
    for name, found in before.items():
        if name not in after:
            yield f"{found['object']} was to be {found['change']}, and that is not needed any more"
    if was.get("partitions", {}) != now.get("partitions", {}):
        yield f"partitions: {_told(was.get('partitions'))} in the plan, {_told(now.get('partitions'))} now"
    for step in now.get("steps", []):
        if step not in was.get("steps", []):
            yield f"not planned: {step}"
    for step in was.get("steps", []):
        if step not in now.get("steps", []):
            yield f"not needed any more: {step}"


def _told(partitions: Mapping[str, str] | None) -> str:
    return ", ".join(f"{pool} {numbers}" for pool, numbers in (partitions or {}).items()) or "none"


def _by_name(cluster: Mapping[str, Any]) -> dict[tuple[str, str, str], Mapping[str, Any]]:
    return {(one["cluster"], one["api"], one["object"]): one for one in cluster.get("objects", [])}


def _why(was: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    for name, words in _BOUND.items():
        if was[name] != now[name]:
            return words.format(was=was[name], now=now[name])
    return "what is planned for it differs"


def is_rest(planned: Content, present: Content) -> bool:
    """Whether what is still to do is, entry for entry, a part of the plan."""
    if plan_document.header_faults(planned, present):
        return False
    for host, now in present["clusters"].items():
        was = planned["clusters"].get(host) or {}
        known = _by_name(was)
        if now.get("failed", False) != was.get("failed", False) and not now.get("failed"):
            return False
        if any(known.get(name) != found for name, found in _by_name(now).items()):
            return False
        if not set(now.get("steps", [])) <= set(was.get("steps", [])):
            return False
        if any(was.get("partitions", {}).get(pool) != numbers for pool, numbers in now.get("partitions", {}).items()):
            return False
    return True


def outcome(content: Content, done: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[str]]:
    """What the plan says of its objects, and what was done with them: equal line for line where all was done.

    Args:
        content: the plan.
        done: what was written, in order.
    """
    first: dict[tuple[str, str], dict[str, Any]] = {}
    for one in done:
        key = (one["cluster"], one["object"])
        first[key] = {**one, "change": first[key]["change"] if key in first else one["change"]}
    return plan_document.lines(objects(content)), plan_document.lines(first.values())
