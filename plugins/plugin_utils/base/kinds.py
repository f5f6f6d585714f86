# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Kinds that need no discovery: those of Kubernetes itself.

Every API server serves them under these names (https://kubernetes.io/docs/reference/kubernetes-api/), so asking it
would only cost requests. Kinds of CustomResourceDefinitions are always requested.
"""

from __future__ import annotations

_NAMESPACED = {
    "v1": "ConfigMap Endpoints Event LimitRange PersistentVolumeClaim Pod PodTemplate ReplicationController "
    "ResourceQuota Secret Service ServiceAccount",
    "apps/v1": "ControllerRevision DaemonSet Deployment ReplicaSet StatefulSet",
    "batch/v1": "CronJob Job",
    "autoscaling/v2": "HorizontalPodAutoscaler",
    "networking.k8s.io/v1": "Ingress NetworkPolicy",
    "policy/v1": "PodDisruptionBudget",
    "rbac.authorization.k8s.io/v1": "Role RoleBinding",
    "coordination.k8s.io/v1": "Lease",
    "discovery.k8s.io/v1": "EndpointSlice",
    "events.k8s.io/v1": "Event",
}
_CLUSTER = {
    "v1": "Namespace Node PersistentVolume",
    "rbac.authorization.k8s.io/v1": "ClusterRole ClusterRoleBinding",
    "apiextensions.k8s.io/v1": "CustomResourceDefinition",
    "storage.k8s.io/v1": "StorageClass CSIDriver VolumeAttachment",
    "scheduling.k8s.io/v1": "PriorityClass",
    "networking.k8s.io/v1": "IngressClass",
    "node.k8s.io/v1": "RuntimeClass",
    "admissionregistration.k8s.io/v1": "MutatingWebhookConfiguration ValidatingWebhookConfiguration "
    "ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding",
    "apiregistration.k8s.io/v1": "APIService",
}


def plural_of(kind: str) -> str:
    """The plural that Kubernetes itself uses for its kinds (not for those of CRDs, which define their own)."""
    word = kind.lower()
    if word in ("endpoints",):
        return word
    if word.endswith(("s", "x", "z", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


_TABLE: dict[tuple[str, str], tuple[str, bool]] = {
    (version, kind): (plural_of(kind), namespaced)
    for table, namespaced in ((_NAMESPACED, True), (_CLUSTER, False))
    for version, words in table.items()
    for kind in words.split()
}


def builtin(api_version: str, kind: str) -> tuple[str, bool] | None:
    """(plural, namespaced) of a kind of Kubernetes itself, else None."""
    return _TABLE.get((api_version, kind))


def group_of(api_version: str) -> str:
    """The API group: C(apps) for C(apps/v1), the empty string for C(v1)."""
    return api_version.rpartition("/")[0]


def version_of(group: str, kind: str) -> str | None:
    """The apiVersion under which Kubernetes serves one of its own kinds, else None."""
    return next((version for version, name in _TABLE if name == kind and group_of(version) == group), None)
