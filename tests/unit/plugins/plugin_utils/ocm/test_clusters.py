# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inventory hosts made of the managed clusters of Open Cluster Management."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import clusters
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.managed_clusters import Question
from ansible_collections.federated.flower.tests.unit.rows import each_row

# As a hub with OCM 1.x serves it: two nodes with GPUs, one of them partitioned, an add-on, a taint of the administrators.
CLUSTER: dict[str, Any] = {
    "apiVersion": "cluster.open-cluster-management.io/v1",
    "kind": "ManagedCluster",
    "metadata": {
        "name": "institute-zurich",
        "uid": "0b0c8f0e-53a6-4a5c-93a4-7e0cf8a7e3c1",
        "creationTimestamp": "2026-03-02T07:10:11Z",
        "finalizers": ["cluster.open-cluster-management.io/api-resource-cleanup"],
        "annotations": {"agent.open-cluster-management.io/klusterlet-config": "default"},
        "labels": {
            "cluster.open-cluster-management.io/clusterset": "oncology",
            "feature.open-cluster-management.io/addon-cluster-proxy": "available",
            "feature.open-cluster-management.io/addon-flower-supernode": "unhealthy",
            "name": "institute-zurich",
            "region": "eu",
        },
    },
    "spec": {
        "hubAcceptsClient": True,
        "leaseDurationSeconds": 60,
        "managedClusterClientConfigs": [
            {"url": "https://api.zurich.example.com:6443", "caBundle": "LS0tLS1CRUdJTg=="},
            {"caBundle": ""},
        ],
        "taints": [
            {"key": "gpu", "value": "reserved", "effect": "NoSelectIfNew", "timeAdded": "2026-11-01T00:00:00Z"},
            {"key": "cluster.open-cluster-management.io/unreachable", "effect": "NoSelect", "timeAdded": None},
        ],
    },
    "status": {
        "conditions": [
            {
                "type": "ManagedClusterJoined",
                "status": "True",
                "reason": "ManagedClusterJoined",
                "message": "Managed cluster joined",
                "lastTransitionTime": "2026-03-02T07:10:20Z",
            },
            {
                "type": "ManagedClusterConditionAvailable",
                "status": "Unknown",
                "reason": "ManagedClusterLeaseUpdateStopped",
                "message": "Registration agent stopped updating its lease.",
                "lastTransitionTime": "2026-11-21T08:15:30Z",
            },
        ],
        "capacity": {"cpu": "32", "memory": "131072Mi", "nvidia.com/gpu": "8", "pods": 220},
        "allocatable": {
            "cpu": "31500m",
            "memory": "128Gi",
            "nvidia.com/gpu": "4",
            "nvidia.com/mig-1g.10gb": "7",
            "amd.com/gpu": "0",
            "pods": 220,
        },
        "version": {"kubernetes": "v1.31.4+k3s1"},
        "clusterClaims": [
            {"name": "id.k8s.io", "value": "4be1"},
            {"name": "region.open-cluster-management.io", "value": "eu-central-2"},
        ],
    },
}

GROUPS = ("flower_sites", "flower_hub", "")


def changed(**status: Any) -> dict[str, Any]:
    """The cluster with another status."""
    cluster = copy.deepcopy(CLUSTER)
    cluster["status"].update(status)
    return cluster


def test_variables() -> None:
    found = clusters.variables(CLUSTER)
    assert found["ocm_name"] == "institute-zurich"
    assert found["ocm_labels"]["region"] == "eu"
    assert found["ocm_cluster_set"] == "oncology"
    assert found["ocm_addons"] == {"cluster-proxy": "available", "flower-supernode": "unhealthy"}
    assert found["ocm_claims"] == {"id.k8s.io": "4be1", "region.open-cluster-management.io": "eu-central-2"}
    assert found["ocm_kubernetes_version"] == "v1.31.4+k3s1"
    assert found["ocm_api_urls"] == ["https://api.zurich.example.com:6443"]
    assert (found["ocm_accepted"], found["ocm_joined"], found["ocm_available"]) == (True, True, False)
    assert found["ocm_availability"] == "unknown"
    assert found["ocm_conditions"]["ManagedClusterConditionAvailable"] == {
        "status": "Unknown",
        "reason": "ManagedClusterLeaseUpdateStopped",
        "message": "Registration agent stopped updating its lease.",
        "since": "2026-11-21T08:15:30Z",
    }
    unreachable = {"key": "cluster.open-cluster-management.io/unreachable", "value": "", "effect": "NoSelect"}
    assert found["ocm_taints"] == [
        {"key": "gpu", "value": "reserved", "effect": "NoSelectIfNew", "time_added": "2026-11-01T00:00:00Z"},
        {**unreachable, "time_added": ""},
    ]
    assert found["ocm_capacity"]["nvidia.com/gpu"] == "8"
    assert found["ocm_allocatable"]["pods"] == "220"
    assert (found["ocm_cpus"], found["ocm_memory_bytes"]) == (31.5, 128 * 1024**3)


def test_gpus_are_those_that_can_be_allocated() -> None:
    found = clusters.variables(CLUSTER)
    assert found["ocm_gpus"] == 11
    assert found["ocm_gpu_resources"] == {"nvidia.com/gpu": 4, "nvidia.com/mig-1g.10gb": 7}
    own = clusters.variables(
        changed(allocatable={"example.com/npu-2": "3", "nvidia.com/gpu": "4"}), ["example.com/npu*"]
    )
    assert (own["ocm_gpus"], own["ocm_gpu_resources"]) == (3, {"example.com/npu-2": 3})


