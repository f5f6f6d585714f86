# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How a site is reached is one answer, from one pair of variables."""

from __future__ import annotations

import importlib
import inspect

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.checks.variables import faults as unknown
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import (
    DELIVERIES,
    Delivery,
    access_of,
    sites_with,
)
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import SiteBackend
from ansible_collections.federated.flower.tests.unit.rows import each_row


@each_row(
    ("variables", "way"),
    [
        ({}, SiteAccess("direct", "controller", "direct")),
        ({"flower_key_source": "site"}, SiteAccess("direct", "site", "direct")),
        ({"flower_delivery": "ocm"}, SiteAccess("ocm", "site", "direct")),
        ({"flower_connectivity": "skupper", "flower_delivery": ""}, SiteAccess("direct", "controller", "skupper")),
    ],
)
def test_defaults(variables: dict[str, str], way: SiteAccess) -> None:
    assert access_of(variables) == way


@each_row(
    ("variables", "words"),
    [
        ({"flower_delivery": "mail"}, "flower_delivery: 'mail' is not one of direct, ocm, bundle"),
        (
            {"flower_delivery": "ocm", "flower_key_source": "controller"},
            "flower_key_source: 'controller' is not one of site where",
        ),
        ({"flower_connectivity": ["direct", "skupper"]}, "flower_connectivity: .* is not one of direct, skupper"),
        (
            {"supernode_delivery": "ocm"},
            "supernode_delivery: 'ocm' contradicts flower_delivery: 'direct', .* set flower_delivery to 'ocm' for this host",
        ),
        (
            {"supernode_key_source": "site"},
            "supernode_key_source: 'site' contradicts flower_key_source: 'controller', .* or remove supernode_key_source",
        ),
        (
            {"supernode_connectivity": "direct", "flower_connectivity": "skupper"},
            "supernode_connectivity: 'direct' contradicts flower_connectivity: 'skupper'",
        ),
        ({"supernode_delivery": "ocm", "supernode_key_source": "site"}, "supernode_delivery: .*; supernode_key_source: "),
    ],
)
def test_wrong_words(variables: dict[str, object], words: str) -> None:
    with pytest.raises(ClusterError, match=words):
        access_of(variables)


@each_row(
    "variables",
    [
        {"supernode_delivery": "direct", "supernode_key_source": "controller", "supernode_connectivity": "direct"},
        {"supernode_delivery": "ocm", "supernode_key_source": "site", "flower_delivery": "ocm"},
        {"supernode_connectivity": "", "supernode_delivery": None},
    ],
)
def test_a_former_variable_that_agrees_is_harmless(variables: dict[str, object]) -> None:
    assert access_of(variables) == access_of({key: value for key, value in variables.items() if key.startswith("flower_")})
    assert unknown("site-a", variables) == []


def test_playbooks_ask_the_same_question() -> None:
    hostvars = {
        "a": {"flower_delivery": "ocm"},
        "b": {"supernode_delivery": "ocm"},
        "c": {"flower_connectivity": "skupper"},
        "d": {"flower_clientapp": "workload"},
    }
    assert sites_with(hostvars, ["a", "b", "c", "unknown"], delivery="ocm") == ["a"]
    assert sites_with(hostvars, ["a", "b", "c"], delivery="direct") == ["c"]
    assert sites_with(hostvars, ["a", "b", "c"], connectivity="skupper") == ["c"]
    assert sites_with({**hostvars, "a": {**hostvars["a"], "flower_clientapp": "workload"}}, "ad", delivery="ocm", clientapp="workload") == ["a"]
    assert sites_with({}, ["a"], clientapp="workload") == []


def parameters(function: object) -> list[tuple[str, object, object]]:
    """What a method takes, and how."""
    found = inspect.signature(function).parameters.values()
    return [(one.name, one.kind, one.default) for one in found if one.name != "self"]


@each_row("delivery", DELIVERIES)
def test_every_delivery_is_called_alike(delivery: str) -> None:
    module = importlib.import_module(f"{SiteBackend.__module__.rpartition('.')[0]}.{DELIVERIES[delivery].module}")
    methods = {name: one for name, one in vars(SiteBackend).items() if inspect.isfunction(one) and not name.startswith("_")}
    assert len(methods) > 10
    for name, wanted in methods.items():
        assert parameters(getattr(module.Backend, name)) == parameters(wanted), name
    assert parameters(module.statuses) == parameters(Delivery.statuses)
