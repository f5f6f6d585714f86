# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What events may act on, and what counts as a change of a site."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.known_fleet import (
    Fleet,
    changes,
    from_inventory,
    from_names,
)
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row


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


@each_row(
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


@each_row(
    ("variables", "changed"),
    [
        ({"supernode_pools": []}, True),
        ({"ocm_labels": {"region": "eu"}}, True),
        ({"ocm_joined": True}, True),
        ({"ocm_labels": {HEALTH: "unhealthy"}}, False),
        ({"ocm_labels": {"clientapp.federated.flower/flower": "abc"}}, False),
        ({"ocm_labels": {"clientapp.federated.flower/other": "abc", "region": "eu"}}, True),
        ({"ocm_conditions": {"x": {}}, "ocm_availability": "unknown", "ocm_cpus": 4.0}, False),
    ],
)
def test_what_counts_as_a_change(variables: dict[str, Any], changed: bool) -> None:
    found = changes(fleet(a={}, b={}).sites, fleet(a=variables, c={}).sites)
    assert found == (["c"], ["a"] if changed else [], ["b"])


@each_row(
    ("hub", "site", "wanted"),
    [
        ({}, {}, ("flower",)),
        ({"flower_namespace": "trial"}, {"flower_namespace": "trial"}, ("trial",)),
        ({"flower_namespace": "trial", "superlink_namespace": "hub"}, {"flower_namespace": "trial", "supernode_namespace": "a"}, ("a", "hub")),
    ],
)
def test_namespaces_are_those_of_hub_and_sites(hub: dict[str, Any], site: dict[str, Any], wanted: tuple[str, ...]) -> None:
    listed = {
        "_meta": {"hostvars": {"hub": hub, "a": site, "other": {"flower_namespace": "elsewhere"}}},
        "flower_hub": {"hosts": ["hub"]},
        "flower_sites": {"hosts": ["a"]},
        "others": {"hosts": ["other"]},
    }
    assert from_inventory(listed, "flower_hub", "flower_sites").namespaces == wanted


def test_the_namespace_without_a_variable_is_that_of_the_roles() -> None:
    (namespace,) = from_names(["site-a"], "flower_hub", "flower_sites").namespaces
    for role in ("superlink", "supernode"):
        written = yaml_file("roles", role, "defaults", "main.yml")[f"{role}_namespace"]
        assert written == f"{{{{ flower_namespace | default('{namespace}') }}}}"
