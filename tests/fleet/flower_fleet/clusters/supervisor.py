# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Process 1 of a cluster's process namespace: starts the cluster's processes, restarts what ends, reaps orphans.

Run as ``python supervisor.py PROCESSES.json LOG_DIRECTORY``; needs the standard library only.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from typing import Any

RESTART_AFTER = 0.5  # seconds


def start(entry: dict[str, Any], logs: str) -> int:
    """Start one process with its output appended to its log; return its pid."""
    with open(f"{logs}/{entry['name']}.log", "a", encoding="utf-8") as log:
        process = subprocess.Popen(
            entry["argv"],
            env={**os.environ, **entry["env"]},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    process.returncode = 0  # reaped below, not by the object
    return process.pid


def supervise(entries: list[dict[str, Any]], logs: str) -> None:
    """Keep all ``entries`` running until SIGTERM."""
    signals = {signal.SIGCHLD, signal.SIGTERM, signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    running: dict[int, dict[str, Any]] = {}
    due: list[tuple[float, dict[str, Any]]] = [(0.0, entry) for entry in entries]
    while True:
        now = time.monotonic()
        for when, entry in [item for item in due if item[0] <= now]:
            due.remove((when, entry))
            # the signal mask is inherited: without this the children could not be stopped
            signal.pthread_sigmask(signal.SIG_UNBLOCK, signals)
            running[start(entry, logs)] = entry
            signal.pthread_sigmask(signal.SIG_BLOCK, signals)
        pause = max(0.0, min(when for when, _what in due) - now) if due else 3600.0
        info = signal.sigtimedwait(signals, pause)
        if info and info.si_signo != signal.SIGCHLD:
            return
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            entry_or_none = running.pop(pid, None)
            if entry_or_none is not None:
                code = os.waitstatus_to_exitcode(status)
                print(f"{time.strftime('%T')} {entry_or_none['name']} ended with {code}", flush=True)
                due.append((time.monotonic() + RESTART_AFTER, entry_or_none))


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as stream:
        supervise(json.load(stream), sys.argv[2])
