# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import placements

GROUP = "cluster.open-cluster-management.io"


def part(names: list[str], **labels: str) -> dict[str, Any]:
    """A PlacementDecision."""
    return {
        "metadata": {"labels": {f"{GROUP}/{key.replace('_', '-')}": value for key, value in labels.items()}},
        "status": {"decisions": [{"clusterName": name, "reason": ""} for name in names]},
    }


def placement(selected: int, *conditions: tuple[str, str, str, str]) -> dict[str, Any]:
    """A Placement with its status."""
    keys = ("type", "status", "reason", "message")
    status = {"numberOfSelectedClusters": selected, "conditions": [dict(zip(keys, one)) for one in conditions]}
    return {"metadata": {"name": "p", "namespace": "flower"}, "status": status}


def test_all_slices_count() -> None:
    found = placements.decisions(
        [
            part(["a", "b"], decision_group_name="canary", decision_group_index="0"),
            part(["c", ""], decision_group_name="", decision_group_index="1"),
            part(["d"], decision_group_index="1"),
            part(["e"]),
            part(["f"], decision_group_index="first"),
            {"metadata": {"name": "new"}},
        ]
    )
    assert {name: (one["ocm_decision_group"], one["ocm_decision_group_index"]) for name, one in found.items()} == {
        "a": ("canary", 0),
        "b": ("canary", 0),
        "c": ("", 1),
        "d": ("", 1),
        "e": ("", 0),
        "f": ("", 0),
    }


@pytest.mark.parametrize(
    ("item", "found", "words"),
    [
        (placement(3), 3, ""),
        (placement(2), 3, ""),
        (placement(150), 100, "has selected 150 clusters, but its decisions list only 100 so far"),
        ({"metadata": {"name": "p", "namespace": "flower"}}, 0, "does the placement controller run on the hub?"),
        (placement(0, ("PlacementSatisfied", "True", "AllDecisionsScheduled", "")), 0, "has selected no cluster"),
        (
            placement(
                0,
                ("PlacementMisconfigured", "False", "Succeedconfigured", "Placement configurations check pass"),
                ("PlacementSatisfied", "False", "NoManagedClusterSetBindings", "No valid ManagedClusterSetBindings found"),
            ),
            0,
            "no cluster: No valid ManagedClusterSetBindings found. A ManagedClusterSetBinding in the namespace flower binds",
        ),
        (
            placement(0, ("PlacementMisconfigured", "True", "InvalidSelector", "bad selector")),
            0,
            "has selected no cluster: bad selector",
        ),
        (placement(0, ("PlacementSatisfied", "False", "NoManagedClusterMatched", "")), 0, "NoManagedClusterMatched"),
    ],
)  # fmt: skip
def test_remarks(item: dict[str, Any], found: int, words: str) -> None:
    told = placements.remark(item, found)
    assert words in told
    assert bool(told) == bool(words)
