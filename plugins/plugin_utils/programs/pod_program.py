# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container and drives Flower's own command line.

The controller sends this file's text and a request as two lines of JSON on standard input; nothing secret is in
either. Every answer, and every report on a run that is polled, is one line of JSON on standard output. One process serves many
commands, because starting Python and importing flwr costs 0.6 s and a command after that 0.02 s.
"""

from __future__ import annotations

import base64
import gc
import glob
import importlib.abc
import importlib.machinery
import io
import json
import os
import re
import shutil
import signal
import sys
import tarfile
import tempfile
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any, BinaryIO, NoReturn

#: What C(flwr log) itself prints before the log.
HEADER = re.compile(rb"^(?:\x1b\[[0-9;]*m)*Using SuperLink: |Printing logstream for run_id ")
# Of the end of a log that is sent at once, so that no app floods the control node: characters of a line, and of all.
LONGEST_LINE, MOST_CHARACTERS = 4000, 1_000_000
ANSWER_SECONDS = 20  # for one command of a poll
FIRST_LINE_SECONDS = 10  # for the log of a run of which no line is known
OTHERS_PAUSE = 15.0  # seconds between two lists of other runs
LONGEST_PAUSE = 30.0  # seconds between two polls of a run whose log is very long


class InertApps(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Prevents the code of an app from running in this container, which has the federation's keys and its database.

    C(flwr run) looks up the app's modules (flwr 1.41, C(object_ref.validate)), and Python imports C(package) to find
    C(package.module). Modules of the app are found as ever, but nothing in them is executed.
    """

    def __init__(self, folder: str) -> None:
        self.folder = os.path.realpath(folder) + os.sep

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Part of Python's import system: see C(importlib.abc.MetaPathFinder)."""
        inside = [entry for entry in (sys.path if path is None else path) if self.holds(entry)]
        spec = importlib.machinery.PathFinder.find_spec(name, inside, target) if inside else None
        if spec is None or not spec.has_location:
            return None
        spec.loader = self
        return spec

    def holds(self, path: str) -> bool:
        """Whether an entry of C(sys.path) is in the folder."""
        return (os.path.realpath(path) + os.sep).startswith(self.folder)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        """Part of Python's import system: an ordinary module."""
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Part of Python's import system: leave the module empty."""


class CommandTimeout(Exception):
    """A command took too long. No OSError, which flwr would take for a lost connection and try again."""


def execute(app: Callable[..., Any], arguments: list[str], capture: BinaryIO, seconds: int = 0) -> int | str:
    """Run one C(flwr) command in this process, with its standard output in a file; return its exit code or its error.

    flwr prints through a console object that is made at import, so the file descriptor is captured, not C(sys.stdout).

    Args:
        app: Flower's command line.
        arguments: those of the command.
        capture: the file, which is at its start afterwards.
        seconds: time limit; 0 for none but flwr's own.
    """
    code: Any = 0
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(capture.fileno(), 1)
    signal.alarm(seconds)
    try:
        code = app(arguments, standalone_mode=False) or 0
    except SystemExit as stop:
        code = stop.code or 0
    except Exception as error:  # any exception of flwr is an answer for the control node, not the end of this program
        code = f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)
    capture.seek(0)
    return code if isinstance(code, (int, str)) else 0


def run_command(app: Callable[..., Any], arguments: list[str], seconds: int = 0) -> dict[str, Any]:
    """Run one C(flwr) command as C(execute) does; return C(rc) and C(out): the parsed JSON, or the text where it is none."""
    with tempfile.TemporaryFile() as capture:
        code = execute(app, arguments, capture, seconds)
        text = capture.read().decode("utf-8", "replace")
    try:
        out = json.loads(text)
    except ValueError:
        out = text
    return {"rc": code, "out": out}


