# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What events may act on, and what counts as a change of a site."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.events.known_fleet import (
    Fleet,
    changes,
    from_inventory,
    from_names,
)


def fleet(**variables: dict[str, Any]) -> Fleet:
    """A fleet of some sites with variables, as ansible-inventory lists it: in groups that are children, one of them of itself."""
    sites = {name.replace("_", "-"): found for name, found in variables.items()}
    listed = {
        "_meta": {"hostvars": sites},
        "all": {"children": ["ungrouped", "flower_hub", "flower_sites"]},
        "flower_hub": {"hosts": ["hub"]},
        "flower_sites": {"children": ["eu"]},
        "eu": {"hosts": list(sites), "children": ["flower_sites"]},
    }
    return from_inventory(listed, "flower_hub", "flower_sites")


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("site-a", ""),
        ("eu", "has the name of a group"),
        ("all", "has the name of a group"),
        ("hub", "is not a site of the inventory"),
        ("site-b", "is not a site of the inventory"),
        ("site-a:!hub", "is not a name of a site"),
        ("site-a,hub", "is not a name of a site"),
        ("site-a\n", "is not a name of a site"),
        ("@file", "is not a name of a site"),
        ("-e", "is not a name of a site"),
        ("~.*", "is not a name of a site"),
        ("Site-A", "is not a name of a site"),
        ("", "is not a name of a site"),
        ("a" * 64, "is not a name of a site"),
    ],
)
def test_only_sites_of_the_inventory_become_a_limit(name: str, reason: str) -> None:
    found = fleet(site_a={}, eu={})
    assert reason in found.fault(name) if reason else found.fault(name) == ""


def test_names_that_are_given() -> None:
    found = from_names(["site-a", "all"], "flower_hub", "flower_sites")
    assert found.fault("site-a") == "" and found.fault("site-b") and found.fault("all") and found.fault("flower_sites")
    assert found.whole == ["flower_hub", "flower_sites"]


HEALTH = "feature.open-cluster-management.io/addon-x"


@pytest.mark.parametrize(
    ("variables", "changed"),
    [
        ({"supernode_pools": []}, True),
        ({"ocm_labels": {"region": "eu"}}, True),
        ({"ocm_joined": True}, True),
        ({"ocm_labels": {HEALTH: "unhealthy"}}, False),
        ({"ocm_conditions": {"x": {}}, "ocm_availability": "unknown", "ocm_cpus": 4.0}, False),
    ],
)
def test_what_counts_as_a_change(variables: dict[str, Any], changed: bool) -> None:
    found = changes(fleet(a={}, b={}).sites, fleet(a=variables, c={}).sites)
    assert (found.joined, found.changed, found.left) == (["c"], ["a"] if changed else [], ["b"])
