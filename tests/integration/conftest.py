# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The fleet that the integration tests run on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import yaml


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
