# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs: look at one, list them, stop them."""

from __future__ import annotations

import itertools
import re
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK_POD
from ..kube.api_errors import Forbidden, Unauthorized
from .cli import ALL_RUNS, CONNECTION, CONTAINER, LISTING_SECONDS, Answer, FlowerCLI, FlowerError, listing, nodes_of

#: How many of the newest runs are read to be shown: each costs, see C(cli.listing), and a SuperLink keeps all that it ever had.
SHOWN = 100
COMPLETED = "finished:completed"
STOPPED = "finished:stopped"

_ID = re.compile(r"[0-9]{1,20}")  # Flower's are numbers of 64 bits
# Flower's code for an unknown run: the SuperLink has lost its database, or it is another SuperLink.
_UNKNOWN_RUN = re.compile(r"\brun\b.*\bnot found\b", re.IGNORECASE)
# Details of Flower -> what they mean, and what to do.
_MEANINGS = {
    "No heartbeat received from the task": "The ServerApp's pod ended or restarted, or it or the hub was too slow to report to the SuperLink for a minute. "
    "See its restarts and whether memory ran out (kubectl describe pod; superlink_serverapp_resources)",
    "Task failed with unknown error": "The ServerApp was terminated from outside, for example by a restart of its pod (kubectl describe pod)",
}
_RESUME = "An app that writes checkpoints and declares the run config resume-run continues with -e flower_run_resume="


@dataclass(frozen=True)
class Run:
    """The state of a run at Flower.

    Attributes:
        run_id: its number, as text.
        status: C(pending), C(starting), C(running), C(finished:completed), C(finished:failed) or C(finished:stopped);
            empty when it is not known yet.
        details: Flower's details of the status.
        elapsed: seconds it has been running, without the time it was pending.
        app: C(publisher/name).
    """

    run_id: str
    status: str = ""
    details: str = ""
    elapsed: float = 0.0
    app: str = ""

    @property
    def finished(self) -> bool:
        """Is it over, well or not?"""
        return self.status.startswith("finished")

    @property
    def outcome(self) -> str:
        """Its result in one word: C(completed), C(failed), C(stopped); else its status."""
        return self.status.partition(":")[2] or self.status


def ids(given: Sequence[str], option: str = "run_ids") -> list[str]:
    """Ids of runs, each once.

    Raises:
        FlowerError: one of them is none.
    """
    for one in given:
        if not _ID.fullmatch(one):
            raise FlowerError(f"{option}: a run id is a number, not {one!r}")
    return list(dict.fromkeys(given))


def parse_run(run_id: str, answer: Answer) -> Run:
    """Read the answer of C(flwr list --run-id); the status is empty when it has none."""
    listed = answer.data.get("runs", []) if answer.ok else []
    for run in (run for run in listed if str(run.get("run-id")) == run_id):
        details = str(run.get("status-details") or "")
        return Run(run_id, str(run.get("status", "")), "" if details == "N/A" else details, seconds_of(run.get("elapsed")), str(run.get("fab-id", "")))
    return Run(run_id)


def seconds_of(value: Any) -> float:
    """Seconds of a duration of Flower; 0 where it has none."""
    try:
        return round(float(value), 3)
    except (TypeError, ValueError):
        return 0.0


def reason(answer: Answer) -> str:
    """Why Flower refused something, in one paragraph. Before the code there are messages about its progress."""
    words = " ".join(answer.message.split())
    return words[max(words.find("[code: "), 0) :] or "no reason reported"


def command_line(cli: FlowerCLI, *arguments: str) -> str:
    """What a person types to have the same C(flwr) command run."""
    words = " ".join([*arguments, CONNECTION])
    return f"kubectl -n {cli.namespace} exec {SUPERLINK_POD} -c {CONTAINER} -- flwr {words}"


def read_run(cli: FlowerCLI, run_id: str, seconds: float = 0, pause: float = 1) -> Run:
    """Read a run, optionally until it is finished or C(seconds) are over, every C(pause) seconds.

    Raises:
        FlowerError: the SuperLink does not answer, or does not have the run.
    """
    step = {"wait_finished": run_id, "connection": CONNECTION, "seconds": seconds, "pause": pause}
    (answer,) = cli.do([step], seconds=seconds + 60)
    return known_run(cli, run_id, answer)


def known_run(cli: FlowerCLI, run_id: str, answer: Answer) -> Run:
    """Read the answer about a run.

    Raises:
        FlowerError: it has none.
    """
    run = parse_run(run_id, answer)
    if not run.status:
        raise (UnknownRun if _UNKNOWN_RUN.search(answer.message) else FlowerError)(
            f"the SuperLink on {cli.cluster.name} has no information about run {run_id}: {reason(answer)}"
        )
    return run


class UnknownRun(FlowerError):
    """The SuperLink has no such run."""


def read_all(cli: FlowerCLI) -> list[dict[str, Any]]:
    """All runs of the SuperLink, as C(flwr list) returns them.

    Raises:
        FlowerError: the SuperLink does not answer.
    """
    (answer,) = cli.do([cli.command(*listing())], seconds=LISTING_SECONDS)
    return runs_of(answer, cli.cluster.name)


