# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of what goes through Open Cluster Management are found without a cluster, and name variable and value."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.base.problems import messages
from ansible_collections.federated.flower.plugins.plugin_utils.checks.ocm_rules import addon_problems
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.specs import supernode_faults


def predicate(**selector):
    return [{"requiredClusterSelector": selector}]


def rollout(kind="Progressive", **options):
    return {"type": kind, "progressive": options}


@each_row(
    ("changes", "words"),
    [
        ({"name": "Flower"}, "ocm_addon_name: 'Flower' is not a DNS-1123 label"),
        ({"name": "x" * 60}, "ocm_addon_name: " + repr("x" * 60) + " has 60 characters"),
        ({"install": "placements"}, "ocm_addon_install: 'placements' is not one of Placements, Manual"),
        ({"cluster_sets": []}, "ocm_addon_cluster_sets: [] is empty"),
        ({"cluster_sets": ["A b"]}, "ocm_addon_cluster_sets[0]: 'A b' is not a DNS name"),
        ({"number_of_clusters": "many"}, "ocm_addon_number_of_clusters: 'many' is not an integer"),
        (
            {"predicates": [{"labelSelector": {}}]},
            "ocm_addon_predicates[0]: {'labelSelector': {}} has no requiredClusterSelector",
        ),
        ({"predicates": predicate(claimSelector={"matchLabels": {"a": "b"}})}, "supports matchExpressions only"),
        (
            {"predicates": predicate(labelSelector={"matchExpressions": [{"key": "a", "operator": "="}]})},
            "'=' is not one of In",
        ),
        ({"predicates": predicate(labelSelector={"matchExpressions": [{"operator": "In"}]})}, "has no key"),
        (
            {"predicates": predicate(labelSelector={"matchLabels": ["gpu=a100"]})},
            "ocm_addon_predicates[0].labelSelector.matchLabels: ['gpu=a100'] is not a mapping",
        ),
        (
            {"predicates": predicate(labelSelector={"matchLabels": {"gpu": None}})},
            "labelSelector.matchLabels[gpu]: None is dropped by Kubernetes, and more clusters would be selected",
        ),
        ({"predicates": predicate(labelSelector={"matchExpressions": {"key": "a"}})}, "matchExpressions: {'key': 'a'} is not a list"),
        (
            {"predicates": predicate(labelSelector={"matchExpressions": [{"key": "a", "operator": "In", "values": "b"}]})},
            "matchExpressions[0].values: 'b' is not a list",
        ),
        ({"prioritizers": [{"weight": 1}]}, "ocm_addon_prioritizers[0]: {'weight': 1} has no scoreCoordinate"),
        ({"prioritizers": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Gpu"}}]}, "'Gpu' is not one of Balance"),
        (
            {"prioritizers": [{"scoreCoordinate": {"type": "BuiltIn", "builtIn": "Steady"}, "weight": 11}]},
            "not between -10 and 10",
        ),
        ({"spread": [{"maxSkew": 1}]}, "has no topologyKey"),
        ({"spread": [{"topologyKey": "region", "topologyKeyType": "Zone"}]}, "'Zone' is not one of Label, Claim"),
        ({"rollout": {"type": "Slow"}}, "ocm_addon_rollout.type: 'Slow' is not one of All, Progressive"),
        ({"rollout": {"type": "All", "progressive": {}}}, "cannot be combined with type All; write all"),
        (
            {"rollout": rollout(maxConcurrency="few")},
            "ocm_addon_rollout.maxConcurrency: 'few' is neither a number nor a percentage",
        ),
        ({"rollout": rollout(maxConcurrency=0)}, "ocm_addon_rollout.maxConcurrency: 0 stands for all clusters at once"),
        ({"rollout": rollout(maxConcurrency="0%")}, "ocm_addon_rollout.maxConcurrency: '0%' stands for all clusters at once"),
        ({"rollout": rollout(progressDeadline="soon")}, "ocm_addon_rollout.progressDeadline: 'soon' is not a duration"),
        ({"install": "Manual", "rollout": rollout()}, "has no effect without a Placement"),
        ({"tolerations": ["x"]}, "ocm_addon_tolerations[0]: 'x' is not a mapping"),
    ],
)
def test_a_fault_of_the_add_on_is_told(changes, words, ocm_addon_spec):
    found = messages(addon_problems(ocm_addon_spec(**changes)))
    assert any(words in fault for fault in found), found
    assert all(fault.startswith("hub: ") for fault in found)


def test_good_add_ons_have_no_faults(ocm_addon_spec):
    for changes in (
        {},
        {"install": "Manual", "cluster_sets": []},
        {"rollout": rollout(maxConcurrency=1, minSuccessTime="5m", progressDeadline="10m", maxFailures="10%")},
        {"predicates": predicate(celSelector={"celExpressions": ["true"]})},
    ):
        assert addon_problems(ocm_addon_spec(**changes)) == []


@each_row(
    ("changes", "words"),
    [
        ({"ocm_cluster": "Cluster A"}, "supernode_ocm_cluster: 'Cluster A' is not a DNS name"),
        ({"ocm_addon": ""}, "supernode_ocm_addon: '' is not a DNS-1123 label"),
        (
            {"connectivity": "skupper", "superlink_address": "flower-superlink:9092"},
            "site-a: flower_delivery: 'ocm' cannot be combined with flower_connectivity: skupper",
        ),
        (
            {"pools": [{"name": "edge", "mode": "DaemonSet"}]},
            "supernode_pools[0].mode: 'DaemonSet' needs a key for each node",
        ),
    ],
)
def test_a_fault_of_a_site_is_told(changes, words, ocm_site_spec):
    found = supernode_faults(ocm_site_spec(**changes))
    assert any(words in fault for fault in found), found


def test_a_site_that_is_reached_directly_is_not_asked_for_what_it_does_not_need(supernode_spec, ocm_site_spec):
    assert supernode_faults(supernode_spec(ocm_cluster="Cluster A", ocm_addon="")) == []
    assert supernode_faults(ocm_site_spec()) == []
