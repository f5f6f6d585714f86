# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api

SET = "cluster.open-cluster-management.io/clusterset"


def test_joined() -> None:
    assert api.joined_selectors() == ""
    assert api.joined_selectors("", "a=b", "", "c in (d,e)") == "a=b,c in (d,e)"


@pytest.mark.parametrize(
    ("selector", "text"),
    [
        (None, ""),
        ({}, ""),
        ({"matchLabels": {"region": "eu", "gpu": ""}}, "gpu=,region=eu"),
        (
            {
                "matchLabels": {"region": "eu"},
                "matchExpressions": [
                    {"key": "gpu", "operator": "In", "values": ["a100", "h100"]},
                    {"key": "vendor", "operator": "NotIn", "values": ["OpenShift"]},
                    {"key": "flower", "operator": "Exists"},
                    {"key": "edge", "operator": "DoesNotExist", "values": None},
                ],
            },
            "region=eu,gpu in (a100,h100),vendor notin (OpenShift),flower,!edge",
        ),
    ],
)
def test_text(selector: Any, text: str) -> None:
    assert api.selector_text(selector) == text


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (None, f"{SET}=one"),
        ({"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}, f"{SET}=one"),
        ({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {}}}, ""),
        ({"clusterSelector": {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"a": "b"}}}}, "a=b"),
    ],
)
def test_cluster_sets(spec: Any, text: str) -> None:
    assert api.of_set({"metadata": {"name": "one"}, "spec": spec}) == text


def test_what_is_not_known_is_not_guessed() -> None:
    with pytest.raises(ValueError, match="unknown selectorType 'ByMoon'"):
        api.of_set({"metadata": {"name": "one"}, "spec": {"clusterSelector": {"selectorType": "ByMoon"}}})
    with pytest.raises(ValueError, match="unknown operator 'Gt'"):
        api.selector_text({"matchExpressions": [{"key": "cpus", "operator": "Gt", "values": ["3"]}]})
