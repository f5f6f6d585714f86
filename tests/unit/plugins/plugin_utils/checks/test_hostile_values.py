# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hostile values in every variable of hub and sites: each is rendered, or refused with host and variable; nothing ends unexpectedly."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_options import variable_faults
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.read import role_options
from ansible_collections.federated.flower.tests.unit.specs import superlink_faults, supernode_faults

SINGLE: list[Any] = [
    None, True, False, 0, -1, 2**31, 2**63, 10**30, 0.5, 1e308, float("inf"), float("nan"), "", " ", "X", "a b", "a\nb", "a\x00b", "\ud800", "\u00e9", "\u202e",
    "\u0663", "0777", "1_0", "1e9999999", "1e999999999", "1e-999999999", "9" * 5000, "-5", "5m", "1Gi", "9Ei", "null", "~", "no", "{{ x }}", "$(HOME)",
    "x" * 140000, "%s", "--insec", "-h", "--", "::1", "[::1]:1", "host:0", "u:p@h:1", "https://h", "0.0.0.0/0", "2026-01-01", "../..", "//tmp",
    "/tmp/../keys", "a:b", "kube-system", "acme/a@sha256:abc", "a/b:", specs.CA.replace("\n", " "), specs.CA.replace("MII", "AII", 1),
    "-----BEGIN CERTIFICATE-----",
]  # fmt: skip
KEYS: list[Any] = [
    "name", "value", "valueFrom", "image", "mountPath", "kind", "target", "patch", "type", "spec", "metadata", "labels", "cidr", "ports", "namespace",
    "replicas", "node_config", "gpu", "count", "requests", "limits", "memory", "claim", "new_claim", "size", "uri", "ca", "address", "containers", "env",
    "$patch", "op", "path", "", "a b", "\u00e9", "x" * 300, 5, None,
]  # fmt: skip
HOST = {"superlink": "hub", "supernode": "site-a"}
RENDER: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "superlink": (superlink_faults, lambda given: superlink.objects(HubSpec.parse(given).complete())),
    "supernode": (supernode_faults, lambda given: supernode.objects(SiteSpec.parse(given).complete())),
}


def anything(chance: random.Random, depth: int = 0) -> Any:
    """A single value, or a list or mapping of such."""
    form = chance.random()
    if depth > 3 or form < 0.55:
        return chance.choice(SINGLE)
    if form < 0.78:
        return [anything(chance, depth + 1) for _number in range(chance.randint(0, 3))]
    return {chance.choice(KEYS): anything(chance, depth + 1) for _number in range(chance.randint(0, 3))}


def variables(role: str) -> list[str]:
    """Variables of a role that are in its specification."""
    return sorted(name for name in role_options(role) if name.startswith(f"{role}_"))


def cases(role: str) -> Iterator[tuple[str, Any]]:
    """Several values for each variable; and 40 patches, templates and pools, which lie deepest."""
    chance = random.Random(20261127)
    for name in variables(role):
        yield from ((name, anything(chance)) for _number in range(3))
    named, deep = ("superlink", "superlink_pod_template") if role == "superlink" else ("supernode-default", "supernode_pools")
    for _number in range(20):
        body = {chance.choice(("spec", "metadata")): {chance.choice(("template", "replicas", "labels", "spec")): anything(chance)}}
        yield f"{role}_patches", [{"target": {"kind": "StatefulSet", "name": named}, "patch": chance.choice((body, anything(chance)))}]
        part = {chance.choice(("containers", "initContainers", "volumes", "restartPolicy")): anything(chance)}
        pool = {"name": "default", chance.choice(("env", "gpu", "resources", "volumes", "node_config", "extra_args", "image")): anything(chance)}
        yield deep, {"spec": part} if role == "superlink" else [pool]


@pytest.mark.parametrize("role", RENDER)
def test_each_is_rendered_or_refused_with_host_and_variable(role: str, superlink_spec: Any, supernode_spec: Any) -> None:
    faults, render = RENDER[role]
    accepted = refused = 0
    for variable, value in cases(role):
        found = [f"{HOST[role]}: {fault}" for fault in variable_faults({variable: value}.__getitem__, {variable}, (role,))]
        name = variable.removeprefix(f"{role}_")
        name = "superlink_address" if variable == "superlink_address" else name
        given = (superlink_spec if role == "superlink" else supernode_spec)(**{name: to_json_data(value)})
        found = found or faults(given)
        if found:
            refused += 1
            assert all(fault.startswith(f"{HOST[role]}: ") or HOST[role] in fault for fault in found), (variable, found)
            assert all(f"{role}_" in fault or "pool" in fault or "superlink_address" in fault for fault in found), (variable, value, found)
            assert all(len(fault) < 5000 for fault in found), variable
        else:
            accepted += 1
            json.dumps(render(given))
    assert accepted > 20 and refused > 200, (accepted, refused)