@each_row("spec", [None, {}, {"hubAcceptsClient": False}])
def test_a_cluster_that_has_just_been_made(spec: Any) -> None:
    bare: dict[str, Any] = {"metadata": {"name": "new"}, "spec": spec, "status": None}
    found = clusters.variables(bare)
    assert set(found) == set(clusters.variables(CLUSTER))
    assert found.pop("ocm_name") == "new"
    assert found.pop("ocm_availability") == "unknown"
    assert not any(found.values())
    assert not clusters.is_accepted(bare)


@each_row(
    ("amount", "number"),
    [
        ("4", 4),
        (4, 4),
        ("4k", 4000),
        ("3500m", 3),
        ("-4", 0),
        ("1e999999999", 0),
        ("1e99999999999999999999", 0),
        ("9" * 500, 0),
        ("NaN", 0),
        ("1.2.3", 0),
        ("{{ 7*7 }}", 0),
        ("", 0),
    ],
)
def test_amounts_that_a_cluster_may_claim(amount: Any, number: int) -> None:
    found = clusters.variables(changed(allocatable={"nvidia.com/gpu": amount, "memory": amount, "cpu": amount}))
    assert found["ocm_gpus"] == found["ocm_memory_bytes"] == number
    assert found["ocm_allocatable"]["nvidia.com/gpu"] == str(amount)


def test_hostile_text_stays_as_it_is() -> None:
    evil = "{{ 7*7 }} Zürich ☃ \u202e\n'\"" + "l" * 990
    claims = [{"name": evil, "value": evil}, {"name": "", "value": "x"}, {"value": "y"}, {"name": "empty"}]
    found = clusters.variables(changed(clusterClaims=claims, version={"kubernetes": evil}))
    assert found["ocm_claims"] == {evil: evil, "empty": ""}
    assert found["ocm_kubernetes_version"] == evil
    assert json.loads(json.dumps(found)) == found


@each_row(
    ("labels", "claims", "platform"),
    [
        ({}, {}, "kubernetes"),
        ({"vendor": "Kubernetes"}, {"product.open-cluster-management.io": "EKS"}, "kubernetes"),
        ({"vendor": "OpenShift"}, {}, "openshift"),
        ({}, {"product.open-cluster-management.io": "ROSA"}, "openshift"),
        ({}, {"version.openshift.io": "4.20.1"}, "openshift"),
    ],
)
def test_the_platform_of_a_managed_cluster(labels: dict[str, str], claims: dict[str, str], platform: str) -> None:
    status = {"clusterClaims": [{"name": name, "value": value} for name, value in claims.items()]}
    assert clusters.platform({"metadata": {"name": "one", "labels": labels}, "status": status}) == platform
    assert clusters.platform({}) == "kubernetes"


@each_row("name", ["a", "site-1", "a.b.c", "1", "10.0.0.1", "local-cluster", "x" * 253, "Two_hubs-a"])
def test_names_that_are_hosts(name: str) -> None:
    assert clusters.host_name_error(name, GROUPS) == ""


@each_row(
    ("name", "words"),
    [
        ("all", "the name of a group"),
        ("ungrouped", "the name of a group"),
        ("flower_hub", "the name of a group"),
        ("localhost", "the control node"),
        ("127.0.0.1", "the control node"),
        ("", "not a valid host name"),
        ("a,b", "not a valid host name"),
        ("a[1:3]", "not a valid host name"),
        ("~a", "not a valid host name"),
        ("!a", "not a valid host name"),
        ("a:22", "not a valid host name"),
        ("a b", "not a valid host name"),
        ("a\n", "not a valid host name"),
        ("{{ 7*7 }}", "not a valid host name"),
    ],
)
def test_names_that_are_not(name: str, words: str) -> None:
    assert words in clusters.host_name_error(name, GROUPS)


AUTH = {"kubeconfig": "/k", "context": "hub"}


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("K8S_AUTH_KUBECONFIG", "K8S_AUTH_CONTEXT", "K8S_AUTH_HOST", "K8S_AUTH_API_KEY", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)


@each_row(
    "change",
    [
        {"cluster_sets": ("a",)},
        {"label_selector": "a=b"},
        {"placement": "p"},
        {"placement_namespace": "n"},
        {"accepted_only": False},
        {"gpu_resources": ("x",)},
    ],
)
def test_another_question_has_another_key(change: dict[str, Any]) -> None:
    assert replace(Question(), **change).key(AUTH) != Question().key(AUTH)


@each_row(
    "auth", [{}, {"kubeconfig": "/k"}, {**AUTH, "context": "b"}, {**AUTH, "impersonate_user": "u"}]
)
def test_another_hub_has_another_key(auth: dict[str, Any]) -> None:
    assert Question().key(auth) != Question().key(AUTH)


def test_the_environment_may_say_which_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Question().key({})
    monkeypatch.setenv("K8S_AUTH_CONTEXT", "other")
    assert Question().key({}) != before
    monkeypatch.delenv("K8S_AUTH_CONTEXT")
    monkeypatch.setenv("KUBECONFIG", "/other")
    assert Question().key({}) != before


def test_credentials_are_no_part_of_a_key() -> None:
    one = {"clusters": [{"name": "hub", "cluster": {"server": "https://hub"}}], "users": [{"user": {"token": "a"}}]}
    other = {**one, "users": [{"user": {"token": "b"}}]}
    assert Question().key({"kubeconfig": one}) == Question().key({"kubeconfig": other})
    assert Question().key({**AUTH, "api_key": "a"}) == Question().key({**AUTH, "api_key": "b"})
    elsewhere = {**one, "clusters": [{"name": "hub", "cluster": {"server": "https://other"}}]}
    assert Question().key({"kubeconfig": one}) != Question().key({"kubeconfig": elsewhere})
