# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Other hubs of a cluster."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import labels
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import ca_namespace


class Hubs:
    """A cluster with the hub of federation C(demo) in namespace C(flower), and whether that may be listed."""

    def __init__(self, *, allowed: bool) -> None:
        self.allowed = allowed

    def access_review(self, asked: list[Any]) -> list[bool]:
        return [self.allowed for _one in asked]

    def list(self, *_kind: str, labels: str) -> list[dict[str, Any]]:
        assert "component=clients" in labels
        return [{"metadata": {"namespace": "flower", "labels": RECORD}}]


RECORD = labels.record_labels("demo", "superlink", "clients")


@pytest.mark.parametrize(
    ("namespace", "federation", "allowed", "warned"),
    [("lab", "demo", True, True), ("flower", "demo", True, False), ("lab", "other", True, False), ("lab", "demo", False, False)],
)
def test_a_second_hub_of_a_federation_is_warned_of(namespace: str, federation: str, allowed: bool, warned: bool) -> None:
    cluster: Any = Hubs(allowed=allowed)
    found = ca_namespace.second_hub(cluster, namespace, federation)
    assert found.startswith("the federation demo already has a hub in namespace flower of this cluster.") is warned and bool(found) is warned
