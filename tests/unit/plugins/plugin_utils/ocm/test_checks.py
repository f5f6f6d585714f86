# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What keeps objects from a managed cluster is found before anything is changed, and told with the way out."""

from __future__ import annotations

import copy
from dataclasses import replace
from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, api, checks, hub_reader


def kind(name, properties):
    return {"x-kubernetes-group-version-kind": [{"kind": name}], "properties": {"spec": {"properties": properties}}}


def listed(properties):
    return {"items": {"properties": properties}}


def placement_api(*selectors):
    chosen = {"properties": {name: {"type": "object"} for name in selectors}}
    predicates = {"predicates": listed({"requiredClusterSelector": chosen})}
    return {"components": {"schemas": {"x.Placement": kind("Placement", predicates)}}}


OLD = placement_api("labelSelector", "claimSelector")
NEW = placement_api("labelSelector", "claimSelector", "celSelector")


def test_a_selector_that_the_hub_would_drop_is_refused(parsed_addon):
    cel = [{"requiredClusterSelector": {"celSelector": {"celExpressions": ["true"]}}}]
    (fault,) = checks.dropped_selectors(parsed_addon(predicates=cel), OLD)
    assert "celSelector" in fault and "select every cluster" in fault
    assert checks.dropped_selectors(parsed_addon(predicates=cel), NEW) == []
    assert checks.dropped_selectors(parsed_addon(predicates=cel, install="Manual"), OLD) == []


def test_missing_kinds_are_named_together():
    assert checks.missing_kinds([]) == []
    (fault,) = checks.missing_kinds([(api.ADDONS, "AddOnTemplate"), (api.WORKS, "ManifestWork")])
    assert (
        "AddOnTemplate (addon.open-cluster-management.io/v1alpha1), ManifestWork" in fault
        and "clusteradm init" in fault
    )


def manager(*gates, part="addOnManagerConfiguration"):
    return {"metadata": {"name": "cluster-manager"}, "spec": {part: {"featureGates": list(gates)}}}


def test_a_gate_that_is_off_is_named_with_its_place():
    assert (
        checks.gates(None)
        == checks.gates(manager())
        == checks.gates(manager({"feature": "Other", "mode": "Disable"}))
        == []
    )
    (fault,) = checks.gates(manager({"feature": "AddonManagement", "mode": "Disable"}))
    assert "spec.addOnManagerConfiguration.featureGates" in fault and "leave the other entries" in fault


def test_someone_elses_add_on_is_left_alone(parsed_addon):
    spec = parsed_addon()
    own = addon_objects.addon_objects(spec)[-1]
    assert checks.foreign(spec, None) == checks.foreign(spec, own) == []
    other = copy.deepcopy(own)
    other["metadata"]["labels"]["app.kubernetes.io/instance"] = "oncology"
    assert "belongs to the federation oncology" in checks.foreign(spec, other)[0]
    assert "belongs to someone else: set flower_ocm_addon" in checks.foreign(spec, {"metadata": {"name": "flower-supernode"}})[0]
    assert checks.foreign(spec, {"metadata": {"name": "x"}}) == []


def test_the_add_on_of_a_federation_of_the_same_name_is_left_alone(parsed_addon):
    """A copy of an inventory with another namespace, on the same hub."""
    spec = parsed_addon()
    own = addon_objects.addon_objects(spec)[-1]
    staging = replace(spec, namespace="staging")
    (fault,) = checks.foreign(staging, own)
    for words in ("flower-supernode", "in the namespace flower,", "flower_namespace is staging", "flower_federation", "flower_claim_sites=true"):
        assert words in fault
    assert checks.foreign(staging, own, claim=True) == []
    # Another name of the add-on alone does not help: labels of clusters and templates have the federation's.
    assert checks.foreign(replace(staging, name="other"), own) == [fault]
    assert checks.foreign(replace(staging, federation="staging", name="staging-supernode"), own) == []
    # What has no default config says nothing of a namespace.
    bare = {**own, "spec": {}}
    assert checks.foreign(staging, bare) == []


