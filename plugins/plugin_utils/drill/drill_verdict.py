# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a drill has measured, and whether that is good enough. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

MET, MISSED, FAILED, NO_EFFECT = "met", "missed", "failed", "no effect"
_COMPLETED = "finished:completed"
_COLUMNS = ("drill", "at", "SuperNodes", "recovered", "target", "result", "note")


@dataclass
class Measured:
    """What a drill has measured.

    Attributes:
        of: number of SuperNodes concerned.
        affected: how many of them lost the SuperLink.
        seconds: until all that were affected were back; None if they were not.
        note: a sentence.
        error: why it could not be completed; empty if it was.
    """

    of: int = 0
    affected: int = 0
    seconds: float | None = None
    note: str = ""
    error: str = ""


def row(name: str, place: str, target: int, found: Measured, run: Mapping[str, str] | None = None) -> dict[str, Any]:
    """The result of a drill.

    Args:
        name: the drill.
        place: inventory name of what was broken.
        target: seconds.
        found: what was measured.
        run: C(id) and C(status) of the drill's own run; nothing without one.
    """
    bad_run = bool(run) and (run or {}).get("status") != _COMPLETED
    note = found.error or found.note
    if run:
        note = "; ".join(filter(None, (note, f"run {run['id']}: {run['status']}")))
    if found.error or bad_run:
        result = FAILED
    elif not found.affected:
        result = NO_EFFECT
    elif found.seconds is None or found.seconds > target:
        result = MISSED
    else:
        result = MET
    return {
        **{key: value for key, value in asdict(found).items() if key in ("of", "affected", "seconds")},
        "drill": name,
        "at": place,
        "target": target,
        "result": result,
        "note": note,
        "run": dict(run or {}),
    }


def words(one: Mapping[str, Any]) -> str:
    """A row in a sentence, for the audit trail."""
    took = "not recovered" if one["seconds"] is None else f"recovered after {one['seconds']:.0f} s"
    return f"{one['affected']} of {one['of']} SuperNodes lost the SuperLink, {took}, target {one['target']} s" + (f"; {one['note']}" if one["note"] else "")


def table(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Lines for people."""
    cells = [list(_COLUMNS)]
    for one in rows:
        took = "-" if one["seconds"] is None else f"{one['seconds']:.0f} s"
        cells.append(
            [one["drill"], one["at"], f"{one['affected']} of {one['of']}", took, f"{one['target']} s", one["result"], one["note"]]
        )
    widths = [max(len(line[column]) for line in cells) for column in range(len(_COLUMNS))]
    return ["  ".join(text.ljust(width) for text, width in zip(line, widths)).rstrip() for line in cells]


def faults(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """A sentence for each drill that did not go as it should."""
    found = []
    for one in rows:
        where = f"{one['drill']} at {one['at']}"
        if one["result"] == FAILED:
            found.append(f"{where}: {one['note']}")
        elif one["result"] == NO_EFFECT:
            found.append(f"{where}: no SuperNode lost the SuperLink, so nothing was measured. {one['note']}".rstrip())
        elif one["result"] == MISSED:
            took = f"after {one['seconds']:.0f} s" if one["seconds"] is not None else "not back in time"
            found.append(f"{where}: {took}, and the target is {one['target']} s (flower_drill_targets). {one['note']}".rstrip())
    return found
