# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Show what a run does while it is waited for: new lines of its log, and its state at a steady pace.

Plain lines, so that a terminal, a file and a controller show the same.
"""

from __future__ import annotations

import datetime
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from .following import RunReport
from .run_log import waiting
from .runs import Run

_PATIENCE = 15  # seconds that a run may be pending before the reason is mentioned
_EMPTY = ("", "INFO :", "DEBUG :")  # Flower logs empty lines between rounds


def duration(seconds: float) -> str:
    """Write C([D days, ]H:MM:SS)."""
    return str(datetime.timedelta(seconds=max(int(seconds), 0)))


def named_run(run: Run) -> str:
    """A run as people name it."""
    return f"run {run.run_id} of {run.app or 'an app'} ({run.status})"


class Progress:
    """What is said about one run. Its methods may be called by several threads.

    Args:
        say: shows one line.
        host: inventory name of the hub, in front of every line.
        run_id: the run.
        interval: seconds between two lines with the state.
        quiet: show neither log nor state.
        clock: seconds since the epoch.
    """

    def __init__(
        self, say: Callable[[str], None], host: str, run_id: str, *, interval: float = 30, quiet: bool = False, clock: Callable[[], float] = time.time
    ) -> None:
        self._say, self._host, self._run_id = say, host, run_id
        self._interval, self._quiet, self._clock = interval, quiet, clock
        self._lock = threading.Lock()
        self._last = RunReport(Run(run_id))
        self._start = self._at = self._shown_at = clock()
        self._trouble = ""
        self._waits = ""
        self._lost = 0.0  # when the run could not be read for the first time

    def begin(self, submitted: bool) -> None:
        """Name the run, and how to follow it again, before it is waited for; also when it is quiet."""
        begin = "was submitted. If this playbook is interrupted, it continues; follow it" if submitted else "is followed. Follow it"
        self._say(f"{self._host}: run {self._run_id} {begin} again with -e flower_run_id={self._run_id}")

    def log(self, lines: Sequence[str], left_out: int) -> None:
        """Show new lines of the log."""
        with self._lock:
            if left_out:
                self._show(f"({left_out} lines omitted)")
            self._waits = waiting(lines) if lines else self._waits
            for line in lines:
                if line.strip() not in _EMPTY:
                    self._show(line)

    def report(self, report: RunReport) -> None:
        """Show the state if it changed."""
        with self._lock:
            before, first = self._last, not self._last.run.status
            # Others are not read each time.
            others = before.others if report.others is None else report.others
            self._last = RunReport(report.run, report.online, report.nodes, others)
            self._at = self._clock()
            again, self._trouble, self._lost = bool(self._trouble), "", 0.0
            if report.run.finished:
                return  # the result of the task says it
            if again or report.run.status != before.run.status:
                self._state()
            if first and report.run.status != "pending" and others:
                self._show_note(f"it shares the SuperNodes with {', '.join(map(named_run, others))}")

    def trouble(self, text: str) -> None:
        """Show that the run cannot be read, once."""
        with self._lock:
            first, self._trouble = not self._trouble, text
            if first:
                self._lost = self._clock()
                self._state()

    def tick(self) -> float:
        """Show the state if it is time to; returns the seconds until the next time."""
        with self._lock:
            left = self._shown_at + self._interval - self._clock()
            if left > 0:
                return left
            self._state()
            return self._interval

    @contextmanager
    def steady(self) -> Iterator[None]:
        """Show the state at a steady pace until the end of the block, also while nothing arrives."""
        over = threading.Event()

        def work() -> None:
            while not over.wait(self.tick()):
                pass

        thread = threading.Thread(target=work, daemon=True)
        if not self._quiet:
            thread.start()
        try:
            yield
        finally:
            over.set()
            if not self._quiet:
                thread.join()

    def _state(self) -> None:
        now = self._clock()
        self._shown_at = now
        report, run = self._last, self._last.run
        words = run.status or "state not known"
        if run.status == "running":
            words += f" for {duration(run.elapsed + now - self._at)}"
        words += ", number of online SuperNodes not known" if report.online is None else f", {report.online} of {report.nodes} SuperNodes online"
        if run.status == "pending" and report.others:
            words += f", behind {', '.join(map(named_run, report.others))}"
        if self._trouble:
            words = f"has not been readable for {duration(now - self._lost)}, retrying ({self._trouble}); last seen: {words}"
        elif self._waits and not run.finished:
            words += f", {self._waits}"
        elif run.status == "pending" and not report.others and now - self._start > _PATIENCE:
            words += ", no ServerApp process has started it yet (see the pod of serverapp)"
        self._show_note(words)

    def _show_note(self, words: str) -> None:
        stamp = time.strftime("%H:%M:%S", time.localtime(self._clock()))
        if not self._quiet:
            self._say(f"{self._host}: {stamp} run {self._run_id}: {words}")

    def _show(self, line: str) -> None:
        if not self._quiet:
            self._say(f"{self._host} | {line}")