def test_another_name_of_the_add_on_is_refused(parsed_addon):
    """OCM deletes an add-on of the former name in all clusters, and the keys of the sites with it."""
    spec = parsed_addon()
    own = addon_objects.addon_objects(spec)[-1]
    for claim in (False, True):
        (fault,) = checks.foreign(replace(spec, name="renamed"), own, claim=claim)
        assert f"set flower_ocm_addon to {spec.name}." in fault and f"kubectl delete clustermanagementaddon {spec.name}" in fault


def test_an_addon_of_another_federation_or_host_is_refused(parsed_ocm_site):
    spec = parsed_ocm_site()
    own = addon_objects.managed_addon(spec, [])
    assert checks.owner_problems(spec, None) == checks.owner_problems(spec, own) == checks.owner_problems(spec, {"metadata": {"name": "x"}}) == []
    assert (
        "of the federation oncology"
        in checks.owner_problems(spec, addon_objects.managed_addon(replace(spec, federation="oncology"), []))[0]
    )
    (fault,) = checks.owner_problems(spec, addon_objects.managed_addon(replace(spec, cluster="renamed"), []))
    assert "is the site renamed of this federation" in fault and "flower_claim_sites" in fault


def test_a_site_of_a_federation_of_the_same_name_in_another_namespace_is_refused(parsed_ocm_site):
    spec = parsed_ocm_site()
    references = [addon_objects.config_reference(item) for item in addon_objects.configs(spec, [])]
    own = addon_objects.managed_addon(spec, references)
    assert checks.owner_problems(spec, own) == []
    (fault,) = checks.owner_problems(replace(spec, hub_namespace="staging"), own)
    for words in ("cluster-a", "in the namespace flower,", "flower_namespace is staging", "flower_claim_sites=true takes the site over"):
        assert words in fault


def test_a_cluster_set_that_is_not_there_or_not_bound_is_named(parsed_addon):
    spec = parsed_addon(cluster_sets=["a", "b", "c"], bind_cluster_sets=False)
    found = checks.bindings(spec, ["a", "b"], ["a"])
    assert len(found) == 2
    assert (
        "clusteradm clusterset bind b --namespace flower" in found[0]
        and "no ManagedClusterSet c; there are a, b" in found[1]
    )
    assert len(checks.bindings(replace(spec, bind_cluster_sets=True), ["a", "b"], [])) == 1


@pytest.mark.parametrize(
    ("conditions", "requests", "words"),
    [
        ([("HubAcceptedManagedCluster", "True"), ("ManagedClusterJoined", "True")], [], ""),
        ([("HubAcceptedManagedCluster", "True")], ["csr-1"], "request csr-1 is not approved"),
        ([("HubAcceptedManagedCluster", "True")], [], "check that its klusterlet is running"),
        ([("HubAcceptedManagedCluster", "True"), ("ManagedClusterJoined", "True")], ["csr-1"], "loses its access"),
    ],
)
def test_each_state_of_a_cluster_has_its_remedy(conditions, requests, words, status):
    live = status.cluster()
    live["status"]["conditions"] = [status.condition(*one) for one in conditions]
    found = checks.cluster("cluster-a", live, requests)
    assert found == [] if not words else words in found[0]


def test_a_cluster_that_is_not_there_not_accepted_or_leaving(status):
    assert "clusteradm join --cluster-name cluster-a" in checks.cluster("cluster-a", None)[0]
    stranger = status.cluster(spec={})
    stranger["status"]["conditions"] = []
    assert "clusteradm accept --clusters cluster-a" in checks.cluster("cluster-a", stranger)[0]
    leaving = status.cluster()
    leaving["metadata"]["deletionTimestamp"] = "now"
    assert "being detached" in checks.cluster("cluster-a", leaving)[0]


