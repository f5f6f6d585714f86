# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The fleet that the integration tests run on, and the tests that take too long to be run each time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers. A signal that ends pytest is an interrupt, so that fixtures end the playbooks that they have started."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    config.addinivalue_line("markers", "soak: takes many minutes; only run with -m soak")


# What takes longest begins first, so that no worker is busy for long when the others are through. The first two groups need empty
# clusters, those that are not named come in their own order, the last one checks everything that was left.
FIRST = (
    "test_01_deploy", "test_00_upgrade", "ocm", "test_02_refusals", "test_20_skupper", "test_27_study", "test_50_guides", "test_16_rotation", "test_13_rights",
    "test_15_certificates", "test_17_site_keys", "test_18_incidents", "test_14_audit", "test_03_sites", "test_04_pools",
)  # fmt: skip
LAST = "test_90_teardown"
# Files that wait for each other: one worker has them all.
TOGETHER = {"test_21_ocm": "ocm", "test_22_clientapp": "ocm", "test_ocm_inventory": "ocm"}


def group_of(path: str) -> str:
    """What one worker has whole: a file, or files that would wait for each other."""
    stem = Path(path).stem
    return TOGETHER.get(stem, stem)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Have pytest-xdist give out groups, not files."""
    from xdist.scheduler import LoadFileScheduling

    class ByGroup(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group_of(nodeid.split("::", 1)[0])

    return ByGroup(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out what takes long, unless it is asked for; order the groups. All workers must have the same tests."""
    space = os.environ.get("FLOWER_SCENARIO", "scenario")
    for item in items:
        if space in item.nodeid.partition("[")[2]:
            raise pytest.UsageError(f"{item.nodeid} has the name of a namespace, which differs between workers")
    if "soak" not in (config.getoption("markexpr") or ""):
        long = {item for item in items if item.get_closest_marker("soak")}
        config.hook.pytest_deselected(items=list(long))
        items[:] = [item for item in items if item not in long]
    order = {group: place for place, group in enumerate(FIRST)} | {LAST: len(items)}
    items.sort(key=lambda item: order.get(group_of(str(item.path)), len(FIRST)))  # as they were within a group


@pytest.fixture(scope="session")
def fleet_kubeconfig() -> Path:
    """Path of the kubeconfig whose contexts are the fleet's clusters. `make core` and `make scenarios` provide it."""
    path = os.environ.get("FLOWER_FLEET_KUBECONFIG")
    if not path:
        pytest.fail("FLOWER_FLEET_KUBECONFIG is not set: run `make scenario NAME=…`, which starts the fleet if need be")
    return Path(path)


@pytest.fixture(scope="session")
def fleet_contexts(fleet_kubeconfig: Path) -> list[str]:
    """Names of the contexts in the fleet's kubeconfig, the hub's first."""
    config = yaml.safe_load(fleet_kubeconfig.read_text(encoding="utf-8"))
    names = sorted(context["name"] for context in config["contexts"])
    return sorted(names, key=lambda name: name != "hub")


class LocalFleet:
    """The command line of the fleet that `make fleet-up` starts.

    Args:
        kubeconfig: of the clusters that the tests run on, which may be other ones.
    """

    def __init__(self, kubeconfig: Path) -> None:
        self._environment = {key: value for key, value in os.environ.items() if key != "FLOWER_FLEET_KUBECONFIG"}
        self._command = [sys.executable, str(Path(__file__).resolve().parents[1] / "fleet")]
        self._kubeconfig = kubeconfig

    @property
    def is_used(self) -> bool:
        """Whether the tests run on its clusters, and may change them."""
        where = subprocess.run([*self._command, "kubeconfig"], env=self._environment, text=True, capture_output=True, check=False)
        return not os.geteuid() and where.stdout.strip() == str(self._kubeconfig)

    def run(self, *words: str) -> None:
        """Run a command of the fleet."""
        subprocess.run([*self._command, *words], env=self._environment, check=True)


@pytest.fixture(scope="session")
def local_fleet(fleet_kubeconfig: Path) -> LocalFleet:
    """The local fleet, whether or not the tests run on it."""
    return LocalFleet(fleet_kubeconfig)


@pytest.fixture(scope="session")
def fleet_command(local_fleet: LocalFleet) -> Callable[..., None]:
    """Function: run a command of the local fleet. Skips the test where the clusters are not those of the local fleet."""

    def run(*words: str) -> None:
        if not local_fleet.is_used:
            pytest.skip(f"these are not the clusters of the local fleet, which alone has {' '.join(words[:2])}")
        local_fleet.run(*words)

    return run


@pytest.fixture(scope="session")
def fleet_image(local_fleet: LocalFleet) -> Callable[[str], None]:
    """Function: give an image to the local fleet. Other clusters pull it from its registry."""

    def provide(name: str) -> None:
        if local_fleet.is_used:
            local_fleet.run("image", name)

    return provide


@pytest.fixture(scope="session")
def fleet_addon(fleet_command: Callable[..., None]) -> Callable[..., None]:
    """Function: run the local fleet's command for add-ons."""
    return partial(fleet_command, "addon")


@pytest.fixture(scope="module")
def ocm_turn(fleet_kubeconfig: Path) -> Iterator[None]:
    """One file at a time has the fleet's Open Cluster Management: who starts, stops or changes it does so for all workers."""
    name = hashlib.sha256(str(fleet_kubeconfig).encode()).hexdigest()[:16]
    with (Path(tempfile.gettempdir()) / f"flower-fleet-ocm-{name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)  # the end of the process gives it back, too
        yield
