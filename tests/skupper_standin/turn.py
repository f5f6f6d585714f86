# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The fleet has one stand-in for Skupper: tests that start, stop or change it do so one after the other."""

from __future__ import annotations

import fcntl
import hashlib
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn(kubeconfig: Path | str) -> Iterator[None]:
    """Have the stand-in of the fleet with this kubeconfig for oneself, across processes."""
    name = hashlib.sha256(str(kubeconfig).encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"flower-fleet-skupper-{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # the end of the process releases it, too
        yield