def test_a_request_of_an_add_on_that_nobody_approves_stops_no_site(parsed_ocm_site, status):
    """It has the label of the cluster as well (ocm, pkg/registration/register/csr)."""
    own = {"open-cluster-management.io/cluster-name": "cluster-a"}
    requests = [{"metadata": {"name": "addon-cluster-a-other-x", "labels": {**own, "open-cluster-management.io/addon-name": "other"}}}]

    def listed(_version, kind, *_namespace, labels):
        if kind != "CertificateSigningRequest":
            return []
        named, _comma, without = labels.partition(",")
        key, _equals, value = named.partition("=")
        found = [one for one in requests if one["metadata"]["labels"].get(key) == value]
        return [one for one in found if not without or without.removeprefix("!") not in one["metadata"]["labels"]]

    hub = SimpleNamespace(list=listed, get=lambda _version, kind, *_which: status.cluster() if kind == "ManagedCluster" else None)
    assert hub_reader.at_site(hub, parsed_ocm_site(), {}) == []
    requests.append({"metadata": {"name": "cluster-a-x", "labels": own}})
    with pytest.raises(ClusterError, match=r"is not approved \(cluster-a-x\)"):
        hub_reader.at_site(hub, parsed_ocm_site(), {})
    for state in ({"certificate": "x"}, *({"conditions": [{"type": kind}]} for kind in ("Approved", "Denied", "Failed"))):
        requests[-1]["status"] = state
        assert hub_reader.at_site(hub, parsed_ocm_site(), {}) == []


def test_a_cluster_that_is_not_heard_is_told_and_no_fault(status):
    assert checks.unavailable("c", status.cluster()) == ""
    assert "changes do not reach it" in checks.unavailable("c", status.cluster(available="Unknown"))
    assert "reports that it is not healthy" in checks.unavailable("c", status.cluster(available="False"))
    assert checks.cluster("c", status.cluster(available="Unknown")) == []


def test_two_federations_in_one_namespace_of_a_managed_cluster_are_refused(status, parsed_ocm_site):
    """Their StatefulSets, CA bundles and keys have the same names there, and nothing but this tells them apart before they are applied."""
    spec = parsed_ocm_site()
    own, other = (status.nodes(parsed_ocm_site(**changes)) for changes in ({}, {"federation": "cardiology"}))
    elsewhere = status.nodes(parsed_ocm_site(federation="cardiology", namespace="cardiology"))
    assert checks.crowded(spec, [own, elsewhere]) == []
    (fault,) = checks.crowded(spec, [own, other, other])
    assert "has SuperNodes of the federation cardiology" in fault and "set supernode_namespace" in fault
    names = [[(item["kind"], item["metadata"]["name"]) for item in work["spec"]["workload"]["manifests"]] for work in (own, other)]
    assert names[0] == names[1]


def selector(operator, key, *values):
    return [
        {
            "requiredClusterSelector": {
                "labelSelector": {"matchExpressions": [{"key": key, "operator": operator, "values": list(values)}]}
            }
        }
    ]


def wanted(predicates, sets=("default",), *, set_labels=None, tolerations=()):
    return {"predicates": predicates, "cluster_sets": list(sets), "set_labels": set_labels or {"global": {}}, "tolerations": list(tolerations)}


def test_what_a_new_placement_would_not_choose_is_known_before(status, parsed_addon):
    live = status.cluster()
    labels = live["metadata"]["labels"]
    own = addon_objects.predicates(parsed_addon())
    assert checks.chosen("cluster-a", live, wanted(own)) == checks.chosen("cluster-a", live, wanted(own, ["global"])) == []
    labels.pop("cluster.open-cluster-management.io/clusterset")
    assert "clusterset set labs --clusters cluster-a" in checks.chosen("cluster-a", live, wanted(own, ["labs"]))[0]
    labels.pop(addon_objects.FEDERATION_LABEL)
    (fault,) = checks.chosen("cluster-a", live, wanted(own))
    assert "kubectl label managedcluster cluster-a federated.flower/federation=flower" in fault


def test_no_remedy_takes_a_cluster_from_others(status, parsed_addon):
    """Another set would take what others deliver to the former one, and another label the SuperNodes of another federation."""
    live = status.cluster()
    own = addon_objects.predicates(parsed_addon())
    (fault,) = checks.chosen("cluster-a", live, wanted(own, ["labs"]))
    assert "selects from labs: add default to flower_ocm_cluster_sets" in fault
    live["metadata"]["labels"][addon_objects.FEDERATION_LABEL] = "cardiology"
    (fault,) = checks.chosen("cluster-a", live, wanted(own))
    assert "its label federated.flower/federation is cardiology" in fault and "ocm_addon_predicates" in fault and "kubectl" not in fault


