# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The security baseline as a policy of Advanced Cluster Management, by the definitions of its own kinds."""

from __future__ import annotations

import json

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import acm_policies, addon_objects
from ansible_collections.federated.flower.tests.unit import specs

VARIANTS = {
    "default": {},
    "enforce": {"policy_remediation": "enforce"},
    "someone-elses": {"create_namespace": False, "network_policies": False},
}


def parts(objects):
    """Part -> ConfigurationPolicy."""
    listed = [one["objectDefinition"] for one in objects[0]["spec"]["policy-templates"]]
    return {item["metadata"]["name"].removeprefix("flower-baseline-"): item for item in listed}


def wanted(part):
    """The objects that a part looks for."""
    return [one["objectDefinition"] for one in part["spec"]["object-templates"]]


@pytest.mark.parametrize("name", VARIANTS)
def test_every_object_is_taken_whole(name, ocm_addon_spec, schema_faults):
    objects = specs.ocm_policy_objects(ocm_addon_spec(**VARIANTS[name]))
    for item in [*objects, *parts(objects).values()]:
        assert schema_faults("policies", item) == []


def test_golden(ocm_addon_spec, golden):
    golden("acm-policy", specs.ocm_policy_objects(ocm_addon_spec()))


def test_it_is_bound_to_the_clusters_of_the_add_on(ocm_addon_spec, parsed_addon):
    policy, binding = specs.ocm_policy_objects(ocm_addon_spec(placement="oncology-sites"))
    placement = addon_objects.placement(parsed_addon(placement="oncology-sites"))
    assert binding["placementRef"]["name"] == placement["metadata"]["name"]
    assert binding["metadata"]["namespace"] == policy["metadata"]["namespace"] == placement["metadata"]["namespace"]


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
        ({"policy_remediation": "Enforce"}, "ocm_addon_policy_remediation: 'Enforce' is not one of inform, enforce"),
        ({"federation": "f" * 40, "namespace": "n" * 20}, "ACM accepts 62 characters without the dot"),
        ({"install": "Manual"}, "leaves the hub without a Placement"),
    ],
)
def test_what_cannot_be_a_policy_is_told(changes, words, ocm_addon_spec):
    with pytest.raises(ClusterError, match=words):
        specs.ocm_policy_objects(ocm_addon_spec(**changes))


def test_names_of_clusters_leave_room(ocm_addon_spec):
    spec = ocm_addon_spec(federation="f" * 30, namespace="n" * 23)
    assert len(acm_policies.baseline_policy_name(spec["federation"])) + len(spec["namespace"]) == acm_policies.MAX_NAMES
    assert specs.ocm_policy_objects(spec)