def run_once(app: Callable[..., Any], arguments: list[str], token: str) -> dict[str, Any]:
    """Run a command unless it was run with the same token before; then return the result of that time.

    So after a lost connection the request can be repeated without a second execution. A file in a folder that exists
    as long as the pod records that the command started, and then its result.
    """
    folder = tempfile.gettempdir()
    for old in glob.glob(os.path.join(folder, "once-*")):
        if os.path.getmtime(old) < time.time() - 86400:
            os.remove(old)
    note = os.path.join(folder, "once-" + token)
    try:
        os.close(os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except FileExistsError:
        for _attempt in range(60):
            with open(note, encoding="utf-8") as stream:
                text = stream.read()
            if text:
                return json.loads(text)
            time.sleep(1)
        return {"rc": 1, "out": "it was started, but returned no result"}
    answer = run_command(app, arguments)
    with open(note + ".new", "w", encoding="utf-8") as stream:
        json.dump(answer, stream)
    os.replace(note + ".new", note)
    return answer


def entries(answer: dict[str, Any], name: str) -> list[dict[str, Any]] | None:
    """The entries of a list in the answer to a command; None if it failed."""
    out = answer["out"]
    return out.get(name, []) if isinstance(out, dict) and out.get("success") else None


def statuses(answer: dict[str, Any]) -> dict[str, str] | None:
    """Node id -> status, of the answer of C(flwr supernode list)."""
    nodes = entries(answer, "nodes")
    return None if nodes is None else {str(node["node-id"]): str(node["status"]) for node in nodes}


def is_finished(status: object) -> bool:
    """Whether a run with this status is over."""
    return str(status).startswith("finished")


def wait_online(app: Callable[..., Any], connection: str, wanted: list[str], seconds: float) -> dict[str, Any]:
    """List the SuperNodes until all of C(wanted) are online or C(seconds) are over; return the last answer."""
    deadline = time.monotonic() + seconds
    while True:
        answer = run_command(app, ["supernode", "list", connection, "--format", "json"])
        seen = statuses(answer)
        if (seen is not None and all(seen.get(node) == "online" for node in wanted)) or time.monotonic() >= deadline:
            return answer
        time.sleep(0.5)


def wait_finished(app: Callable[..., Any], connection: str, run_id: str, seconds: float, pause: float) -> dict[str, Any]:
    """Check a run every C(pause) seconds until it is finished or C(seconds) are over; return the last answer.

    An error ends it too: the control node decides how long to retry.
    """
    deadline = time.monotonic() + seconds
    while True:
        answer = run_command(app, ["list", "--run-id", run_id, connection, "--format", "json"])
        runs = entries(answer, "runs")
        if runs is None or any(is_finished(run.get("status")) for run in runs) or time.monotonic() >= deadline:
            return answer
        time.sleep(min(pause, max(deadline - time.monotonic(), 0)))


def poll(app: Callable[..., Any], step: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Report on a run at intervals, until it is finished or the time is over. All polls share the process.

    Args:
        app: Flower's command line.
        step: C(poll), the id of the run; C(connection); C(seconds); C(pause), seconds between two polls, at least four times what one takes of
            the CPU; C(seen), the number of lines of the log that are known; C(lines), how many new ones at most are sent at once; C(others),
            arguments of C(flwr) that list other runs, if these are of interest.

    Yields:
        C(run), the answer about the run; C(at), C(left_out), C(lines): see C(read_log); C(nodes), node id -> status; and at first, then every
        C(OTHERS_PAUSE) seconds while the run is pending, C(runs), those that are not finished. Nodes and runs are missing if they are not known.
    """
    end = [step["connection"], "--format", "json"]
    deadline = time.monotonic() + step["seconds"]
    seen, others_due = step["seen"], 0.0
    while True:
        now, used = time.monotonic(), time.process_time()
        answer = run_command(app, ["list", "--run-id", step["poll"], *end], ANSWER_SECONDS)
        status = next((str(run.get("status")) for run in entries(answer, "runs") or [] if str(run.get("run-id")) == step["poll"]), "")
        report: dict[str, Any] = {"run": answer, "at": seen, "left_out": 0, "lines": []}
        if status not in ("", "pending", "starting"):
            report |= read_log(app, step["connection"], step["poll"], step["lines"], seen, is_over=is_finished(status))
        nodes = statuses(run_command(app, ["supernode", "list", *end], ANSWER_SECONDS))
        if nodes is not None:
            report["nodes"] = nodes
        if step["others"] and now >= others_due and (status == "pending" or not others_due):
            others_due = now + OTHERS_PAUSE
            others = entries(run_command(app, [*step["others"], *end], ANSWER_SECONDS), "runs")
            if others is not None:
                keys = ("run-id", "fab-id", "status", "pending-at")
                report["runs"] = [{key: run.get(key) for key in keys} for run in others if not is_finished(run.get("status"))]
        yield report
        seen += report["left_out"] + len(report["lines"])
        pause = max(step["pause"], min(4 * (time.process_time() - used), LONGEST_PAUSE))
        if is_finished(status) or time.monotonic() + pause > deadline:
            return
        time.sleep(pause)


def read_log(app: Callable[..., Any], connection: str, run_id: str, most: int, seen: int = 0, *, is_over: bool) -> dict[str, Any]:
    """The complete lines of a run's log after the first C(seen).

    Args:
        app: Flower's command line.
        connection: of the SuperLink.
        run_id: the run, which has started: before that C(flwr log) waits.
        most: of lines that are returned.
        seen: number of lines that are known.
        is_over: whether the run is finished, so that the last line is complete.

    Returns:
        C(lines), the last ones, and C(left_out), how many new ones before them are left out.
    """
    count, kept = 0, deque[str](maxlen=most + 1)
    with tempfile.TemporaryFile() as capture:
        # While there is no line, it waits for one, and a SuperLink that is to stop waits for the end of such requests.
        seconds = ANSWER_SECONDS if seen or is_over else FIRST_LINE_SECONDS
        if not execute(app, ["log", run_id, connection, "--show"], capture, seconds):
            for line in capture:
                if count or not HEADER.search(line):
                    count += 1
                    if count > seen:
                        kept.append(shortened(line))
    if kept and not is_over:
        kept.pop()  # C(--show) ends the last line, complete or not
        count -= 1
    lines: list[str] = []
    left = MOST_CHARACTERS
    while kept and len(lines) < most and len(kept[-1]) <= left:
        left -= len(kept[-1])
        lines.append(kept.pop())
    return {"left_out": max(count - seen - len(lines), 0), "lines": lines[::-1]}


def shortened(line: bytes) -> str:
    """A line without its end; of a long one the start, and of a progress bar the start of its last state."""
    text = line.decode("utf-8", "replace").rstrip("\r\n")
    return text if len(text) <= LONGEST_LINE else text.rpartition("\r")[2][:LONGEST_LINE]


def give_up(_number: int, _frame: FrameType | None) -> NoReturn:
    """End the command that takes too long.

    Raises:
        CommandTimeout: always.
    """
    raise CommandTimeout("no answer in time")


def main() -> None:
    """Serve one request: put its files into a fresh folder, do its steps in order, print an answer for each.

    C(environment) of the request are variables for flwr. In their values, and in those of commands, C(@FOLDER@) is the folder.
    """
    request = json.loads(sys.stdin.readline())
    folder = tempfile.mkdtemp()
    try:
        for name, text in request.get("files", {}).items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as stream:
                stream.write(text)
        if request.get("archive"):
            with tarfile.open(fileobj=io.BytesIO(base64.b64decode(request["archive"]))) as archive:
                # without a choice, Python 3.12 and 3.13 warn; before 3.11.4 there is none
                careful: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
                archive.extractall(os.path.join(folder, "app"), **careful)
        os.environ.update({name: value.replace("@FOLDER@", folder) for name, value in request.get("environment", {}).items()})
        if isinstance(sys.stdout, io.TextIOWrapper):
            sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")  # logs of apps have any character
        sys.meta_path.insert(0, InertApps(folder))
        gc.disable()  # the import makes a great many objects and no garbage: a sixth of its time
        from flwr.cli.app import app

        gc.freeze()
        gc.enable()
        signal.signal(signal.SIGALRM, give_up)
        for step in request["steps"]:
            command = [part.replace("@FOLDER@", folder) for part in step.get("command", [])]
            if "poll" in step:
                # Some container runtimes leave a program of a lost connection alone, which then waits without end to write.
                limit = threading.Timer(step["seconds"] + 120, os._exit, (1,))
                limit.daemon = True
                limit.start()
                for report in poll(app, step):
                    print(json.dumps(report), flush=True)
                continue
            if "once" in step:
                answer = run_once(app, command, step["once"])
            elif command:
                answer = run_command(app, command)
            elif "log" in step:
                log = read_log(app, step["connection"], step["log"], step["lines"], is_over=step["is_over"])
                answer = {"rc": 0, "out": {"success": True, **log}}
            elif "wait_online" in step:
                answer = wait_online(app, step["connection"], step["wait_online"], step["seconds"])
            else:
                answer = wait_finished(app, step["connection"], step["wait_finished"], step["seconds"], step["pause"])
            print(json.dumps(answer), flush=True)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
