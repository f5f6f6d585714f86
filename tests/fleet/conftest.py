# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Markers and fixtures of the fleet's own tests."""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from flower_fleet.clusters import lifecycle
from support import SETTINGS, api, fleet, subnet, until

MARKERS = {
    "fleet": "needs the local fleet; starts it if it does not run, and leaves it running",
    "fleet_lifecycle": "stops the running fleet, kills starts half-way; only run with -m fleet_lifecycle",
    "soak": "takes many minutes; `make soak` runs it",
}


def pytest_configure(config: pytest.Config) -> None:
    """Register the markers."""
    for name, text in MARKERS.items():
        config.addinivalue_line("markers", f"{name}: {text}")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave the disturbing tests out unless they are asked for by name."""
    if "fleet_lifecycle" in (config.getoption("markexpr") or ""):
        return
    skip = pytest.mark.skip(reason="stops the fleet; run with -m fleet_lifecycle")
    for item in items:
        if item.get_closest_marker("fleet_lifecycle"):
            item.add_marker(skip)


@pytest.fixture(scope="module")
def running() -> list[str]:
    """Names of the clusters, all running."""
    fleet("up")
    return [item.name for item in lifecycle.existing(SETTINGS.state, subnet())]


@pytest.fixture
def space(running: list[str]) -> Iterator[str]:
    """A namespace of the test's own in every cluster."""
    name = f"fleet-test-{uuid.uuid4().hex[:8]}"
    for cluster in running:
        api(cluster).apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
        until(partial(api(cluster).get, f"/api/v1/namespaces/{name}/serviceaccounts/default"))
    yield name
    for cluster in running:
        api(cluster).request("DELETE", f"/api/v1/namespaces/{name}")
