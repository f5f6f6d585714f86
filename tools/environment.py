# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""environment.py NAME: print the Python of the environment with requirements/NAME.txt. It is made if the cache has none.

Its name has a hash of what it is made from. Its file `.ready` is written last, so that a broken download never passes for an environment.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements"


def ensure(name: str) -> Path:
    """The environment's Python. Who comes while another one makes it waits."""
    wanted = REQUIREMENTS / f"{name}.txt"
    made_from = hashlib.sha256(wanted.read_bytes() + sys.version.encode()).hexdigest()
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "federated-flower"
    folder = cache / f"{name}-{made_from[:12]}"
    python, ready = folder / "bin/python", folder / ".ready"
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f".{folder.name}.lock", "w", encoding="utf-8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not ready.exists():
            print(f"environment: installing {wanted.name} into {folder} (once)", file=sys.stderr, flush=True)
            environ = {**os.environ, "PYTHONPATH": "", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
            install = ["install", "--quiet", "--progress-bar", "off", "-r", str(wanted)]
            for command in ([sys.executable, "-m", "venv", "--clear", str(folder)], [str(python), "-m", "pip", *install]):
                subprocess.run(command, env=environ, stdout=sys.stderr, check=True)
            ready.touch()
    return python


if __name__ == "__main__":
    print(ensure(sys.argv[1]))
