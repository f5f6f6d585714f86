# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What Advanced Cluster Management observes and the security baseline as policies, by the definitions of its own kinds."""

from __future__ import annotations

import json
import re

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import MANAGER
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import superlink
from ansible_collections.federated.flower.plugins.plugin_utils.marks import proof
from ansible_collections.federated.flower.tests.unit import specs
from ansible_collections.federated.flower.tests.unit.rows import each_row

ON = {"enabled": True, "monitor": True, "acm": True}
SETTINGS = {"remediation": "inform", "labels": {"local-cluster": "true"}}


@pytest.fixture
def rendered(superlink_spec):
    """Function: the objects of the policy, of a hub with some changes."""

    def make(settings=None, **changes):
        return specs.ocm_metrics_policy_objects(superlink_spec(**{"metrics": ON, **changes}), settings or SETTINGS)

    return make


def parts(objects):
    """Part -> ConfigurationPolicy."""
    (policy,) = [one for one in objects if one["kind"] == "Policy"]
    listed = [one["objectDefinition"] for one in policy["spec"]["policy-templates"]]
    return {re.sub("^flower-(baseline|metrics)-", "", item["metadata"]["name"]): item for item in listed}


def wanted(part):
    """The objects that a part looks for."""
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


def test_patches_are_in_it(rendered):
    patches = [{"target": {"kind": "PrometheusRule", "name": "superlink-metrics"}, "patch": {"metadata": {"labels": {"release": "corporate"}}}}]
    assert wanted(parts(rendered(patches=patches))["rules"])[1]["metadata"]["labels"]["release"] == "corporate"


def test_it_is_bound_to_the_cluster_of_the_hub(rendered):
    placement, policy, binding = rendered({"remediation": "enforce", "labels": {"name": "hub-eu"}})
    assert placement["spec"]["predicates"] == [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"name": "hub-eu"}}}}]
    assert binding["placementRef"]["name"] == placement["metadata"]["name"] and binding["subjects"][0]["name"] == policy["metadata"]["name"]
    assert {part["spec"]["remediationAction"] for part in parts([placement, policy, binding]).values()} == {"enforce"}


@each_row(("settings", "changes", "words"), [
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


VARIANTS = {
    "default": {},
    "enforce": {"policy_remediation": "enforce"},
    "someone-elses": {"create_namespace": False, "network_policies": False},
}


@each_row("name", VARIANTS)
def test_every_object_of_the_baseline_is_taken_whole(name, ocm_addon_spec, schema_faults):
    objects = specs.ocm_policy_objects(ocm_addon_spec(**VARIANTS[name]))
    for item in [*objects, *parts(objects).values()]:
        assert schema_faults("policies", item) == []


def test_golden_of_the_baseline(ocm_addon_spec, golden):
    golden("acm-policy", specs.ocm_policy_objects(ocm_addon_spec()))


@pytest.mark.parametrize("changes", [{}, {"create_namespace": False}])
def test_sites_have_what_it_asks_for(changes, ocm_addon_spec, ocm_site_spec):
    there = specs.supernode_objects(ocm_site_spec(**changes))
    found = parts(specs.ocm_policy_objects(ocm_addon_spec(**changes)))
    for item in [one for name in ("namespace", "network") if name in found for one in wanted(found[name])]:
        assert any(_has(other, item) for other in there), item


def test_sites_have_nothing_that_it_forbids(ocm_addon_spec, ocm_site_spec):
    found = parts(specs.ocm_policy_objects(ocm_addon_spec()))
    pods = [
        item["spec"]["template"]["spec"]
        for item in specs.supernode_objects(ocm_site_spec())
        if item["kind"] == "StatefulSet"
    ]
    assert pods and not any(_has(pod, one["spec"]) for pod in pods for one in wanted(found["pods"]))


def _has(there, asked):
    """The rule of musthave: a list has to have entries that have what is asked for."""
    if isinstance(asked, dict):
        return isinstance(there, dict) and all(key in there and _has(there[key], value) for key, value in asked.items())
    if isinstance(asked, list):
        return isinstance(there, list) and all(any(_has(one, entry) for one in there) for entry in asked)
    return there == asked


def test_what_must_not_be_there_is_never_deleted(ocm_addon_spec):
    objects = specs.ocm_policy_objects(ocm_addon_spec(policy_remediation="enforce"))
    assert "remediationAction" not in objects[0]["spec"]  # it would be that of all parts
    for name, part in parts(objects).items():
        kinds = {one["complianceType"] for one in part["spec"]["object-templates"]}
        assert part["spec"]["remediationAction"] == ("enforce" if kinds == {"musthave"} else "inform"), name


def test_no_template_engine_gets_anything(ocm_addon_spec):
    hostile = {"annotations": {"a": "{{hub fromSecret hub}}"}, "labels": {"b": "c"}}
    objects = specs.ocm_policy_objects(ocm_addon_spec(**hostile))
    assert "{{" not in json.dumps(objects)
    for item in (objects[0], *parts(objects).values()):
        assert item["metadata"]["annotations"]["policy.open-cluster-management.io/disable-templates"] == "true"


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"federation": "f" * 40, "namespace": "n" * 20}, "ACM accepts 62 characters without the dot"),
        ({"install": "Manual"}, "leaves the hub without a Placement"),
    ],
)
def test_what_cannot_be_a_baseline_is_told(changes, words, ocm_addon_spec):
    with pytest.raises(ClusterError, match=words):
        specs.ocm_policy_objects(ocm_addon_spec(**changes))
