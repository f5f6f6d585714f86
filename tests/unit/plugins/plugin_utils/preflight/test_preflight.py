# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.preflight import devices, rights
from ansible_collections.federated.flower.plugins.plugin_utils.preflight.rights import Right

RULE = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods", "*/exec"]}


def test_rights_are_found_in_rules():
    assert rights.missing([Right("get", "", "pods"), Right("list", "", "pods/exec")], [RULE]) == []
    assert rights.missing([Right("patch", "", "pods"), Right("get", "apps", "pods")], [RULE]) == [
        Right("patch", "", "pods"),
        Right("get", "apps", "pods"),
    ]
    everything = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}
    assert rights.missing([Right("patch", "apps", "statefulsets")], [everything]) == []


def test_a_rule_for_some_names_is_no_right():
    assert rights.missing([Right("get", "", "pods")], [{**RULE, "resourceNames": ["one"]}]) == [Right("get", "", "pods")]


def test_what_a_deployment_takes_depends_on_the_specification():
    spec = {"namespace": "flower", "create_namespace": True, "exposure": "node_port", "superlink_address": ""}
    assert Right("list", "", "nodes", namespaced=False) in rights.hub_rights(spec, "flower-ca")[""]
    owned = rights.hub_rights({**spec, "create_namespace": False, "superlink_address": "hub:1"}, "flower-ca")
    assert owned[""] == []
    assert set(owned) == {"flower", "flower-ca", ""}
    assert Right("create", "", "pods/exec") in owned["flower"]
    assert rights.site_rights({**spec, "create_namespace": False}, needs_nodes=False)[""] == []


def test_cert_manager_takes_rights_of_its_own():
    spec = {"namespace": "flower", "exposure": "load_balancer", "certificates_source": "cert_manager"}
    of_issuer = rights.hub_rights({**spec, "issuer": {"name": "a"}}, "flower-ca")
    assert Right("create", "cert-manager.io", "certificates") in of_issuer["flower"]
    assert Right("get", "cert-manager.io", "issuers") in of_issuer["flower"]
    wide = rights.hub_rights({**spec, "issuer": {"name": "a", "kind": "ClusterIssuer"}}, "flower-ca")
    assert Right("get", "cert-manager.io", "clusterissuers", namespaced=False) in wide[""]
    external = rights.hub_rights({**spec, "issuer": {"name": "a", "group": "x.example"}}, "flower-ca")
    assert not any("issuers" in right.resource for there in external.values() for right in there)


def test_policies_take_rights_where_they_are_made():
    spec = {"namespace": "flower", "exposure": "cluster_ip", "superlink_address": ""}
    delete, patch = (Right(verb, "networking.k8s.io", "networkpolicies") for verb in ("delete", "patch"))
    hub = rights.hub_rights(spec, "flower-ca")
    assert delete in hub["flower"] and patch in hub["flower-ca"] and delete not in hub["flower-ca"]
    assert patch in rights.site_rights(spec, needs_nodes=False)["flower"]
    owned = rights.hub_rights({**spec, "create_namespace": False}, "flower-ca")
    assert patch in owned["flower"] and patch not in owned["flower-ca"]
    off = {**spec, "network_policies": False}
    for needed in (rights.hub_rights(off, "flower-ca"), rights.site_rights(off, needs_nodes=False)):
        assert patch not in [right for found in needed.values() for right in found]


def node(name, **allocatable):
    return {"metadata": {"name": name}, "status": {"allocatable": {"cpu": "2", **allocatable}}}


def test_a_gpu_that_no_node_has_is_told_with_what_the_nodes_have():
    spec = {"pools": [{"name": "a100", "gpu": {"count": 2}}]}
    (warning,) = devices.warnings(spec, [node("one", **{"nvidia.com/gpu": "1"}), node("two")])
    for part in ("pool a100", "2 x nvidia.com/gpu", "one has nvidia.com/gpu 1", "two has no extended resources"):
        assert part in warning
    assert devices.warnings(spec, [node("one", **{"nvidia.com/gpu": "2"})]) == []
    assert devices.warnings({"pools": [{"name": "cpu"}]}, []) == []
