# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs of a SuperLink: read, choose, show."""

from __future__ import annotations

import datetime
import fnmatch
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base import formats
from . import runs
from .cli import FlowerCLI, FlowerError
from .progress import duration

STATUSES = ("pending", "starting", "running", "completed", "failed", "stopped")
#: Words for several of them.
GROUPS = {"active": STATUSES[:3], "finished": STATUSES[3:]}

_COLUMNS = ("run", "app", "status", "elapsed", "submitted (UTC)", "notes")
_TIMES = ("pending-at", "starting-at", "running-at", "finished-at")


def chooser(given: Mapping[str, Any], now: datetime.datetime) -> Callable[[Sequence[dict[str, Any]]], list[dict[str, Any]]]:
    """A function that returns the runs which the options of M(federated.flower.runs_info) choose, in the same order.

    Raises:
        FlowerError: with every fault in the options.
    """
    run_ids, limit, app, since = given["run_ids"], given["limit"], given["app"] or "*", None
    faults = []
    try:
        runs.ids(run_ids)
    except FlowerError as error:
        faults.append(error.message)
    statuses = {status for name in given["status"] for status in GROUPS.get(name, (name,))}
    if text := given["since"]:
        try:
            since = formats.since(text, now)
        except ValueError as error:
            faults.append(f"since: {error}")
    if limit < 0:
        faults.append(f"limit: {limit} is negative; 0 shows all runs")
    if faults:
        raise FlowerError("; ".join(faults))

    def choose(listed: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
        if run_ids:
            return [run for run in listed if run["run_id"] in run_ids]
        found = []
        for run in listed:
            is_named = any(fnmatch.fnmatchcase(name, app) for name in (run["app"], run["app"].rpartition("/")[2]))
            # One whose time is not known is shown.
            is_late = since is None or (formats.moment(run["pending_at"]) or since) >= since
            if is_named and is_late and (run["status"] in statuses or not given["status"]):
                found.append(run)
        return found[:limit] if limit else found

    return choose


def entry(run: Mapping[str, Any]) -> dict[str, Any]:
    """A run of C(flwr list) as M(federated.flower.runs_info) returns it. Times that Flower does not have are empty."""
    status, _colon, outcome = str(run.get("status", "")).partition(":")
    texts = {name: text if (text := str(run.get(name) or "")) != "N/A" else "" for name in (*_TIMES, "status-details")}
    return {
        "run_id": str(run["run-id"]),
        "app": str(run.get("fab-id") or ""),
        "version": str(run.get("fab-version") or ""),
        "fab_hash": str(run.get("fab-hash") or ""),
        "status": outcome or status,
        "active": status != "finished",
        "details": texts["status-details"],
        "elapsed": runs.seconds_of(run.get("elapsed")),
        **{name.replace("-", "_"): texts[name] for name in _TIMES},
        "behind": [],
    }


def entries(found: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All runs, the newest first; those that wait have the active ones that were submitted before in C(behind)."""
    listed = sorted(map(entry, found), key=lambda one: (one["pending_at"], one["run_id"]), reverse=True)
    for place, run in enumerate(listed):
        if run["status"] == "pending":
            run["behind"] = [one["run_id"] for one in reversed(listed[place + 1 :]) if one["active"]]
    return listed


def known_runs(cli: FlowerCLI, run_ids: Sequence[str] | None = None) -> dict[str, dict[str, Any]]:
    """Id -> run, of all runs that the SuperLink knows, or of some of them."""
    found = runs.read_all(cli) if run_ids is None else runs.read_some(cli, run_ids)
    return {one["run_id"]: one for one in entries(found)}


def refuse_active(run_ids: Sequence[str], known: Mapping[str, Mapping[str, Any]], what: str) -> None:
    """Refuse to touch outputs that are still being made.

    Raises:
        FlowerError: some of the runs are not finished.
    """
    active = [one for one in run_ids if one in known and known[one]["active"]]
    if active:
        raise FlowerError(
            f"run {', '.join(active)} is not finished, and its outputs are not {what} before that. Wait for it (federated.flower.run -e "
            "flower_run_id=ID), or stop it (federated.flower.runs -e flower_runs=stop -e flower_run_id=ID)"
        )


def table(listed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Runs as lines of text."""
    rows = []
    for run in listed:
        notes = f"behind {', '.join(run['behind'])}" if run["behind"] else " ".join(run["details"].split())
        elapsed = duration(run["elapsed"]) if run["running_at"] else ""
        rows.append((run["run_id"], f"{run['app']} {run['version']}".strip(), run["status"], elapsed, run["pending_at"][:16], notes))
    return formats.columns([_COLUMNS, *rows])


def details(listed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Runs as lines of text, one value in a line, with the ends of their logs if these were read."""
    lines: list[str] = []
    for run in listed:
        metrics = "; ".join(f"{name} {value}" for name, value in (run.get("metrics") or {}).items())
        facts = {
            "run": run["run_id"],
            "app": f"{run['app']} {run['version']}".strip(),
            "app hash": run["fab_hash"],
            "status": run["status"] + (f", behind {', '.join(run['behind'])}" if run["behind"] else ""),
            "details": " ".join(run["details"].split()),
            "submitted": run["pending_at"],
            "started": run["running_at"],
            "finished": run["finished_at"],
            "elapsed": duration(run["elapsed"]) if run["running_at"] else "",
            "last metrics": metrics,
        }
        lines += [f"{name:<12}  {value}" for name, value in facts.items() if value]
        if "log" in run:
            lines += ["end of the log:" if run["log"] else "no log", *(f"  {line}" for line in run["log"])]
    return lines


def summary(shown: Sequence[Mapping[str, Any]], listed: Sequence[Mapping[str, Any]]) -> str:
    """How many runs are shown, of how many, and how many are active and wait."""
    active = [run for run in listed if run["active"]]
    waiting = sum(run["status"] == "pending" for run in active)
    words = f"{len(shown)} of {len(listed)} runs, {len(active)} active"
    return f"{words}, {waiting} of them pending" if waiting else words


def missing(run_ids: Sequence[str], listed: Sequence[Mapping[str, Any]]) -> list[str]:
    """Ids that no entry of a list has."""
    known = {one["run_id"] for one in listed}
    return [one for one in run_ids if one not in known]
