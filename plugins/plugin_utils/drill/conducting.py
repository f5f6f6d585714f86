# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Conduct drills: look whether they can be, break one thing, measure, and undo it in any case."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..flower import run_config, runs
from ..flower.app import App
from ..flower.submission import submit
from ..lease.parent import Abandoned
from ..rotation import conditions
from . import drill_verdict as verdict
from .bench import PAUSE, Bench
from .breaks.base_break import Break
from .breaks.break_registry import BREAKS
from .drill_table import Drill
from .drill_verdict import Measured

#: Submits an app; returns the number of its run.
Submit = Callable[[], str]
_LISTED = 30.0  # seconds of one wait for a run


def refusals(bench: Bench, drills: Sequence[Drill]) -> tuple[dict[str, Break], list[str]]:
    """Drill -> what it breaks; and why they cannot be conducted now, sentences."""
    busy = conditions.active(runs.read_all(bench.cli))
    found = [
        f"{bench.hub.name}: {conditions.describe(busy)}: a drill may fail runs that it did not start. Wait for their end, or stop them with "
        "federated.flower.runs"
    ] if busy else []  # fmt: skip
    if not bench.expected():
        found.append(f"{bench.hub.name}: no SuperNode is online, so there is nothing to measure. See federated.flower.status")
    made = {drill.name: BREAKS[drill.name](bench) for drill in drills}
    for one in made.values():
        found += one.faults()
    return made, found


def outlook(drills: Sequence[Drill], made: Mapping[str, Break], targets: Mapping[str, int]) -> list[str]:
    """The plan in lines for people."""
    return [
        f"{drill.name} at {made[drill.name].place or '?'}: {drill.breaks}; {drill.remedy}; target {targets[drill.name]} s" for drill in drills
    ]


def undo(bench: Bench) -> list[str]:
    """Undo what an interrupted drill has left; sentences, none where there is nothing.

    Raises:
        ClusterError: it could not; the mark stays, and the next run tries again.
    """
    known = bench.store.read()
    if not known:
        return []
    name, facts = str(known["drill"]), known["facts"]
    if name not in BREAKS:
        raise ClusterError(f"{bench.hub.name}: the drill {name} of {known['started']} was interrupted, and this release does not know it: use that release")
    words = [f"the drill {name} of {known['started']} was interrupted", *BREAKS[name](bench).undo(facts)]
    if facts.get("run"):
        words += _stop(bench, str(facts["run"]))
    bench.store.end()
    return words


def _stop(bench: Bench, run: str) -> list[str]:
    """Stop the drill's own run if it is still active."""
    bench.until_superlink()
    if not conditions.active(runs.read_some(bench.cli, [run])):
        return []
    _over, refused = runs.stop(bench.cli, [run])
    if refused:
        raise ClusterError(f"{bench.hub.name}: run {run} of the drill cannot be stopped: {refused[run]}")
    return [f"run {run} of the drill was stopped"]


def conduct(bench: Bench, drill: Drill, target: int, submit: Submit | None, run_wait: float) -> dict[str, Any]:
    """Conduct one drill; its row (C(drill_verdict.row)).

    Args:
        bench: the hub.
        drill: the drill.
        target: seconds.
        submit: submits the app that runs meanwhile; None for none.
        run_wait: seconds until its run must be finished after the recovery.

    Raises:
        ClusterError: it was refused, an earlier drill is not undone, or what it broke could not be undone.
    """
    if earlier := bench.store.read():
        # Its mark says what to undo, and there is one mark only.
        raise ClusterError(
            f"{bench.hub.name}: what the drill {earlier['drill']} of {earlier['started']} broke is not undone: run again, which does this first. "
            "Nothing was changed."
        )
    made, refused = refusals(bench, [drill])
    if refused:
        raise ClusterError("\n".join(refused) + "\nNothing was changed.")
    broken = made[drill.name]
    bench.store.begin(drill.name, datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"), broken.facts())
    bench.run.note(words=[f"drill {drill.name} at {broken.place}: {drill.breaks}"])
    run: dict[str, str] = {}
    found = Measured()
    left = False
    try:
        if submit is not None:
            run = {"id": submit(), "status": "submitted"}
            bench.store.add({"run": run["id"]})
            _until_running(bench, run["id"])
        found = broken.conduct()
        if run:
            run["status"] = _until_finished(bench, run["id"], run_wait)
    except Abandoned:
        left = not broken.is_quick
        raise
    except ClusterError as error:
        found.error = error.message
    finally:
        # The rest of what a playbook that has ended began is undone by the next run, which has the lease.
        undone = [] if left else _clean_up(bench, broken, run)
    if undone:
        found.note = "; ".join(filter(None, (found.note, *undone)))
    row = verdict.row(drill.name, broken.place, target, found, run)
    bench.run.note(words=[f"drill {drill.name} at {broken.place}: {row['result']}; {verdict.words(row)}"])
    return row


def _clean_up(bench: Bench, broken: Break, run: Mapping[str, str]) -> list[str]:
    """Undo what is still broken, and end the mark; sentences."""
    undone = broken.undo(bench.store.read().get("facts", {}))
    if run and not run["status"].startswith("finished"):
        undone += _stop(bench, run["id"])
    bench.store.end()
    return undone


def _until_running(bench: Bench, run: str) -> None:
    deadline = time.monotonic() + bench.options.wait
    while True:
        seen = runs.look(bench.cli, run)
        if seen.status == "running":
            return
        if seen.finished or time.monotonic() >= deadline:
            raise ClusterError(f"{bench.hub.name}: run {run} of the drill does not run; last seen: {seen.status} {seen.details}".rstrip())
        time.sleep(PAUSE)


def _until_finished(bench: Bench, run: str, seconds: float) -> str:
    """Wait for the end of the drill's run; returns its last state."""
    bench.run.say(f"{bench.hub.name}: waiting for the end of run {run}, up to {seconds:.0f} s")
    deadline = time.monotonic() + seconds
    while True:
        bench.go_on()
        left = deadline - time.monotonic()
        seen = runs.look(bench.cli, run, min(max(left, 0), _LISTED))
        if seen.finished or left <= 0:
            return seen.status


def submission(bench: Bench, app: App, config: Mapping[str, run_config.Value]) -> Submit:
    """What submits an app."""
    return lambda: str(submit(bench.cli, app, config)["run-id"])
