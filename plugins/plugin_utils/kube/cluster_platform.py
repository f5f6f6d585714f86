# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The platform of a cluster, its StorageClasses, and tokens of OpenShift's OAuth server."""

from __future__ import annotations

from ..base.errors import ClusterError
from ..base.platforms import AUTO, of_groups
from .api_errors import ApiError, NotServed
from .client import Cluster

PROJECTS = "project.openshift.io"
PROJECT_API = f"{PROJECTS}/v1"

STORAGE_API = "storage.k8s.io/v1"
STORAGE_CLASS = "StorageClass"
_LIST = {"verb": "list", "group": "storage.k8s.io", "resource": "storageclasses"}
# Kubernetes documentation, «Storage Classes», default StorageClass; the second one is the older form.
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def find_platform(cluster: Cluster) -> str:
    """The platform, by the API groups that the cluster serves.

    Raises:
        ClusterError: they may not be listed.
    """
    try:
        groups = cluster.request("GET", "/apis").get("groups") or []
    except ApiError as error:
        if 300 <= error.status < 400:
            raise ClusterError(
                f"{cluster.name}: what answers there is not an API server: it redirects to another address (HTTP {error.status}), as portals "
                "and login pages do. Check the address of the API server (flower_kubeconfig, flower_context)."
            ) from None
        raise ClusterError(
            f"{cluster.name}: cannot determine whether it is OpenShift: {error.text}. Set flower_platform to kubernetes or openshift."
        ) from None  # the message has all of it
    return of_groups(str(group.get("name")) for group in groups)


def known(cluster: Cluster, platform: str) -> str:
    """The platform that a variable names, else the one that is found."""
    return find_platform(cluster) if platform in ("", AUTO) else platform


def has_projects(cluster: Cluster) -> bool:
    """Whether the cluster serves projects. There, a namespace that does not exist is forbidden to those who may only request one."""
    try:
        cluster.resource(PROJECT_API, "Project")
    except NotServed:
        return False
    return True


def storage_classes(cluster: Cluster) -> dict[str, bool] | None:
    """Name -> whether it is the cluster's default; None where they may not be listed."""
    if not all(cluster.access_review([_LIST])):
        return None
    return {one["metadata"]["name"]: _is_default(one["metadata"].get("annotations") or {}) for one in cluster.list(STORAGE_API, STORAGE_CLASS)}


def _is_default(annotations: dict[str, str]) -> bool:
    return any(annotations.get(key) == "true" for key in _DEFAULT)
