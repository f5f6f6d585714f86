# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Outputs of runs and inputs for them: join with the runs that Flower knows, choose, keep, show. Pure."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..base import formats
from ..base.formats import counted, readable
from ..programs.outputs_program import NAME
from .cli import FlowerError
from .outputs_list import Room, Stored

UNKNOWN = "unknown"  # status of a run that the SuperLink does not know any more
#: Ids of runs are random numbers of 64 bits: one of 2000 is shorter. A folder C(2024) or C(20251124103000) on a claim of the user is of no run.
LIKELY = re.compile(r"[0-9]{17,20}")

_LATEST = 253_402_300_799  # the end of the year 9999
_COLUMNS = ("run", "app", "status", "finished (UTC)", "files", "size", "notes")
_INPUT_COLUMNS = ("inputs", "last used (UTC)", "files", "size", "notes")
#: What a run is handed is marked as used before the run is submitted, by another clock, and again until then.
_BEFORE_SUBMISSION = datetime.timedelta(hours=1)


def entries(stored: Sequence[Stored], runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Outputs with what Flower knows of their runs (entries of C(run_table)), the newest first."""
    known = {run["run_id"]: run for run in runs}
    recently = _now() - _BEFORE_SUBMISSION
    since = min(_used_since(runs) or recently, recently)
    found = []
    for one in stored:
        run = known.get(one.name, {})
        found.append(
            {
                "run_id": one.name,
                **{key: run.get(key, "") for key in ("app", "version", "fab_hash")},
                "status": run.get("status", UNKNOWN),
                "active": bool(run.get("active")),
                "in_use": _moment(one.used) >= since,
                # When a run ended is known from its files only, if the SuperLink has lost it.
                "finished_at": _text(formats.moment(run.get("finished_at")) or _moment(one.changed)),
                "files": one.files,
                "size": one.size,
                "left_out": one.left_out,
            }
        )
    return sorted(found, key=lambda one: (one["active"], one["finished_at"], one["run_id"]), reverse=True)


def input_entries(stored: Sequence[Stored], runs: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Inputs, those that were used last first. Those that a run which is not finished may use are C(active).

    Flower does not say which inputs a run got: all that were used since the oldest of these runs was submitted count.
    """
    since = _used_since(runs)
    return [
        {
            "name": one.name,
            "whole": one.whole,
            "files": one.files,
            "size": one.size,
            "used_at": _text(_moment(one.used)),
            "active": since is not None and _moment(one.used) >= since,
        }
        for one in stored
    ]


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc)


def _used_since(runs: Sequence[Mapping[str, Any]]) -> datetime.datetime | None:
    """What was handed to a run since then may be used by one that is not finished; None if all are finished."""
    begun = [formats.moment(run.get("pending_at")) or _now() for run in runs if run["active"]]
    return min(begun) - _BEFORE_SUBMISSION if begun else None


def _moment(seconds: float) -> datetime.datetime:
    """A time of a file. Apps can give their files any time, also one that no calendar has."""
    return datetime.datetime.fromtimestamp(min(max(seconds, 0), _LATEST), datetime.timezone.utc)


def _text(moment: datetime.datetime) -> str:
    return moment.astimezone(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M:%SZ")


def names(given: Sequence[str]) -> list[str]:
    """Names of inputs, each once. Raises as C(runs.ids)."""
    for one in given:
        if not NAME.fullmatch(one):
            raise FlowerError(f"inputs: {one!r} is not the name of inputs, which has 64 digits and letters a to f")
    return list(dict.fromkeys(given))


def age_limit(text: str, now: datetime.datetime) -> datetime.datetime:
    """The time before which outputs are older than a duration like C(30d).

    Raises:
        FlowerError: it is none.
    """
    try:
        return formats.before(now, text)
    except ValueError as error:
        raise FlowerError(f"older_than: {error}") from None


def expired(listed: Sequence[Mapping[str, Any]], keep: int | None, limit: datetime.datetime | None) -> list[str]:
    """Ids of the runs whose outputs the rules let go, or names of inputs, the oldest first.

    They stay while any rule keeps them: they are among the newest C(keep), or not older than C(limit). Those of active runs and those that runs
    may use which are active, or not submitted yet, stay, and do not count. Nor do folders that look like no run's. Without a rule nothing goes.
    """
    if keep is None and limit is None:
        return []
    recently = _text(_now() - _BEFORE_SUBMISSION)
    gone, count = [], 0
    for one in listed:
        name, time = one.get("run_id") or one["name"], one.get("finished_at") or one["used_at"]
        is_foreign = one.get("status") == UNKNOWN and LIKELY.fullmatch(name) is None
        if one["active"] or one.get("in_use", time >= recently) or is_foreign:
            continue
        count += 1
        if (keep is None or count > keep) and (limit is None or time < _text(limit)):
            gone.append(name)
    return gone[::-1]


def refuse_in_use(run_ids: Sequence[str], listed: Sequence[Mapping[str, Any]], inputs: Sequence[str], listed_inputs: Sequence[Mapping[str, Any]]) -> None:
    """Refuse to delete outputs that another run may go on from, and inputs that a run may be reading.

    Raises:
        FlowerError: there are such.
    """
    since = "after the oldest run that is not finished was submitted"
    if used := [one["run_id"] for one in listed if one["in_use"] and one["run_id"] in run_ids]:
        raise FlowerError(
            f"outputs of run {', '.join(used)} may be in use: they were passed to another run (flower_run_resume) within the last hour, or {since}. "
            "Delete them when no run is active, and an hour has passed since"
        )
    if active := [one["name"] for one in listed_inputs if one["active"] and one["name"] in inputs]:
        raise FlowerError(f"inputs {', '.join(active)} may be in use: they were passed to a run {since}. Delete them when no run is active")


def inputs_table(listed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Inputs as lines of text; none without inputs."""
    notes = {True: "", False: "sent in part; the next run with them continues"}
    rows = [(one["name"], one["used_at"][:16], str(one["files"]), readable(one["size"]), notes[one["whole"]]) for one in listed]
    return formats.columns([_INPUT_COLUMNS, *rows]) if rows else []


def table(listed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Outputs as lines of text."""
    rows = [
        (
            one["run_id"],
            f"{one['app']} {one['version']}".strip(),
            one["status"],
            "" if one["active"] else one["finished_at"][:16],
            str(one["files"]),
            readable(one["size"]),
            "; ".join(filter(None, (one.get("bucket"), f"{one['left_out']} files cannot be fetched" if one["left_out"] else ""))),
        )
        for one in listed
    ]
    return formats.columns([_COLUMNS, *rows])


def summary(listed: Sequence[Mapping[str, Any]], inputs: Sequence[Mapping[str, Any]], room: Room) -> str:
    """How many runs have outputs, their size, that of inputs, and the room that is left."""
    words = f"outputs of {counted(len(listed), 'run')}, {readable(sum(one['size'] for one in listed))}; "
    words += f"{len(inputs)} inputs, {readable(sum(one['size'] for one in inputs))}; " if inputs else ""
    words += str(room)
    return f"{words}, which is below the minimum of {readable(room.floor)}: no run is submitted" if room.is_low else words
