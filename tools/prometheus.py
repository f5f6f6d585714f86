# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""prometheus.py: print the folder with promtool and prometheus of Debian's package. It is fetched if the cache has none.

Unpacked and not installed: the package would start a server. Nothing of it is checked beyond what apt checks.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

PACKAGE = "prometheus"
PROGRAMS = Path("usr/bin")
SECONDS, PAUSE = 180, 5


def ensure() -> Path:
    """The folder. Who comes while another one makes it waits."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "federated-flower"
    folder = cache / PACKAGE
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f".{PACKAGE}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / PROGRAMS / "promtool").exists():
            partial = folder.with_suffix(".partial")
            shutil.rmtree(partial, ignore_errors=True)
            partial.mkdir()
            _fetch(partial)
            (package,) = partial.glob("*.deb")
            subprocess.run(["dpkg-deb", "-x", package, partial], stdout=sys.stderr, check=True)
            package.unlink()
            shutil.rmtree(folder, ignore_errors=True)
            partial.rename(folder)
    return folder / PROGRAMS


def _fetch(folder: Path) -> None:
    """Download the package. The lists of packages may be missing or old, and another program may be updating them."""
    # As root, apt drops to a user that may not write there.
    fetch = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", PACKAGE]
    deadline = time.monotonic() + SECONDS
    while subprocess.run(fetch, cwd=folder, stdout=sys.stderr, check=False).returncode:
        if time.monotonic() >= deadline:
            raise SystemExit(f"prometheus: apt-get cannot download the package {PACKAGE}, also after {SECONDS} s of apt-get update: see above")
        if subprocess.run(["apt-get", "-q", "update"], stdout=sys.stderr, check=False).returncode:
            time.sleep(PAUSE)


if __name__ == "__main__":
    print(ensure())
