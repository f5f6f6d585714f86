# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""limited.py PERCENT COMMAND…: run a command with the clusters of the local fleet limited to a share of the machine's CPU.

The command, the control planes and all pods have that share together, in one control group. The limit ends with the command.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from flower_fleet import settings
from flower_fleet.clusters import cgroups, lifecycle

PERIOD = 100_000  # microseconds
GROUP = "limited"  # below the fleet's control group, beside the pods of the clusters


def set_limit(percent: int | None) -> None:
    """Limit the fleet's control group to a percentage of all processors, or not at all."""
    quota = PERIOD * (os.cpu_count() or 1) * percent // 100 if percent else None
    for folder in cgroups.folders():
        if (folder / "cpu.cfs_quota_us").exists():  # version 1
            (folder / "cpu.cfs_period_us").write_text(str(PERIOD))
            (folder / "cpu.cfs_quota_us").write_text(str(quota or -1))
        elif (folder / "cpu.max").exists():
            (folder / "cpu.max").write_text(f"{quota or 'max'} {PERIOD}")


def move(pids: list[int], folders: list[Path]) -> None:
    """Move processes to control groups. Those that have ended meanwhile are left out."""
    for folder in folders:
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                (folder / "cgroup.procs").write_text(str(pid))


def outside(pids: list[int]) -> list[int]:
    """Those of the processes and their descendants that are not in a control group of the fleet, such as control planes."""
    found = []
    while pids:
        pid = pids.pop()
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            if f"/{settings.CGROUP}/" not in Path(f"/proc/{pid}/cgroup").read_text():
                found.append(pid)
            pids += [int(word) for path in Path(f"/proc/{pid}/task").glob("*/children") for word in path.read_text().split()]
    return found


def main(percent: int, command: list[str]) -> int:
    """Exit status of the command."""
    state = lifecycle.state_directory(settings.from_environment(os.environ))
    launchers = lifecycle.launchers(state)
    if not launchers:
        sys.exit("limited.py: the local fleet does not run: make fleet-up")
    controllers = [top for top in cgroups.hierarchies() if (top / settings.CGROUP / "cpu.cfs_quota_us").exists() or (top / "cgroup.controllers").exists()]
    groups = [top / settings.CGROUP / GROUP for top in controllers]
    for group in groups:
        group.mkdir(exist_ok=True)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    set_limit(percent)
    try:
        move([*outside(launchers), os.getpid()], groups)
        return subprocess.run(command, check=False).returncode
    finally:
        set_limit(None)
        # Back to the root: a group with processes cannot be removed.
        for group in groups:
            pids = [int(word) for word in (group / "cgroup.procs").read_text().split()]
            move(pids, [group.parent.parent])
            group.rmdir()


if __name__ == "__main__":
    if len(sys.argv) < 3 or not sys.argv[1].isdigit() or not 0 < int(sys.argv[1]) <= 100:
        sys.exit("usage: limited.py PERCENT COMMAND…")
    sys.exit(main(int(sys.argv[1]), sys.argv[2:]))