def test_a_cluster_is_in_sets_that_select_by_any_labels_too(status, parsed_addon):
    live = status.cluster()
    live["metadata"]["labels"]["vendor"] = "OpenShift"
    own = addon_objects.predicates(parsed_addon())
    selector = {"selectorType": "LabelSelector", "labelSelector": {"matchLabels": {"vendor": "OpenShift"}}}
    by_labels = checks.set_labels(
        [
            {"metadata": {"name": "openshift"}, "spec": {"clusterSelector": selector}},
            {"metadata": {"name": "default"}, "spec": {"clusterSelector": {"selectorType": "ExclusiveClusterSetLabel"}}},
            {"metadata": {"name": "global"}, "spec": {"clusterSelector": {"selectorType": "LabelSelector"}}},
        ]
    )
    assert by_labels == {"openshift": {"matchLabels": {"vendor": "OpenShift"}}, "global": {}}
    assert checks.chosen("cluster-a", live, wanted(own, ["openshift"], set_labels=by_labels)) == []
    live["metadata"]["labels"]["vendor"] = "k3s"
    assert "selects from openshift" in checks.chosen("cluster-a", live, wanted(own, ["openshift"], set_labels=by_labels))[0]


@pytest.mark.parametrize(
    ("taint", "toleration", "good"),
    [
        ({"key": "gpu", "value": "clinic", "effect": "NoSelect"}, {}, False),
        ({"key": "gpu", "value": "clinic", "effect": "NoSelect"}, {"key": "gpu", "operator": "Exists"}, True),
        ({"key": "gpu", "value": "clinic", "effect": "NoSelect"}, {"key": "gpu", "value": "clinic"}, True),
        ({"key": "gpu", "value": "clinic", "effect": "NoSelect"}, {"key": "gpu", "operator": "Equal", "value": "lab"}, False),
        ({"key": "gpu", "effect": "NoSelect"}, {"key": "gpu", "operator": "Exists", "effect": "NoSelectIfNew"}, False),
        ({"key": "gpu", "effect": "NoSelectIfNew"}, {"operator": "Exists"}, True),
        ({"key": "gpu", "effect": "PreferNoSelect"}, {"key": "other", "operator": "Exists"}, True),
        ({"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect"}, {}, True),
    ],
)
def test_taints_are_judged_as_open_cluster_management_does(taint, toleration, good, status, parsed_addon):
    live = status.cluster(spec={"hubAcceptsClient": True, "taints": [taint]})
    spec = parsed_addon(tolerations=[toleration] if toleration else [])
    found = checks.chosen("cluster-a", live, wanted(addon_objects.predicates(spec), tolerations=addon_objects.tolerations(spec)))
    assert (found == []) is good
    assert good or found[0].startswith("the ManagedCluster cluster-a has the taint gpu"), found


def test_a_taint_for_new_clusters_concerns_no_site_that_is_there(status, parsed_addon):
    live = status.cluster(spec={"hubAcceptsClient": True, "taints": [{"key": "full", "effect": "NoSelectIfNew"}]})
    own = wanted(addon_objects.predicates(parsed_addon()))
    assert checks.chosen("cluster-a", live, own, selected=True) == []
    assert "has the taint full:NoSelectIfNew" in checks.chosen("cluster-a", live, own)[0]


@pytest.mark.parametrize(
    ("predicate", "good"),
    [
        (selector("In", "gpu", "a100", "h100"), True),
        (selector("In", "gpu", "h100"), False),
        (selector("NotIn", "gpu", "h100"), True),
        (selector("NotIn", "edge", "yes"), True),
        (selector("Exists", "gpu"), True),
        (selector("DoesNotExist", "gpu"), False),
        ([*selector("In", "gpu", "h100"), *selector("Exists", "gpu")], True),
        (
            [
                {
                    "requiredClusterSelector": {
                        "claimSelector": {"matchExpressions": [{"key": "region", "operator": "In", "values": ["eu"]}]}
                    }
                }
            ],
            True,
        ),
        ([{"requiredClusterSelector": {"celSelector": {"celExpressions": ["false"]}}}], True),
    ],
)
def test_predicates_are_judged_as_kubernetes_does(predicate, good, status):
    live = status.cluster()
    live["metadata"]["labels"]["gpu"] = "a100"
    live["status"]["clusterClaims"] = [{"name": "region", "value": "eu"}]
    assert (checks.chosen("cluster-a", live, wanted(predicate)) == []) is good
