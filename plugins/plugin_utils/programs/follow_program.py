# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Program that runs inside the SuperLink container and follows a run: its log as it grows, and its state at a steady pace.

It drives Flower's own command line, as C(pod_program) does, but in forked processes: importing flwr costs 0.6 s, a fork some
milliseconds. One of them prints the log (C(flwr log --stream)) as long as the run lasts; a short one looks at the run and at the
SuperNodes. Each message is a line of JSON on standard output:

C({"at": N, "left_out": K, "lines": […]}): lines of the log, the first one (or the first of C(K) that are left out) is number C(N);
C({"run": …, "nodes": […], "runs": […]}): a look, see C(Follower.report). After the one that says that the run is finished, and all of
its log, the program ends;
C({}): there is nothing to report, and the connection is alive.
"""

from __future__ import annotations

import contextlib
import gc
import glob
import json
import os
import re
import select
import signal
import socket
import sys
import tempfile
import time
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any, NoReturn

Emit = Callable[[dict[str, Any]], None]

#: What C(flwr log) itself prints before the log.
HEADER = re.compile(r"^(?:\x1b\[[0-9;]*m)*Using SuperLink: |(?:Starting|Printing) logstream for run_id ")
#: Lines in one message. An app that prints more at once would flood the control node; the last ones are sent.
MOST = 1000
#: Characters of a line that are sent.
LONGEST = 4000
_KEPT = 4 * LONGEST  # bytes of a line that are kept
_GATHER = 0.3  # seconds in which lines are collected for one message
_ALIVE = 5.0  # seconds without a message after which one says that the connection is alive
_UNREAD = 60  # seconds that a message may wait to be read
#: Logs that are streamed at the same time. Each holds one of the 40 threads with which a SuperLink serves all requests, also those
#: of SuperNodes, as long as it is open. Further programs read the log at each look instead.
STREAMS = 10
_FRESH = 300  # seconds after its start in which a program may still run
_END = b"\x1e"  # after the output of each command of a look
_SOON = 0.2  # seconds from the end of the log to the next look
_QUICK = 30.0  # seconds at the start in which a run that is not running yet is looked at every second
_LOOK = 60  # seconds that a look may take; after that the SuperLink is considered away
_OTHERS = 15.0  # seconds between two lists of other runs
_AGAIN = 2.0  # seconds between two starts of C(flwr log), at least
_LAST_LOG = 60  # seconds that reading the end of the log may take
_KNOCK = 1.0  # seconds between two connections to the SuperLink while a log is streamed


class LogLines:
    """Cuts the output of C(flwr log) into lines, without those that the control node has.

    Args:
        known: number of lines at the start of the log that it has.
    """

    def __init__(self, known: int) -> None:
        self.known = known
        self.count = 0
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """The new lines that are complete with this piece, without what the command line says before the log."""
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest if len(rest) <= _KEPT else _cut(rest)
        new = []
        for line in lines:
            text = (line if len(line) <= _KEPT else _cut(line)).decode("utf-8", "replace")
            if not self.count and HEADER.search(text):
                continue
            self.count += 1
            if self.count > self.known:
                new.append(text)
        return new


def _cut(line: bytes) -> bytes:
    """The start of a long line; of a progress bar the start of its last state, since the control node shows only that."""
    state = line.rstrip(b"\r").rpartition(b"\r")[2][:_KEPT]
    return state + b"\r" if line.endswith(b"\r") else state


class Commands:
    """Commands of C(flwr) in a forked process.

    Args:
        app: Flower's command line.
        commands: arguments of each command.
        seconds: after this time the process ends in any case.
        separate: print a separator after each command, and errors; else errors are dropped.
    """

    def __init__(
        self, app: Callable[..., Any], commands: Sequence[Sequence[str]], seconds: float, *, separate: bool
    ) -> None:
        self.fd, inner = os.pipe()
        self.output = b""
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            _run_in_fork(app, commands, inner, seconds, separate)
        os.close(inner)

    def read(self) -> bytes:
        """What it has printed since the last time; empty when it is over."""
        return os.read(self.fd, 65536)

    def answers(self) -> list[dict[str, Any]]:
        """Of each command C(rc) and C(out), as C(pod_program.run_command) returns them, from what was put into C(output)."""
        found: list[dict[str, Any]] = []
        for text in self.output.decode("utf-8", "replace").split(_END.decode())[:-1]:
            try:
                found.append({"rc": 0, "out": json.loads(text)})
            except ValueError:
                found.append({"rc": 1, "out": text})
        return found

    def end(self) -> None:
        """Stop it, and release what it holds."""
        os.kill(self.pid, signal.SIGKILL)  # no matter if it is over: it is a child until it is waited for
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def _run_in_fork(
    app: Callable[..., Any], commands: Sequence[Sequence[str]], output: int, seconds: float, separate: bool
) -> None:
    """Run commands with C(output) as standard output; never returns."""
    try:
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.alarm(int(seconds))  # the parent may be killed
        nothing = os.open(os.devnull, os.O_RDWR)
        for old, new in ((nothing, 0), (output, 1), (nothing, 2)):
            os.dup2(old, new)
        with open(1, "w", buffering=1, encoding="utf-8", errors="backslashreplace", closefd=False) as stream:
            for name in ("stdout", "__stdout__"):  # flwr uses both
                setattr(sys, name, stream)
            for command in commands:
                try:
                    app(list(command), standalone_mode=False)
                except SystemExit:
                    pass  # the output is judged
                except Exception as error:  # any exception of flwr is an answer for the control node
                    if separate:
                        print(f"{type(error).__name__}: {error}")
                stream.flush()
                if separate:
                    os.write(1, _END)
    finally:
        os._exit(0)


class Follower:
    """Follows one run.

    Args:
        app: Flower's command line.
        request: C(run_id); C(connection), a name in config.toml; C(port), where the SuperLink listens; C(seconds) after which the program
            ends; C(seen), the number of lines of the log that the control node has; C(beat), seconds between two looks; C(token), the
            same each time that the control node starts this program for a run: an older one, whose connection is lost, ends; C(others),
            arguments of C(flwr) that list the runs among which those before this one are.
        emit: receives the messages.
    """

    def __init__(self, app: Callable[..., Any], request: dict[str, Any], emit: Emit) -> None:
        self.app = app
        self.run_id, self.connection, self.port = str(request["run_id"]), request["connection"], int(request["port"])
        self.seconds, self.beat = float(request["seconds"]), float(request["beat"])
        self.sent = int(request["seen"])
        self.others = list(request["others"])
        self.emit = emit
        self.status = ""
        self.claim = os.path.join(tempfile.gettempdir(), f"follow-{request['token']}")
        self.mark = uuid.uuid4().hex
        self.looked = False
        self.log: Commands | None = None
        self.lines = LogLines(self.sent)
        self.look: Commands | None = None
        self.gathered: deque[str] = deque(maxlen=MOST)
        self.count = 0  # of lines that were gathered
        self.due = 0.0  # when they are sent
        self.spoken = time.monotonic()
        self.next_knock = self.next_others = 0.0
        self.streams = True
        self.held: list[str] = []

    def follow(self) -> None:
        """Follow until the run is finished, the time is over, or another program follows it."""
        self.take_over()
        deadline = time.monotonic() + self.seconds
        quick = time.monotonic() + _QUICK
        next_look = next_log = 0.0
        try:
            while time.monotonic() < deadline or not self.looked:
                now = time.monotonic()
                if self.log is not None and now >= self.next_knock and self.is_closed():
                    self.log.end()
                    self.log = None
                if self.look is None and now >= next_look:
                    if not self.is_ours():
                        return
                    if self.log is None and now >= next_log:
                        self.start_log()
                        next_log = now + _AGAIN
                    self.look = self.commands(*self.looks(), separate=True)
                    soon = self.status != "running" and now < quick
                    next_look = now + (min(self.beat, 1.0) if soon else self.beat)
                    if not self.looked:
                        self.say({})  # the first look takes a while on a busy node
                pipes = {one.fd: one for one in (self.log, self.look) if one is not None}
                ready = select.select(list(pipes), [], [], self.pause(next_look, deadline))[0]
                now = time.monotonic()
                if self.count and now >= self.due:
                    self.flush()
                if now >= self.spoken + _ALIVE:
                    self.say({})
                for come in (pipes[fd] for fd in ready):
                    if come is self.log:
                        if not self.read_log(come) and self.streams:
                            # The run is finished, or the SuperLink has stopped.
                            next_look = min(next_look, time.monotonic() + _SOON)
                    elif self.read_look(come):
                        return
        finally:
            for one in (self.log, self.look):
                if one is not None:
                    one.end()
            if self.is_ours():
                os.remove(self.claim)
        self.flush()

    def pause(self, next_look: float, deadline: float) -> float:
        """Seconds until there is something to do, if nothing arrives. A look that takes long is not waited for busily."""
        times = [self.spoken + _ALIVE]
        if self.look is None:
            times.append(next_look)
        if self.looked:
            times.append(deadline)
        if self.count:
            times.append(self.due)
        if self.log is not None:
            times.append(self.next_knock)
        return max(min(times) - time.monotonic(), 0.05)

    def is_closed(self) -> bool:
        """Whether the SuperLink takes no more connections.

        One that is to stop (flwr 1.41, uvicorn) waits for the end of all requests. A log that is streamed never ends: the SuperLink
        would be away for its whole period of grace, and then be killed.
        """
        self.next_knock = time.monotonic() + _KNOCK
        try:
            socket.create_connection(("127.0.0.1", self.port), _KNOCK).close()
        except ConnectionRefusedError:
            return True
        except OSError:
            return False  # it is busy
        return False

    def say(self, message: dict[str, Any]) -> None:
        """Send a message."""
        self.emit(message)
        self.spoken = time.monotonic()

    def take_over(self) -> None:
        """Have older programs for the same control node end."""
        for old in glob.glob(os.path.join(tempfile.gettempdir(), "follow-*")):
            with contextlib.suppress(FileNotFoundError):  # its own program has just removed it
                if os.path.getmtime(old) < time.time() - 86400:
                    os.remove(old)
        with open(self.claim, "w", encoding="utf-8") as stream:
            stream.write(self.mark)

    def is_ours(self) -> bool:
        """Whether no later program follows the run for the same control node."""
        try:
            with open(self.claim, encoding="utf-8") as stream:
                return stream.read() == self.mark
        except FileNotFoundError:
            return False

    def is_crowded(self) -> bool:
        """Whether many logs are followed."""
        fresh = 0
        for claim in glob.glob(os.path.join(tempfile.gettempdir(), "follow-*")):
            with contextlib.suppress(FileNotFoundError):
                fresh += os.path.getmtime(claim) > time.time() - _FRESH
        return fresh > STREAMS

    def start_log(self) -> None:
        """Start to read the log, after the lines that were sent."""
        self.flush()
        self.lines = LogLines(self.sent)
        self.held = []
        self.streams = not self.is_crowded()
        if self.streams or self.status not in ("", "pending"):  # without any line, the command would wait for one
            how = "--stream" if self.streams else "--show"
            self.log = self.commands(["log", self.run_id, self.connection, how], separate=False)

    def commands(self, *commands: Sequence[str], separate: bool) -> Commands:
        """Start commands."""
        return Commands(self.app, commands, _LOOK if separate else self.seconds + 30, separate=separate)

    def looks(self) -> list[list[str]]:
        """The commands of a look; other runs are listed only when they may be before this one."""
        end = [self.connection, "--format", "json"]
        found = [["list", "--run-id", self.run_id, *end], ["supernode", "list", *end]]
        if self.looked and (self.status != "pending" or time.monotonic() < self.next_others):
            return found
        self.next_others = time.monotonic() + _OTHERS
        return [*found, [*self.others, *end]]

    def read_log(self, log: Commands) -> bool:
        """Send what has come of the log; returns whether more can come."""
        data = log.read()
        if not data:
            log.end()
            self.log = None
            return False
        lines = self.held + self.lines.feed(data)
        # C(--show) ends the last line, complete or not: it is read again the next time.
        kept = len(lines) if self.streams else max(len(lines) - 1, 0)
        self.held = lines[kept:]
        self.gather(lines[:kept])
        return True

    def read_look(self, look: Commands) -> bool:
        """Report a look when it is complete; returns whether the run is finished, and all is sent."""
        data = look.read()
        if data:
            look.output += data
            return False
        answers = look.answers()
        look.end()
        self.look = None
        report = self.report(answers)
        self.looked = True
        finished = self.status.startswith("finished")
        if finished:
            self.finish_log()
        self.say(report)
        return finished

    def report(self, answers: list[dict[str, Any]]) -> dict[str, Any]:
        """A look: C(run), the answer about the run; C(nodes), the status of each SuperNode; C(online), the ids of those that are online;
        C(runs), those that are not finished.

        C(nodes), C(online) and C(runs) are missing when they are not known.
        """
        run, nodes, runs = (*answers, *({"rc": 1, "out": "it ended without an answer"} for _missing in range(3)))[:3]
        found = _entries(run, "runs") or []
        self.status = next((str(one.get("status")) for one in found if str(one.get("run-id")) == self.run_id), "")
        report: dict[str, Any] = {"run": run}
        listed = _entries(nodes, "nodes")
        if listed is not None:
            report["nodes"] = [str(node.get("status")) for node in listed]
            report["online"] = [str(node.get("node-id")) for node in listed if node.get("status") == "online"]
        others = _entries(runs, "runs")
        if others is not None:
            keys = ("run-id", "fab-id", "status", "pending-at", "elapsed")
            active = [one for one in others if not str(one.get("status")).startswith("finished")]
            report["runs"] = [{key: one.get(key) for key in keys} for one in active]
        return report

    def finish_log(self) -> None:
        """Send what is missing of the log of a finished run. The stream of C(flwr log) may end before the last lines."""
        last = self.commands(["log", self.run_id, self.connection, "--show"], separate=False)
        lines = LogLines(self.sent + self.count)
        deadline = time.monotonic() + _LAST_LOG
        try:
            while time.monotonic() < deadline:
                if select.select([last.fd], [], [], 1)[0]:
                    data = last.read()
                    if not data:
                        break
                    self.gather(lines.feed(data))
                if time.monotonic() >= self.spoken + _ALIVE:
                    self.say({})
        finally:
            last.end()
        self.flush()

    def gather(self, lines: list[str]) -> None:
        """Collect lines of the log for a message, of very many only the last ones."""
        if lines:
            if not self.count:
                self.due = time.monotonic() + _GATHER
            self.gathered.extend(line if len(line) <= LONGEST else _short(line) for line in lines[-MOST:])
            self.count += len(lines)

    def flush(self) -> None:
        """Send the lines that were gathered."""
        if self.count:
            kept, count = list(self.gathered), self.count
            self.gathered.clear()
            self.count = 0
            self.say({"at": self.sent, "left_out": count - len(kept), "lines": kept})
            self.sent += count


def _short(line: str) -> str:
    return line.rstrip("\r").rpartition("\r")[2][:LONGEST]


class Unread(Exception):
    """The messages are not read."""


class Output:
    """Standard output, whose reader may be gone without a sign.

    When a connection is lost, some container runtimes neither end a program nor close its output. It would wait without end to
    write, and each lost connection would leave one behind.

    Args:
        seconds: how long a message may wait to be read.
    """

    def __init__(self, seconds: int = _UNREAD) -> None:
        self.seconds = seconds
        signal.signal(signal.SIGALRM, self.give_up)

    def give_up(self, _number: int, _frame: FrameType | None) -> NoReturn:
        """Called when the time is over.

        Raises:
            Unread: always.
        """
        raise Unread

    def emit(self, message: dict[str, Any]) -> None:
        """Write a message.

        Raises:
            Unread: it is not read.
        """
        data = memoryview((json.dumps(message) + "\n").encode())
        signal.alarm(self.seconds)
        try:
            while data:
                data = data[os.write(1, data) :]
        finally:
            signal.alarm(0)


def _entries(answer: dict[str, Any], name: str) -> list[dict[str, Any]] | None:
    out = answer["out"]
    return out.get(name, []) if isinstance(out, dict) and out.get("success") else None


def main() -> None:
    """Serve one request."""
    request = json.loads(sys.stdin.readline())
    gc.disable()  # see pod_program
    from flwr.cli.app import app

    gc.freeze()
    gc.enable()
    try:
        Follower(app, request, Output().emit).follow()
    except (Unread, BrokenPipeError):
        os._exit(1)


if __name__ == "__main__":
    main()