def read_nodes_and_runs(cli: FlowerCLI, most: int = ALL_RUNS) -> tuple[dict[str, dict[str, Any]], list[dict[str, Any]]]:
    """What the SuperLink lists, asked in one exec: node id (text) -> its state; and the newest runs, C(most) of them, with their ids as text.

    Raises:
        FlowerError: the SuperLink does not answer, or cannot list one of them.
    """
    nodes, runs = cli.do([cli.command("supernode", "list"), cli.command(*listing(most))], seconds=LISTING_SECONDS)
    hub = cli.cluster.name
    return nodes_of(nodes, hub), [{**run, "run-id": str(run["run-id"])} for run in runs_of(runs, hub)]


def read_some(cli: FlowerCLI, run_ids: Sequence[str]) -> list[dict[str, Any]]:
    """Some runs of the SuperLink, as C(flwr list) returns them, without those that it does not know.

    Raises:
        FlowerError: the SuperLink does not answer.
    """
    steps = [cli.command("list", "--run-id", one) for one in run_ids]
    answers = cli.do(steps, seconds=60 + 5 * len(steps)) if steps else []
    known = [answer for answer in answers if answer.ok or not _UNKNOWN_RUN.search(answer.message)]
    return [run for answer in known for run in runs_of(answer, cli.cluster.name)]


def runs_of(answer: Answer, hub: str) -> list[dict[str, Any]]:
    """The runs of an answer to C(flwr list).

    Raises:
        FlowerError: the SuperLink could not list them. That is not a list without entries.
    """
    if not answer.ok:
        raise FlowerError(f"cannot list the runs on {hub}: {reason(answer)}")
    found: list[dict[str, Any]] = answer.data.get("runs", [])
    return found


def stop(cli: FlowerCLI, run_ids: Sequence[str]) -> tuple[dict[str, str], dict[str, str]]:
    """Stop runs.

    Returns:
        Run id -> how it ended, of those that ended by themselves meanwhile, and run id -> why it was not stopped.
    """
    if not run_ids:
        return {}, {}
    steps = [step for one in run_ids for step in (cli.command("stop", one), cli.command("list", "--run-id", one))]
    answers = cli.do(steps, seconds=60 + 5 * len(steps))
    over, refused = {}, {}
    for run_id, answer, after in zip(run_ids, answers[::2], answers[1::2]):
        run = parse_run(run_id, after)
        if run.finished and run.status != STOPPED:
            over[run_id] = run.outcome
        elif not answer.ok and not run.finished:
            refused[run_id] = reason(answer)
    return over, refused


def stop_at_last(cli: FlowerCLI, run_id: str, seconds: float) -> tuple[str, str]:
    """Stop a run, and try again for some seconds if that fails.

    Returns:
        How it ended (C(finished:…)), and an empty text; or an empty text, and why it could not be stopped.
    """
    deadline = time.monotonic() + seconds
    for pause in itertools.chain((1, 2, 4, 8), itertools.repeat(15)):
        try:
            over, refused = stop(cli, [run_id])
            if run_id not in refused:
                return (f"finished:{over[run_id]}" if run_id in over else STOPPED), ""
            trouble = refused[run_id]
        except (Forbidden, Unauthorized) as error:
            return "", error.message
        except ClusterError as error:
            trouble = error.message
        if time.monotonic() + pause > deadline:
            return "", trouble
        time.sleep(pause)  # until it is stopped, or the deadline
    raise AssertionError("there is always another pause")


def describe_end(run: Run) -> str:
    """Describe the end of a run that did not complete."""
    details = f": {run.details}" if run.details else ""
    meaning = next((f". {words}. {_RESUME}{run.run_id}" for known, words in _MEANINGS.items() if run.details.startswith(known)), "")
    return f"run {run.run_id} of {run.app} {run.outcome} after {run.elapsed:.1f} s{details.rstrip('.') if meaning else details}{meaning}"


def describe_timeout(cli: FlowerCLI, run: Run, seconds: float, trouble: str, waits: str = "") -> str:
    """Describe a run that was not finished in time, with the remedy. While it cannot be read, it may have ended."""
    seen = run.status or "nothing"
    seen += " (no ServerApp process has started it: see the pod of serverapp)" if seen == "pending" else f" ({waits})" if waits else ""
    if trouble:
        words = f"cannot determine whether run {run.run_id} has ended, after {seconds:g} s (wait_timeout); last seen: {seen}; the last read failed: "
        words += f"{trouble.rstrip('.')}. It may still be running"
    else:
        words = f"run {run.run_id} is not finished after {seconds:g} s (wait_timeout); last seen: {seen}. It is still running"
    return f"{words}. {remedy_for(cli, run.run_id)}"


def remedy_for(cli: FlowerCLI, run_id: str) -> str:
    """What to do about a run that may not be over."""
    return f"Wait for it with run_id (flower_run_id): {run_id}, or stop it: {command_line(cli, 'stop', run_id)}"
