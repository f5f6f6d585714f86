# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs: submit once, look at one, read the log."""

from __future__ import annotations

import itertools
import re
import time
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import ClusterError
from ..base.foreign_data import CONTROL
from ..base.object_names import SUPERLINK_POD
from ..kube.api_errors import ApiError, ExecBroken, Forbidden, Unauthorized
from . import run_config
from .app import App
from .cli import CONNECTION, CONTAINER, LISTING_SECONDS, Answer, FlowerCLI, FlowerError, listing
from .follow_program import HEADER

COMPLETED = "finished:completed"
STOPPED = "finished:stopped"

# Flower's code for an unknown run: the SuperLink has lost its database, or it is another SuperLink.
_UNKNOWN_RUN = re.compile(r"\brun\b.*\bnot found\b", re.IGNORECASE)
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\^_])")
# What Flower itself logs for a successful run.
_CHATTER = re.compile(r"^(?:INFO|DEBUG)\s*:|^\s*$|^Successfully installed \S+ to \S+$")
# What Flower logs about its connection (flwr 1.42, C(http_retry)): each attempt that failed, and the one that succeeded after them.
_RETRIES = re.compile(r"^WARNING\s*:\s*Connection attempt failed, retrying\b")
_CONNECTED = re.compile(r"^INFO\s*:\s*Connection successful after\b")
# Details of Flower -> what they mean, and what to do.
_MEANINGS = {
    "No heartbeat received from the task": "The ServerApp's pod ended or restarted, or it or the hub was too slow to report to the SuperLink for a minute. "
    "See its restarts and whether memory ran out (kubectl describe pod; superlink_serverapp_resources)",
    "Task failed with unknown error": "The ServerApp was ended from outside, such as by a restart of its pod (kubectl describe pod)",
}
_RESUME = "An app that writes checkpoints and declares the run config resume-run continues with -e flower_run_resume="
_NAMED, _LONGEST_REASON = 5, 200  # SuperNodes in a message, and characters of what each says
# Of Flower's own lines, those that say that a SuperNode answered with an error: its strategies go on without it (flwr 1.41, C(FedAvg)).
_FAILURES = re.compile(r"\baggregate_\w+: [Rr]eceived \d+ results and (0*[1-9]\d*) failures$")
_SUPERLINK = "1"  # node that answers for a SuperNode that is lost: flwr.common.constant.SUPERLINK_NODE_ID
_FAILED_REPLY = re.compile(r"> Received error in reply from node (\d+): (.*)$")
# Flower's strategies log it every second (flwr 1.41, C(sample_nodes)).
_WAITS = re.compile(r"^INFO\s*:\s*Waiting for nodes to connect: (\d+) connected \(minimum required: (\d+)\)\.$")
LOG_LINES = 5000  # fetched at most, so that a long run's log does not fill the controller's memory


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


def parse_run(run_id: str, answer: Answer) -> Run:
    """Read the answer of C(flwr list --run-id); the status is empty when it has none."""
    for run in answer.data.get("runs", []) if answer.ok else []:
        if str(run.get("run-id")) == run_id:
            details = str(run.get("status-details") or "")
            return Run(
                run_id,
                str(run.get("status", "")),
                "" if details == "N/A" else details,
                seconds_of(run.get("elapsed")),
                str(run.get("fab-id", "")),
            )
    return Run(run_id)


def seconds_of(value: Any) -> float:
    """Seconds of a duration of Flower, which before 1.26 writes C([D days, ]H:MM:SS)."""
    try:
        return round(float(value), 3)
    except (TypeError, ValueError):
        found = re.fullmatch(r"(?:(\d+) days?, )?(\d+):(\d+):(\d+)(?:\.\d+)?", str(value))
        days, hours, minutes, seconds = (int(part or 0) for part in found.groups()) if found else (0, 0, 0, 0)
        return float(((days * 24 + hours) * 60 + minutes) * 60 + seconds)


def clean_log(text: str) -> list[str]:
    """Lines of a log without colours and control characters; of a progress bar only its last state."""
    lines = [CONTROL.sub("", line.rstrip("\r").rpartition("\r")[2]) for line in _ANSI.sub("", text).split("\n")]
    return [line.rstrip() for line in lines]


