# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Wait for the end of a process that is not one's own child."""

from __future__ import annotations

import contextlib
import os
import select
import time
from pathlib import Path

_LOOK = 0.5  # seconds between two looks, where the end does not report itself


class Process:
    """A process that runs now.

    Linux reports its end by a file descriptor (C(pidfd_open), since 5.3). Elsewhere, or where a container forbids that, it is looked
    for, together with the time of its start: numbers of processes are used again.

    Args:
        pid: its number.
    """

    def __init__(self, pid: int) -> None:
        self._pid = pid
        self._start = _start(pid)
        self._descriptor = -1
        with contextlib.suppress(AttributeError, OSError):
            self._descriptor = os.pidfd_open(pid)

    def ends_within(self, seconds: float) -> bool:
        """Wait for the end, for that long at most; returns whether it has ended."""
        deadline = time.monotonic() + seconds
        if self._descriptor >= 0:
            poll = select.poll()
            poll.register(self._descriptor, select.POLLIN)
            return bool(poll.poll(seconds * 1000))
        while self._runs():
            if (rest := deadline - time.monotonic()) <= 0:
                return False
            time.sleep(min(_LOOK, rest))
        return True

    def _runs(self) -> bool:
        try:
            os.kill(self._pid, 0)
        except (ProcessLookupError, PermissionError):  # the latter: by now it is another user's
            return False
        return _start(self._pid) == self._start


def _start(pid: int) -> str:
    """When a process started, as Linux counts it (proc(5), field 22 of C(stat)); empty when it has ended, or where there is no /proc."""
    with contextlib.suppress(OSError):
        words = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return "" if words[0] == "Z" else words[19]
    return ""
