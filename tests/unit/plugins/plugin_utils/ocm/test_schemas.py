# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What goes to a hub, and what is decided by its schema, with the definitions of the oldest and of a newer release."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import site_jobs
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    addon_objects,
    api,
    delivery,
    key_work,
    nodes_work,
)
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.read import schemas_of
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import ocm_addon_objects

OLD, NEW = "ocm-0.16.0", "ocm-1.2.1"
OWNER = {"metadata": {"name": "flower-supernode", "uid": "1-2-3"}}
LABELS = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"gpu": "a100"}}}}
CLAIMS = {"requiredClusterSelector": {"claimSelector": {"matchExpressions": [{"key": "region", "operator": "Exists"}]}}}
CEL = {"requiredClusterSelector": {"celSelector": {"celExpressions": ["managedCluster.metadata.name == 'a'"]}}}
RICH = {
    "predicates": [LABELS, CLAIMS],
    "number_of_clusters": 100,
    "prioritizers": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Spread"}, "weight": 3}],
    "spread": [{"topologyKey": "region", "topologyKeyType": "Label", "maxSkew": 1}],
    "decision_groups": {"clustersPerDecisionGroup": "25%"},
    "tolerations": [{"key": "maintenance", "operator": "Exists"}],
    "rollout": {
        "type": "Progressive",
        "progressive": {"maxConcurrency": "10%", "minSuccessTime": "5m", "maxFailures": 1},
    },
}


def document(name: str) -> dict[str, Any]:
    """The OpenAPI document of a hub of that release, as far as it is looked at."""
    kinds = schemas_of(name)
    found = {kind: {**one, "x-kubernetes-group-version-kind": [{"kind": kind}]} for kind, one in kinds.items()}
    return {"components": {"schemas": found}}


def of_a_site(spec: Any) -> list[dict[str, Any]]:
    common, own = delivery.split(specs.supernode_objects(spec))
    configs = addon_objects.configs(spec, common)
    secrets = site_jobs.secret_names(pool.name for pool in spec.pools)
    request = {"secrets": secrets, "pools": [], "owner": {"uid": "7-8-9"}}
    return [
        *configs,
        addon_objects.managed_addon(spec, [addon_objects.config_reference(item) for item in configs]),
        key_work.idle_work(spec, secrets, OWNER),
        key_work.keygen_work(spec, request, {"plugin_utils/maker.py": "print()\n"}, 60, OWNER),
        nodes_work.build(spec, own, OWNER),
    ]


@each_row("name", [OLD, NEW])
@each_row("changes", [{}, RICH, {"install": "Manual"}, {"create_namespace": False}])
def test_the_add_on_is_taken_whole(name, changes, ocm_addon_spec, schema_faults):
    for item in ocm_addon_objects(ocm_addon_spec(**changes)):
        assert schema_faults(name, item) == []


@each_row("name", [OLD, NEW])
@each_row(
    "changes", [{}, {"annotations": {"a": '{{X}} "quoted" \n 東京 🌷'}}, {"create_namespace": False}]
)
def test_what_a_site_gets_is_taken_whole(name, changes, parsed_ocm_site, schema_faults):
    for item in of_a_site(parsed_ocm_site(**changes)):
        assert schema_faults(name, item) == []


def test_what_a_release_knows(ocm_addon_spec):
    old, new = document(OLD), document(NEW)
    assert (api.supports_watch(old), api.supports_watch(new)) == (False, True)
    assert (api.supports_replica_set_watch(old), api.supports_replica_set_watch(new)) == (False, True)
    assert (api.supports_replica_set_rules(old), api.supports_replica_set_rules(new)) == (False, True)
    assert [api.unknown_selectors(one, [LABELS, CLAIMS, CEL]) for one in (old, new)] == [["celSelector"], []]


SET = "cluster.open-cluster-management.io/clusterset"


@each_row(
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


@each_row(
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