def highlights(lines: list[str]) -> list[str]:
    """The lines of the app, of Flower's warnings and errors, and of errors of SuperNodes, without Flower's own log of the run.

    Attempts to connect count only after the last connection that succeeded.
    """
    connected = max((number for number, line in enumerate(lines) if _CONNECTED.match(line)), default=0)
    lines = [line for number, line in enumerate(lines) if number >= connected or not _RETRIES.match(line)]
    return [line for line in lines if not _CHATTER.match(line) or _FAILURES.search(line) or _FAILED_REPLY.search(line)]


def without_repeats(lines: Sequence[str], before: str = "") -> list[str]:
    """Lines without those that repeat that the app waits for SuperNodes. C(before): the line before them."""
    return [line for last, line in zip([before, *lines], lines) if line != last or not _WAITS.match(line)]


def waiting(lines: Sequence[str]) -> str:
    """What the app waits for, by the end of its log; empty if it does not wait for SuperNodes."""
    found = _WAITS.match(lines[-1]) if lines else None
    return f"its app waits for {found[2]} SuperNodes, and {found[1]} can be reached" if found else ""


def failed_replies(lines: Sequence[str]) -> tuple[int, dict[str, str]]:
    """How many answers of SuperNodes were errors, and node id -> the last reason, as far as the app's strategy logs it."""
    counted = sum(int(found[1]) for line in lines if (found := _FAILURES.search(line)))
    replies = [(found[1], found[2]) for line in lines if (found := _FAILED_REPLY.search(line))]
    return max(counted, len(replies)), dict(replies)


def describe_failed_replies(count: int, reasons: Mapping[str, str], homes: Mapping[str, str]) -> str:
    """Describe answers that were errors.

    Args:
        count: how many.
        reasons: node id -> reason.
        homes: node id -> site, as far as that is known.
    """
    places = {node: f"{homes[node]} (node {node})" if node in homes else f"node {node}" for node in reasons} | {_SUPERLINK: "the SuperLink for a lost one"}
    named = [f"{places[node]}: {why[:_LONGEST_REASON]}" for node, why in reasons.items()]
    more = f"; and {len(named) - _NAMED} more SuperNodes" if len(named) > _NAMED else ""
    last = f" The last error of each: {'; '.join(named[:_NAMED])}{more}" if named else ""
    return f"answers of SuperNodes in its log that are errors: {count}. Flower's strategies go on without these SuperNodes.{last}"


def submit(cli: FlowerCLI, app: App, config: Mapping[str, run_config.Value]) -> dict[str, Any]:
    """Submit an app; return what Flower answered (C(run-id), C(fab-hash), …).

    When the connection breaks before the answer is there, the same request is sent again with the same token: the program
    in the pod then only repeats its answer (see C(pod_program.run_once)). So there is never a second run.

    Raises:
        FlowerError: Flower refused it, so there is no run.
        UnknownSubmission: it is unknown whether it was accepted.
    """
    files = {"run-config.toml": run_config.write(config)} if config else {}
    options = ["--run-config", "@FOLDER@/run-config.toml"] if config else []
    step = {"command": ["run", "@FOLDER@/app", CONNECTION, *options, "--format", "json"], "once": uuid.uuid4().hex}
    archive = app.archive()
    pod = cli.wait_for_superlink(60)
    lost: ClusterError | None = None
    for pause in (0, 1, 3, 10, 30):
        time.sleep(pause)
        try:
            if lost and cli.wait_for_superlink(60)["metadata"]["uid"] != pod["metadata"]["uid"]:
                break  # the record of the first attempt is lost with its pod
            (answer,) = cli.do([step], files=files, archive=archive, seconds=180)
        except ClusterError as error:
            if lost is None and isinstance(error, (ApiError, Unauthorized)) and not isinstance(error, ExecBroken):
                raise  # the API server refused it: nothing was started
            if isinstance(lost, FlowerError):
                break  # the program in the pod fails, with any connection
            lost = error
            continue
        if answer.ok and answer.data.get("run-id"):
            return answer.data
        if lost is None or answer.data:
            raise FlowerError(
                f"the SuperLink on {cli.cluster.name} does not accept the app {app.name}: {reason(answer)}"
            )
        break
    raise UnknownSubmission(
        f"the app {app.name} was being submitted when the connection was lost, and it is unknown whether a run started. Check before you "
        f"submit again: {command_line(cli, 'list')} (what happened: {lost.message if lost else 'no answer'})"
    )


