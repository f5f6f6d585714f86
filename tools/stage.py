# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""stage.py CHECKOUT STAGED: make STAGED a copy of the files of CHECKOUT that git tracks or would add.

Only what differs is copied, deleted files are removed, files of the gates (tests/output, caches) stay.
The collections that galaxy.yml depends on are linked beside it: ansible-test finds them only there.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import stat
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import yaml

# Created inside the staged copy by ansible-test, ansible-lint and pytest; worth keeping between runs.
KEEP_DIRS = {".ansible", ".pytest_cache", ".ruff_cache", "__pycache__"}
KEEP_PATHS = {"tests/output"}


def files_of(checkout: Path) -> list[str]:
    """Paths below checkout, relative to it; a checkout without git (an unpacked archive) is walked completely."""
    listing = subprocess.run(
        ["git", "-c", f"safe.directory={checkout}", "-C", str(checkout), "ls-files", "-co", "--exclude-standard", "-z"],
        capture_output=True,
        check=False,
    )
    if listing.returncode == 0:
        names = [os.fsdecode(name) for name in listing.stdout.split(b"\0") if name]
    elif (checkout / ".git").exists():
        sys.exit(f"stage: git cannot list {checkout}: {os.fsdecode(listing.stderr).strip()}")
    else:
        names = []
        for folder, dirs, files in os.walk(checkout):
            rel = Path(folder).relative_to(checkout)
            dirs[:] = [d for d in dirs if d not in KEEP_DIRS and (rel / d).as_posix() not in KEEP_PATHS | {"build"}]
            names += [(rel / name).as_posix() for name in files]
    return [name for name in names if os.path.lexists(checkout / name)]  # listed but deleted: not to be staged


def same(source: Path, target: Path) -> bool:
    """Whether target needs no copy: size, time of change and mode are those of source."""
    try:
        old, new = target.lstat(), source.lstat()
    except FileNotFoundError:
        return False
    return (old.st_size, old.st_mtime_ns, stat.S_IMODE(old.st_mode), stat.S_IFMT(old.st_mode)) == (
        new.st_size,
        new.st_mtime_ns,
        stat.S_IMODE(new.st_mode),
        stat.S_IFMT(new.st_mode),
    )


def prune(staged: Path, wanted: set[str]) -> int:
    """Remove what is not wanted, and empty folders. Returns the number of files removed."""
    removed = 0
    for folder, dirs, files in os.walk(staged):
        rel = Path(folder).relative_to(staged)
        dirs[:] = [d for d in dirs if d not in KEEP_DIRS and (rel / d).as_posix() not in KEEP_PATHS]
        for name in files + [d for d in dirs if (Path(folder) / d).is_symlink()]:
            if (rel / name).as_posix() not in wanted:
                (Path(folder) / name).unlink()
                removed += 1
    for folder, _dirs, _files in os.walk(staged, topdown=False):
        rel = Path(folder).relative_to(staged)
        if set(rel.parts) & KEEP_DIRS or any(rel.is_relative_to(kept) for kept in KEEP_PATHS):
            continue  # a gate that runs at the same time may be about to write there
        left = set(os.listdir(folder))
        if Path(folder) != staged and left <= {"__pycache__"}:
            shutil.rmtree(folder)  # a folder with only bytecode would still be a Python package
    return removed


def link_dependencies(staged: Path) -> None:
    """Link <namespace>/<name> of each dependency to the copy from the package `ansible`."""
    installed = Path(sysconfig.get_paths()["purelib"], "ansible_collections")
    for dependency in yaml.safe_load((staged / "galaxy.yml").read_text(encoding="utf-8"))["dependencies"]:
        target = installed.joinpath(*dependency.split("."))
        if not target.is_dir():
            sys.exit(f"stage: the collection {dependency} is not in {installed}")
        link = staged.parents[1].joinpath(*dependency.split("."))
        if not (link.is_symlink() and link.readlink() == target):
            link.parent.mkdir(exist_ok=True)
            link.unlink(missing_ok=True)
            link.symlink_to(target)


def main(checkout: Path, staged: Path) -> None:
    names = files_of(checkout)
    staged.mkdir(parents=True, exist_ok=True)
    removed = prune(staged, set(names))
    copied = 0
    for name in names:
        source, target = checkout / name, staged / name
        if same(source, target):
            continue
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.unlink(missing_ok=True)
        shutil.copy2(source, target, follow_symlinks=False)
        copied += 1
    link_dependencies(staged)
    if copied or removed:
        print(f"stage: {copied} of {len(names)} files copied, {removed} removed in {staged}", flush=True)


@contextlib.contextmanager
def alone(staged: Path) -> Iterator[None]:
    """Gates that start at the same time stage one after the other."""
    staged.parent.mkdir(parents=True, exist_ok=True)
    with open(staged.with_name(f".{staged.name}.lock"), "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


if __name__ == "__main__":
    with alone(Path(sys.argv[2])):
        main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
