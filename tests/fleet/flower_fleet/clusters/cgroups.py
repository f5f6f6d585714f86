# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""The clusters' parts of the machine's control groups, of version 1 or 2; a node sees its part as the whole."""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path

from ..settings import CGROUP

ROOT = Path("/sys/fs/cgroup")
# All pods together weigh as much as this many processes of the machine. Under version 1 each process of the root group
# weighs as much as a whole group below it: by default all pods would share the time of one process, and starve beside
# a build.
POD_WEIGHT = 8


def hierarchies() -> list[Path]:
    """Tops of the trees: one under version 2, one for each set of controllers under version 1."""
    if (ROOT / "cgroup.controllers").exists():
        return [ROOT]
    return sorted(path for path in ROOT.iterdir() if not path.is_symlink() and (path / "cgroup.procs").exists())


def create(name: str) -> None:
    """Make the part of the cluster ``name`` in every tree."""
    for top in hierarchies():
        folder = top
        for part in (CGROUP, name):
            _hand_down(folder)
            parent, folder = folder, folder / part
            folder.mkdir(exist_ok=True)
            for file in ("cpuset.cpus", "cpuset.mems"):  # version 1 starts empty, and refuses processes then
                if (folder / file).exists() and not (folder / file).read_text().strip():
                    with contextlib.suppress(OSError):
                        (folder / file).write_text((parent / file).read_text())
        for file, normal in (("cpu.shares", 1024), ("cpu.weight", 100)):
            if (top / CGROUP / file).exists():
                (top / CGROUP / file).write_text(str(POD_WEIGHT * normal))
        _hand_down(folder)


def _hand_down(folder: Path) -> None:
    """Version 2: give the groups below ``folder`` all its controllers."""
    with contextlib.suppress(OSError):
        for controller in (folder / "cgroup.controllers").read_text().split():
            with contextlib.suppress(OSError):  # some cannot be handed down (cpu with real-time processes)
                (folder / "cgroup.subtree_control").write_text(f"+{controller}")


def folders(name: str = "") -> list[Path]:
    """Parts that exist: of one cluster, or of the fleet."""
    return [path for path in (top / CGROUP / name for top in hierarchies()) if path.is_dir()]


def remove(name: str = "") -> None:
    """Remove parts whose processes have ended."""
    for top in folders(name):
        for folder, _below, _files in os.walk(top, topdown=False):
            for _attempt in range(100):
                try:
                    Path(folder).rmdir()
                    break
                except FileNotFoundError:
                    break
                except OSError:  # busy: the kernel still cleans up after the last process
                    time.sleep(0.02)
