# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The fleet that the integration tests run on, and the tests that take too long to be run each time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import yaml


def pytest_configure(config: pytest.Config) -> None:
    """Tell pytest the marker."""
    config.addinivalue_line("markers", "soak: takes many minutes; only run with -m soak")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, unless it is asked for."""
    if "soak" in (config.getoption("markexpr") or ""):
        return
    long = [item for item in items if item.get_closest_marker("soak")]
    config.hook.pytest_deselected(items=long)
    items[:] = [item for item in items if item not in long]


@pytest.fixture(scope="session")
def fleet_kubeconfig() -> Path:
    """Path of the kubeconfig whose contexts are the fleet's clusters. `make integration` provides it."""
    path = os.environ.get("FLOWER_FLEET_KUBECONFIG")
    if not path:
        pytest.fail("FLOWER_FLEET_KUBECONFIG is not set: run `make integration`, which starts the fleet if need be")
    return Path(path)


@pytest.fixture(scope="session")
def fleet_contexts(fleet_kubeconfig: Path) -> list[str]:
    """Names of the contexts in the fleet's kubeconfig, the hub's first."""
    config = yaml.safe_load(fleet_kubeconfig.read_text(encoding="utf-8"))
    names = sorted(context["name"] for context in config["contexts"])
    return sorted(names, key=lambda name: name != "hub")


@pytest.fixture(scope="session")
def fleet_addon(fleet_kubeconfig: Path) -> Callable[..., None]:
    """Function: run the local fleet's command for add-ons. Skips the test where the clusters are not those of the local fleet."""
    environment = {key: value for key, value in os.environ.items() if key != "FLOWER_FLEET_KUBECONFIG"}
    fleet = [sys.executable, str(Path(__file__).resolve().parents[1] / "fleet")]

    def run(*words: str) -> None:
        where = subprocess.run([*fleet, "kubeconfig"], env=environment, text=True, capture_output=True, check=False)
        if os.geteuid() or where.stdout.strip() != str(fleet_kubeconfig):
            pytest.skip(f"these are not the clusters of the local fleet, which alone has the add-on {words[0]}")
        subprocess.run([*fleet, "addon", *words], env=environment, check=True)

    return run


@pytest.fixture(scope="module")
def ocm_turn(fleet_kubeconfig: Path) -> Iterator[None]:
    """One file at a time has the fleet's Open Cluster Management: who starts, stops or changes it does so for all workers."""
    name = hashlib.sha256(str(fleet_kubeconfig).encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"flower-fleet-ocm-{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # the end of the process gives it back, too
        yield
