# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Runs commands as steps: one line for each, its progress while it runs, and all output in a log."""

from __future__ import annotations

import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import statistics
import subprocess
import textwrap
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

POLL_INTERVAL = 0.5  # seconds
STATUS_INTERVAL = 25.0  # seconds between status lines where they cannot be rewritten
GRACE_PERIOD = 60.0  # seconds that an interrupted step has before it is killed
FAILURE_LINES = 8  # messages, or lines of output, that are shown of a step that failed
DURATIONS_LIMIT = 5  # durations of a step that are kept


@dataclass(frozen=True)
class Step:
    """A command with a title.

    Attributes:
        title: what the command does.
        command: the program and its arguments.
        estimate: how long it takes, for a machine on which it has not run.
        shows_result: whether its last message, or else its output, is a result to show at the end.
        highlight: regular expression for lines of output that show its progress better than its events do: their first group is shown.
        changes: whether it changes anything.
    """

    title: str
    command: Sequence[str | Path]
    estimate: str = ""
    shows_result: bool = False
    highlight: str = ""
    changes: bool = True


class StepFailed(Exception):
    """A step ended with an error."""

    def __init__(self, step: Step) -> None:
        super().__init__(step.title)
        self.step = step


class Display:
    """Prints lines, and a status line that a terminal rewrites in place."""

    def __init__(self, out: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._out = out
        self._clock = clock
        self._rewrites = out.isatty() and os.environ.get("TERM") != "dumb"
        self._has_status = False
        self._last_printed = clock()

    def print(self, text: str) -> None:
        """Print a line, in place of the status line if there is one."""
        print(("\r\x1b[K" if self._has_status else "") + text, file=self._out, flush=True)
        self._has_status = False
        self._last_printed = self._clock()

    def show_status(self, text: str) -> None:
        """Rewrite the status line; where that is not possible, print it if nothing was printed for a while."""
        if self._rewrites:
            width = shutil.get_terminal_size().columns - 1
            print(f"\r{text if len(text) <= width else text[: width - 1] + '…'}\x1b[K", end="", file=self._out, flush=True)
            self._has_status = True
        elif self._clock() - self._last_printed >= STATUS_INTERVAL:
            self.print(f"... {text}")


@dataclass
class Progress:
    """What a step has reported so far.

    A step appends events to the file FLOWER_PROGRESS, each a JSON object on a line of its own. The test fleet does this in console.py,
    and Ansible in demo_callback.

    Attributes:
        activity: what the step is doing.
        tasks: how many tasks of a playbook have started.
        message: lines of the last message.
        failures: messages of what failed.
        nodes: what federated.flower.node_info returned for each site.
        output: lines of output.
        highlight: what the step's regular expression last found in them.
    """

    activity: str = ""
    tasks: int = 0
    message: list[str] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    nodes: dict[str, Any] = field(default_factory=dict)
    output: list[str] = field(default_factory=list)
    highlight: str = ""

    def read_event(self, line: str) -> None:
        """Update the attributes from an event."""
        event = json.loads(line)
        self.activity = event.get("activity", self.activity)
        self.tasks += "task" in event
        if "message" in event:
            self.message = event["message"] if isinstance(event["message"], list) else [event["message"]]
        if "failed" in event:
            self.failures.append(event["failed"])
        self.nodes |= event.get("nodes", {})

    def read_output(self, line: str, highlight: str = "") -> None:
        """Keep a line of output, and what the regular expression finds in it."""
        self.output.append(line)
        if highlight and (match := re.search(highlight, line)):
            self.highlight = match[1]

    def summary(self) -> str:
        """Return in a few words what the step is doing."""
        return self.highlight or (f"{self.activity}, task {self.tasks}" if self.tasks else self.activity)


class LineFollower:
    """Reads the lines that are appended to a file."""

    def __init__(self, path: Path) -> None:
        self._file = path.open(encoding="utf-8", errors="replace")
        self._file.seek(0, os.SEEK_END)
        self._incomplete = ""

    def read_lines(self) -> list[str]:
        """Return the lines that were completed since the last call."""
        *lines, self._incomplete = (self._incomplete + self._file.read()).split("\n")
        return lines


def format_duration(seconds: float) -> str:
    """Return seconds as minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"


class Durations:
    """Keeps the last durations of each step in a file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._durations: dict[str, list[float]] = {}
        with contextlib.suppress(FileNotFoundError, json.JSONDecodeError):
            self._durations = json.loads(path.read_text(encoding="utf-8"))

    def estimate(self, step: Step) -> str:
        """Return how long the step usually takes, or an empty string if that is not known."""
        durations = self._durations.get(self._key(step))
        return format_duration(statistics.median_high(durations)) if durations else step.estimate

    def record(self, step: Step, seconds: float) -> None:
        """Add a duration of the step, and drop the oldest if there are too many."""
        durations = [*self._durations.get(self._key(step), []), round(seconds, 1)]
        self._durations[self._key(step)] = durations[-DURATIONS_LIMIT:]
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._path.write_text(json.dumps(self._durations, indent=1) + "\n", encoding="utf-8")

    @staticmethod
    def _key(step: Step) -> str:
        # A step with another estimate has other work to do: clusters that must be built first take far longer to start.
        return f"{step.title} ({step.estimate})" if step.estimate else step.title


@dataclass
class Runner:
    """Runs steps one after the other.

    Attributes:
        display: where their progress is shown.
        durations: how long they took before.
        log: the file that gets their output.
        environ: their environment variables.
        cwd: their working directory.
        verbose: whether their output is shown instead of the status line.
    """

    display: Display
    durations: Durations
    log: Path
    environ: dict[str, str]
    cwd: Path
    verbose: bool = False

    def run(self, step: Step, number: str) -> Progress:
        """Run a step to its end.

        Args:
            step: what to run.
            number: its number among all steps, as in C(2/4).

        Raises:
            StepFailed: it ended with an error.
        """
        label, start = f"{number} {step.title}", time.monotonic()
        events_path = self.log.with_suffix(".progress")
        events_path.write_text("")
        with self.log.open("a", encoding="utf-8") as log:
            log.write(f"\n--- {label}: {shlex.join(map(str, step.command))}\n")
        progress, events, output = Progress(), LineFollower(events_path), LineFollower(self.log)
        process = self._start(step, events_path)
        try:
            code: int | None = None
            while code is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    code = process.wait(POLL_INTERVAL)
                for line in events.read_lines():
                    progress.read_event(line)
                for line in output.read_lines():
                    progress.read_output(line, step.highlight)
                    if self.verbose:
                        self.display.print(line)
                if code is None and not self.verbose:
                    summary, estimate = progress.summary(), self.durations.estimate(step)
                    status = f"{label}: {summary}" if summary else label
                    usually = f" (usually {estimate})" if estimate else ""
                    self.display.show_status(f"{status}, {format_duration(time.monotonic() - start)}{usually}")
        finally:
            if process.poll() is None:
                self._interrupt(process, label)
            events_path.unlink()
        seconds = time.monotonic() - start
        if code:
            self.display.print(f"{label}: failed after {format_duration(seconds)}")
            for text in progress.failures[-FAILURE_LINES:] or list(filter(str.strip, progress.output))[-FAILURE_LINES:]:
                self.display.print(textwrap.indent(text, "    "))
            raise StepFailed(step)
        self.durations.record(step, seconds)
        message = f". {progress.message[-1]}" if progress.message and not step.shows_result else ""
        self.display.print(f"{label}: {format_duration(seconds)}{message}")
        return progress

    def _start(self, step: Step, events_path: Path) -> subprocess.Popen[bytes]:
        with self.log.open("ab") as log:
            return subprocess.Popen(
                step.command,
                cwd=self.cwd,
                env={**self.environ, "FLOWER_PROGRESS": str(events_path)},
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,  # signals reach the processes that it starts as well
            )

    def _interrupt(self, process: subprocess.Popen[bytes], label: str) -> None:
        """Interrupt a step as Ctrl-C does, and kill it after a second interrupt or the grace period."""
        self.display.print(f"{label}: interrupted; waiting for its end (Ctrl-C again kills it)")
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            process.wait(GRACE_PERIOD)
        except (KeyboardInterrupt, SystemExit, subprocess.TimeoutExpired):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
