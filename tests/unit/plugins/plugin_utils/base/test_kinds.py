# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds of Kubernetes: their defaults, and what may be added to a list of them."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.base import kinds
from ansible_collections.federated.flower.plugins.plugin_utils.base.kinds import completed, is_default
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Resource
from ansible_collections.federated.flower.tests.unit.rows import each_row


def test_defaults_are_filled_in_where_there_is_none() -> None:
    policy = {"kind": "NetworkPolicy", "spec": {"ingress": [{"ports": [{"port": 1}, {"port": 2, "protocol": "UDP"}]}]}}
    (rule,) = completed(policy)["spec"]["ingress"]
    assert rule["ports"] == [{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "UDP"}]
    assert "protocol" not in policy["spec"]["ingress"][0]["ports"][0]
    claims = completed({"kind": "StatefulSet", "spec": {"volumeClaimTemplates": [{"spec": {}}], "ports": [{}]}})["spec"]
    assert claims["volumeClaimTemplates"] == [
        {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": {"volumeMode": "Filesystem"}, "status": {"phase": "Pending"}}
    ]
    assert claims["ports"] == [{}]
    assert completed({"kind": "Pod", "spec": {"fieldRef": {"fieldPath": "a"}}})["spec"]["fieldRef"]["apiVersion"] == "v1"


def test_what_may_be_added_is_known_as_well() -> None:
    subjects = ("subjects", "apiGroup")
    assert is_default("RoleBinding", subjects, "") and is_default("RoleBinding", subjects, "rbac.authorization.k8s.io")
    assert not is_default("Role", subjects, "") and "apiGroup" not in completed({"kind": "RoleBinding", "subjects": [{}]})["subjects"][0]


@each_row(
    ("api_version", "kind", "expected"),
    [
        ("v1", "ConfigMap", ("configmaps", True)),
        ("v1", "Endpoints", ("endpoints", True)),
        ("v1", "Namespace", ("namespaces", False)),
        ("networking.k8s.io/v1", "NetworkPolicy", ("networkpolicies", True)),
        ("networking.k8s.io/v1", "Ingress", ("ingresses", True)),
        ("storage.k8s.io/v1", "StorageClass", ("storageclasses", False)),
        ("node.k8s.io/v1", "RuntimeClass", ("runtimeclasses", False)),
        ("policy/v1", "PodDisruptionBudget", ("poddisruptionbudgets", True)),
        ("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", ("validatingadmissionpolicies", False)),
        ("skupper.io/v2alpha1", "Site", None),
        ("v2", "ConfigMap", None),
    ],
)
def test_builtin(api_version: str, kind: str, expected: tuple[str, bool] | None) -> None:
    assert kinds.builtin(api_version, kind) == expected


def test_version_of() -> None:
    assert kinds.version_of("apps", "StatefulSet") == "apps/v1"
    assert kinds.version_of("", "Secret") == "v1"
    assert kinds.version_of("skupper.io", "Site") is None


def test_paths() -> None:
    pods = Resource("v1", "Pod", "pods", True)
    assert pods.path("n", "a/b") == "/api/v1/namespaces/n/pods/a%2Fb"
    assert pods.path() == "/api/v1/pods"
    roles = Resource("rbac.authorization.k8s.io/v1", "ClusterRole", "clusterroles", False)
    assert roles.path("ignored", "system:node") == "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode"
