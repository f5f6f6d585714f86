# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What the tests of the running fleet share."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from ipaddress import IPv4Network
from pathlib import Path
from typing import TypeVar

import pytest
from flower_fleet import settings
from flower_fleet.clusters import lifecycle
from flower_fleet.clusters.api import Api, ApiError

HERE = Path(__file__).resolve().parent
SETTINGS = settings.from_environment(os.environ)
T = TypeVar("T")

needs_the_local_fleet = pytest.mark.skipif(
    os.geteuid() != 0 or SETTINGS.external_kubeconfig is not None, reason="needs root and the local fleet"
)


def fleet(*words: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    """Run the fleet command."""
    done = subprocess.run([sys.executable, str(HERE), *words], check=False, text=True, capture_output=True)
    assert not (check and done.returncode), f"fleet {' '.join(words)}: {done.stdout}{done.stderr}"
    return done


def until(step: Callable[[], T | None], seconds: float = 60.0, *, what: str = "") -> T:
    """Repeat ``step`` until it returns something true."""
    end = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < end:
        try:
            last = step()
        except (OSError, ApiError) as error:
            last = error
        else:
            if last:
                return last
        time.sleep(0.2)
    raise AssertionError(f"not within {seconds:.0f} s: {what or step}; last: {last!r}")


def subnet() -> IPv4Network:
    """The running fleet's subnet."""
    record = lifecycle.Record.load(SETTINGS.state)
    return IPv4Network(record.subnet) if record else SETTINGS.subnet


def plan(name: str) -> settings.Cluster:
    """Address plan of a cluster."""
    return settings.cluster(name, subnet())


def api(name: str, *, timeout: float = 5.0) -> Api:
    """Client of a cluster."""
    return Api(plan(name), SETTINGS.state / name / "pki", timeout=timeout)