def reason(answer: Answer) -> str:
    """Why Flower refused something, in one paragraph."""
    words = " ".join(answer.message.split())
    return (
        words[max(words.find("[code: "), 0) :] or "no reason reported"
    )  # before the code there are messages about its progress


def command_line(cli: FlowerCLI, *arguments: str) -> str:
    """What a person types to have the same C(flwr) command run."""
    words = " ".join([*arguments, CONNECTION])
    return f"kubectl -n {cli.namespace} exec {SUPERLINK_POD} -c {CONTAINER} -- flwr {words}"


def look(cli: FlowerCLI, run_id: str, seconds: float = 0, pause: float = 1) -> Run:
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


class UnknownSubmission(FlowerError):
    """An app was submitted, and whether there is a run of it is not known."""


def read_log(cli: FlowerCLI, run: Run) -> list[str]:
    """The ServerApp's log (its end, if it is long); empty when there is none yet.

    Before its first line C(flwr log) would wait, so it is not called for a run that has not started.
    """
    if run.status in ("", "pending", "starting"):
        return []
    return read_logs(cli, [run])[0]


def read_logs(cli: FlowerCLI, begun: Sequence[Run]) -> list[list[str]]:
    """As C(read_log), of several runs that have started."""
    steps = [{"command": ["log", run.run_id, CONNECTION, "--show"], "lines": LOG_LINES} for run in begun]
    found = []
    for answer in cli.do(steps, seconds=50 + 10 * len(steps)) if steps else []:
        lines = clean_log(answer.text)
        while lines and HEADER.search(lines[0]):  # messages of the command line
            lines.pop(0)
        found.append(without_repeats(trim(lines)))
    return found


def trim(lines: list[str]) -> list[str]:
    """Lines of a log without the empty ones at its end."""
    while lines and lines[-1] in ("", "INFO :"):
        lines.pop()
    return lines


def read_all(cli: FlowerCLI) -> list[dict[str, Any]]:
    """All runs of the SuperLink, as C(flwr list) returns them.

    Raises:
        FlowerError: the SuperLink does not answer.
    """
    (answer,) = cli.do([cli.command(*listing())], seconds=LISTING_SECONDS)
    return runs_of(answer, cli.cluster.name)


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

    Args:
        answer: it.
        hub: name of the hub, for the message.

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
            over[run_id] = run.status.partition(":")[2]
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
    return f"run {run.run_id} of {run.app} {run.status.partition(':')[2]} after {run.elapsed:.1f} s{details.rstrip('.') if meaning else details}{meaning}"


def describe_timeout(cli: FlowerCLI, run: Run, seconds: float, trouble: str, waits: str = "") -> str:
    """Describe a run that was not finished in time, with the remedy. While it cannot be read, it may have ended."""
    seen = run.status or "nothing"
    if seen == "pending":
        seen += " (no ServerApp process has started it: see the pod of serverapp)"
    elif waits:
        seen += f" ({waits})"
    if trouble:
        words = f"it is not known whether run {run.run_id} is over, after {seconds:g} s (wait_timeout); last seen: {seen}; the last read failed: "
        return f"{words}{trouble.rstrip('.')}. It may still be running. {way_out(cli, run.run_id)}"
    words = f"run {run.run_id} is not finished after {seconds:g} s (wait_timeout); last seen: {seen}"
    return f"{words}. It is still running. {way_out(cli, run.run_id)}"


def way_out(cli: FlowerCLI, run_id: str) -> str:
    """What to do about a run that may not be over."""
    return f"Wait for it with run_id (flower_run_id): {run_id}, or stop it: {command_line(cli, 'stop', run_id)}"
