# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The StorageClasses of a cluster. A deployment needs no right to list them, so whether there is one is asked first."""

from __future__ import annotations

from .client import Cluster

API = "storage.k8s.io/v1"
KIND = "StorageClass"
_LIST = {"verb": "list", "group": "storage.k8s.io", "resource": "storageclasses"}
# Kubernetes documentation, «Storage Classes», default StorageClass; the second one is the older form.
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


def listed(cluster: Cluster) -> dict[str, bool] | None:
    """Name -> whether it is the cluster's default; None where they may not be listed."""
    if not all(cluster.access_review([_LIST])):
        return None
    return {one["metadata"]["name"]: _is_default(one["metadata"].get("annotations") or {}) for one in cluster.list(API, KIND)}


def _is_default(annotations: dict[str, str]) -> bool:
    return any(annotations.get(key) == "true" for key in _DEFAULT)
