# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Progress on standard output: one line per phase with its seconds, and a sign of life while one takes long.

A program that shows it in its own way sets FLOWER_PROGRESS to a file, which gets one line of JSON for each change.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field

HEARTBEAT = 20.0  # seconds between signs of life


def report(**news: str) -> None:
    """Append what happens to the file FLOWER_PROGRESS, if there is one: C(activity) and C(failed)."""
    if path := os.environ.get("FLOWER_PROGRESS"):
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(news) + "\n")


@dataclass
class Phase:
    """A piece of work that is under way; ``note`` is shown with its line."""

    title: str
    note: str = ""
    started: float = field(default_factory=time.monotonic)

    @property
    def seconds(self) -> float:
        """Seconds since the phase began."""
        return time.monotonic() - self.started


class Console:
    """Prints lines with the seconds since the command began; safe to use from several threads."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._open: list[Phase] = []
        self._lock = threading.Lock()
        self._last = self._begin
        self._stop = threading.Event()
        threading.Thread(target=self._beat, daemon=True).start()

    @property
    def seconds(self) -> float:
        """Seconds since the command began."""
        return time.monotonic() - self._begin

    def line(self, text: str) -> None:
        """Print one line."""
        with self._lock:
            self._last = time.monotonic()
            print(f"[{self.seconds:6.1f} s] {text}", flush=True)

    @contextlib.contextmanager
    def phase(self, title: str) -> Iterator[Phase]:
        """Time the body; print its line at the end, with ``failed`` if it raised."""
        phase = Phase(title)
        self._open.append(phase)
        word = "failed after"
        try:
            yield phase
            word = "in"
        finally:
            self._open.remove(phase)
            note = f" ({phase.note})" if phase.note else ""
            self.line(f"{title}{note}: {word} {phase.seconds:.1f} s")

    def doing(self) -> str:
        """The phases that are under way, without their seconds."""
        return "; ".join(f"{phase.title}, {phase.note}".removesuffix(", ") for phase in list(self._open))

    def _beat(self) -> None:
        before = ""
        while not self._stop.wait(1.0):
            if (doing := self.doing()) != before:
                report(activity=doing)
                before = doing
            if time.monotonic() - self._last >= HEARTBEAT and self._open:
                self.line(
                    "... "
                    + "; ".join(
                        f"{phase.title} {phase.seconds:.0f} s" + (f", {phase.note}" if phase.note else "")
                        for phase in list(self._open)
                    )
                )
