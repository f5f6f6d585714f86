# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Advanced Cluster Management observes as a policy, by the definitions of its own kinds."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import MANAGER
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.tests.unit import specs

ON = {"enabled": True, "image": "registry.example.com/flower-metrics:1", "monitor": True, "acm": True}
SETTINGS = {"remediation": "inform", "labels": {"local-cluster": "true"}}


@pytest.fixture
def rendered(superlink_spec):
    """Function: the objects of the policy, of a hub with some changes."""

    def make(settings=None, **changes):
        return specs.ocm_metrics_policy_objects(superlink_spec(**{"metrics": ON, **changes}), settings or SETTINGS)

    return make


def parts(objects):
    """Part -> ConfigurationPolicy."""
    listed = [one["objectDefinition"] for one in objects[1]["spec"]["policy-templates"]]
    return {item["metadata"]["name"].removeprefix("flower-metrics-"): item for item in listed}


def wanted(part):
    return [one["objectDefinition"] for one in part["spec"]["object-templates"]]


def test_every_object_is_taken_whole(rendered, schema_faults):
    placement, *policy = rendered()
    for item in [*policy, *parts([placement, *policy]).values()]:
        assert schema_faults("policies", item) == []
    assert schema_faults("ocm-0.16.0", placement) == [] == schema_faults("ocm-1.2.1", placement)


def test_golden(rendered, golden):
    objects = rendered()
    for part in parts(objects).values():  # their content has golden files of its own
        for item in wanted(part):
            item.pop("spec", None)
            item.pop("data", None)
    golden("acm-metrics-policy", objects)


def test_it_asks_for_what_is_deployed(rendered, parsed_hub):
    there = {(item["kind"], item["metadata"]["name"]): item for item in superlink.objects(parsed_hub(metrics=ON).complete())}
    found = parts(rendered())
    assert [item["kind"] for item in wanted(found["rules"])] == ["PodMonitor", "PrometheusRule"]
    assert [item["metadata"]["name"] for item in wanted(found["allow-list"])] == ["observability-metrics-custom-allowlist"]
    for item in (one for part in found.values() for one in wanted(part)):
        live = there[item["kind"], item["metadata"]["name"]]
        assert {key: live[key] for key in item if key != "metadata"} == {key: item[key] for key in item if key != "metadata"}
        assert item["metadata"]["labels"].items() <= live["metadata"]["labels"].items()


def test_the_next_deployment_takes_what_a_policy_has_created(rendered, parsed_hub):
    there = {(item["kind"], item["metadata"]["name"]): item for item in superlink.objects(parsed_hub(metrics=ON).complete())}
    for item in (one for part in parts(rendered()).values() for one in wanted(part)):
        live = {**item, "metadata": {**item["metadata"], "managedFields": [{"manager": "config-policy-controller", "operation": "Update"}]}}
        assert item["metadata"]["labels"][proof.MANAGED_BY] == MANAGER
        assert proof.fault(there[item["kind"], item["metadata"]["name"]], live) == ""


def test_no_release_is_in_it(rendered):
    assert rendered(version="1.40.0") == rendered(version="1.41.0")


def test_the_texts_of_alerts_reach_prometheus(rendered):
    objects = rendered()
    rules = wanted(parts(objects)["rules"])[1]
    assert "{{ $labels." in str(rules)
    for item in (objects[1], *parts(objects).values()):
        assert item["metadata"]["annotations"]["policy.open-cluster-management.io/disable-templates"] == "true"


def test_patches_are_in_it(rendered):
    patches = [{"target": {"kind": "PrometheusRule", "name": "superlink-metrics"}, "patch": {"metadata": {"labels": {"release": "corporate"}}}}]
    assert wanted(parts(rendered(patches=patches))["rules"])[1]["metadata"]["labels"]["release"] == "corporate"


def test_it_is_bound_to_the_cluster_of_the_hub(rendered):
    placement, policy, binding = rendered({"remediation": "enforce", "labels": {"name": "hub-eu"}})
    assert placement["spec"]["predicates"] == [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": "hub-eu"}}}}]
    assert binding["placementRef"]["name"] == placement["metadata"]["name"] and binding["subjects"][0]["name"] == policy["metadata"]["name"]
    assert {part["spec"]["remediationAction"] for part in parts([placement, policy, binding]).values()} == {"enforce"}


def test_without_a_list_of_metrics(rendered):
    assert list(parts(rendered(metrics={**ON, "acm": False}))) == ["rules"]


@pytest.mark.parametrize(("settings", "changes", "words"), [
    (SETTINGS, {"metrics": {}}, "superlink_metrics: there is nothing for a policy"),
    (SETTINGS, {"metrics": {**ON, "monitor": False, "acm": False}}, "superlink_metrics: there is nothing for a policy"),
    ({**SETTINGS, "remediation": "Enforce"}, {}, "flower_acm_remediation: 'Enforce' is not one of inform, enforce"),
    ({**SETTINGS, "labels": {}}, {}, "flower_acm_hub_labels: .*selects no ManagedCluster"),
    ({**SETTINGS, "labels": {"a b": "c"}}, {}, "flower_acm_hub_labels"),
    (SETTINGS, {"federation": "f" * 40, "namespace": "n" * 20}, "ACM accepts 62 characters without the dot"),
])  # fmt: skip
def test_what_cannot_be_a_policy_is_told(rendered, settings, changes, words):
    with pytest.raises(ClusterError, match=words):
        rendered(settings, **changes)
