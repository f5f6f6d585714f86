# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Programs of Debian's packages, unpacked into the cache and not installed. Nothing of them is checked beyond what apt checks."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

SECONDS, PAUSE = 180, 5


def cache() -> Path:
    """The folder of everything that is fetched."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "federated-flower"


def ensure(package: str, program: str, needs: bool = False) -> Path:
    """The folder with what a package contains. It is fetched if the cache has none.

    Args:
        package: its name.
        program: a file in it, which is there if the package is complete.
        needs: whether also to unpack what it depends on and this machine does not have.
    """
    with filling(package, program) as partial:
        if partial is not None:
            _fetch(package, partial, needs)
            for file in partial.glob("*.deb"):
                subprocess.run(["dpkg-deb", "-x", file, partial], stdout=sys.stderr, check=True)
                file.unlink()
    return cache() / package


@contextmanager
def filling(name: str, file: str) -> Iterator[Path | None]:
    """An empty folder that becomes the cache's folder of that name, or None if it already exists. Who comes while another one fills it waits."""
    folder = cache() / name
    cache().mkdir(parents=True, exist_ok=True)
    with open(cache() / f".{name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / file).exists():
            yield None
            return
        partial = cache() / f"{name}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        partial.mkdir()
        yield partial
        shutil.rmtree(folder, ignore_errors=True)
        partial.rename(folder)


def _fetch(package: str, folder: Path, needs: bool) -> None:
    """Download packages. The lists of packages may be missing or old, and another program may be updating them."""
    deadline = time.monotonic() + SECONDS
    while not (names := _needed(package) if needs else [package]) or not _download(names, folder):
        if time.monotonic() >= deadline:
            raise SystemExit(f"{package}: apt-get cannot download it, also after {SECONDS} s of apt-get update: see above")
        if subprocess.run(["apt-get", "-q", "update"], stdout=sys.stderr, check=False).returncode:
            time.sleep(PAUSE)


def _needed(package: str) -> list[str]:
    """The package and those that would be installed with it; empty if apt does not know it."""
    command = ["apt-get", "-q", "--simulate", "--no-install-recommends", "--reinstall", "install", package]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    print(found.stderr, file=sys.stderr, end="")
    return re.findall(r"^Inst (\S+)", found.stdout, re.MULTILINE) if found.returncode == 0 else []


def _download(names: list[str], folder: Path) -> bool:
    # As root, apt drops to a user that may not write there.
    command = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", *names]
    return subprocess.run(command, cwd=folder, stdout=sys.stderr, check=False).returncode == 0
