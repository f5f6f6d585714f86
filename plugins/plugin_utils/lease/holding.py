# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the tasks of a run, and the process that keeps the lease for it, tell each other: a file in Ansible's own temporary folder.

Ansible creates that folder for every run, for the user alone, and removes it at the end. The file has a line of JSON for each state, and the
last one counts: C(held), then C(returned) or C(lost); C(absent) in a hub that is new or lost. Lines are only added, so it can be read without the lock.

A second file is locked by every task that works under the lease. Forks of a playbook that was killed are still there for a while (see C(parent)):
the lease is kept for as long as one of them has the lock (see C(keeper)), and none of them begins a task.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from . import parent

FILE = "federated.flower.lease.jsonl"
WORKING = "federated.flower.lease.lock"
HELD, RETURNED, LOST, ABSENT = "held", "returned", "lost", "absent"
SKIPPED = (
    "this run has not asked for the lease of the fleet, so nothing is changed: --start-at-task, --skip-tags or --limit left out the play that does, and "
    "checks with it. Run the whole playbook: what is done already costs little. --tags and a --limit to sites choose parts of it"
)
_LOOK = 0.2  # seconds between two looks at the lock
_LIMIT = 1 << 16  # bytes; there are a few hundred


class Holding:
    """The file of a run, open.

    Args:
        descriptor: of the file.
    """

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    @classmethod
    def begin(cls, folder: Path) -> Holding:
        """Begin a new one. Who has the former one open keeps that."""
        with contextlib.suppress(FileNotFoundError):
            (folder / FILE).unlink()
        return cls(os.open(folder / FILE, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600))

    @classmethod
    def open(cls, folder: Path) -> Holding | None:
        """Open that of the run; None if there is none."""
        try:
            return cls(os.open(folder / FILE, os.O_RDWR | os.O_NOFOLLOW | os.O_APPEND))
        except FileNotFoundError:
            return None

    def __enter__(self) -> Holding:
        return self

    def __exit__(self, *_error: object) -> None:
        os.close(self._descriptor)

    def note(self, state: str, **facts: Any) -> None:
        """Add a state."""
        os.write(self._descriptor, (json.dumps({"state": state, **facts}) + "\n").encode())

    def last(self) -> dict[str, Any]:
        """The last state, with its facts; empty if there is none yet."""
        lines = os.pread(self._descriptor, _LIMIT, 0).splitlines(keepends=True)
        return next((json.loads(line) for line in reversed(lines) if line.endswith(b"\n")), {})

    @property
    def is_held(self) -> bool:
        """Whether this run holds the lease."""
        return self.last().get("state") == HELD

    @contextlib.contextmanager
    def locked(self) -> Iterator[None]:
        """While the lease is renewed or returned: one at a time."""
        fcntl.flock(self._descriptor, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.flock(self._descriptor, fcntl.LOCK_UN)


@contextlib.contextmanager
def working(folder: Path, *, needed: bool = False) -> Iterator[str]:
    """While a task works. The value says why this run must not change anything more; empty if it may.

    C(needed): whether the playbook is one that asks for the lease first.
    """
    found = Holding.open(folder)
    if found is None:
        yield SKIPPED if needed else ""
        return
    with found:
        last = found.last()
    lock = open_lock(folder)
    try:
        fcntl.flock(lock, fcntl.LOCK_SH)
        yield _why_not(last)
    finally:
        os.close(lock)


def _why_not(last: Mapping[str, Any]) -> str:
    if last.get("state") == LOST:
        return str(last["msg"])
    return parent.why_not(last["pid"], "the playbook of this task") if "pid" in last else ""


def open_lock(folder: Path) -> int:
    """Open the file that tasks lock; returns its descriptor."""
    return os.open(folder / WORKING, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600)


def is_idle_within(lock: int, seconds: float) -> bool:
    """Wait until no task works, for that long at most; returns whether none does.

    Args:
        lock: what C(open_lock) returned.
        seconds: how long.
    """
    deadline = time.monotonic() + seconds
    while True:
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            fcntl.flock(lock, fcntl.LOCK_UN)
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(_LOOK)
