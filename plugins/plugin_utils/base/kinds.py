# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of Kubernetes' own kinds without asking an API server: their plurals, their defaults, and the images of their containers. Pure.

Every API server serves them under these names (https://kubernetes.io/docs/reference/kubernetes-api/), so asking it
would only cost requests. Kinds of CustomResourceDefinitions are always requested.

Source: Kubernetes' API reference (defaults), and Kubernetes documentation, «Server-Side Apply», «Merge strategy».
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

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

Path = tuple[str, ...]

#: Kind, or "" for all; end of the path; value.
_DEFAULTS: tuple[tuple[str, Path, Any], ...] = (
    ("NetworkPolicy", ("ports", "protocol"), "TCP"),
    ("StatefulSet", ("volumeClaimTemplates", "apiVersion"), "v1"),
    ("StatefulSet", ("volumeClaimTemplates", "kind"), "PersistentVolumeClaim"),
    ("StatefulSet", ("volumeClaimTemplates", "status"), {"phase": "Pending"}),
    ("StatefulSet", ("volumeClaimTemplates", "spec", "volumeMode"), "Filesystem"),
    ("", ("fieldRef", "apiVersion"), "v1"),
    ("", ("serviceAccountToken", "expirationSeconds"), 3600),
    ("ValidatingWebhookConfiguration", ("rules", "scope"), "*"),
    ("MutatingWebhookConfiguration", ("rules", "scope"), "*"),
)
#: Added as well, but not always.
_POSSIBLE: tuple[tuple[str, Path, Any], ...] = (
    ("StatefulSet", ("volumeClaimTemplates", "metadata", "creationTimestamp"), None),
    ("RoleBinding", ("subjects", "apiGroup"), "rbac.authorization.k8s.io"),
    ("ClusterRoleBinding", ("subjects", "apiGroup"), "rbac.authorization.k8s.io"),
    ("RoleBinding", ("subjects", "apiGroup"), ""),
    ("ClusterRoleBinding", ("subjects", "apiGroup"), ""),
)


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


def _of(kind: str, path: Path, entry: tuple[str, Path, Any]) -> bool:
    return entry[0] in ("", kind) and path[-len(entry[1]) :] == entry[1]


def is_default(kind: str, path: Path, value: Any) -> bool:
    """Whether the API server sets this value where an object does not.

    Args:
        kind: of the object.
        path: names of the fields from its top, without places in lists.
    """
    return any(_of(kind, path, entry) and value == entry[2] for entry in (*_DEFAULTS, *_POSSIBLE))


def completed(item: Mapping[str, Any]) -> dict[str, Any]:
    """The object with these defaults."""
    return {key: _completed(str(item["kind"]), value, (key,)) for key, value in item.items()}


def _completed(kind: str, value: Any, path: Path) -> Any:
    if isinstance(value, list):
        return [_completed(kind, one, path) for one in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: _completed(kind, one, (*path, key)) for key, one in value.items()}
    for entry in _DEFAULTS:
        name = entry[1][-1]
        if name not in found and _of(kind, (*path, name), entry):
            found[name] = entry[2]
    return found


def images_of(workload: Mapping[str, Any]) -> dict[str, str]:
    """Container -> image, of a StatefulSet, DaemonSet or Deployment; init containers, such as sidecars, are among them."""
    pod = workload["spec"]["template"]["spec"]
    return {one["name"]: one["image"] for one in [*(pod.get("initContainers") or []), *pod["containers"]]}
