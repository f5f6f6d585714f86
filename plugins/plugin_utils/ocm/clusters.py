# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A ManagedCluster as an inventory host: its name and its variables. Pure.

A ManagedCluster's name is a DNS subdomain, so Ansible accepts all of them; but some have another meaning.

The status of a ManagedCluster is written by the agent in the managed cluster, which may be another company's: claims, version,
names and amounts of resources, and messages of conditions can be any text. They are not trusted here, and anyone who creates
variables of them marks them as unsafe.

Sources of the rules: open-cluster-management.io/api C(cluster/v1/types.go); the registration agent sums the resources of all
nodes, leaves nodes that are cordoned out of C(allocatable) only, and keeps in C(capacity) what a cluster had once
(C(resource_reconcile.go)).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from decimal import Decimal, DecimalException
from fnmatch import fnmatchcase
from typing import Any

from ..apply.compare import quantity
from ..base.platforms import KUBERNETES, OPENSHIFT
from . import api

# Hosts of these names mean the control node (Ansible documentation, «Implicit localhost»).
_CONTROL_NODE = ("localhost", "127.0.0.1", "::1")
_EVERYBODY = ("all", "ungrouped")
# RFC 1123, as the API server checks it; with a prefix, anything that a host pattern reads as one name.
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?")

Cluster = Mapping[str, Any]

#: Extended resources that are GPUs, or parts of them, with the names that the vendors' device plugins use.
GPU_RESOURCES = (
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-*",
    "amd.com/gpu",
    "gpu.intel.com/i915",
    "gpu.intel.com/xe",
)

# Set by registration add-ons: claims «product.open-cluster-management.io» and «version.openshift.io», label «vendor».
_VENDOR, _PRODUCT, _VERSION = "vendor", "product.open-cluster-management.io", "version.openshift.io"
_OPENSHIFT = "OpenShift"
# The label that Advanced Cluster Management gives to the cluster that it runs in.
_LOCAL = "local-cluster"
_PRODUCTS = (_OPENSHIFT, "ARO", "MicroShift", "OpenShiftDedicated", "ROKS", "ROSA")

# No cluster has more than this, and 1e999999999 as an integer would fill the memory.
_MOST = Decimal(10) ** 24


def host_name_error(name: str, groups: Collection[str]) -> str:
    """Why a cluster cannot be a host of this name; empty when it can.

    Args:
        groups: names of the groups of the plays.
    """
    if not _NAME.fullmatch(name):
        return f"{name!r} is not a valid host name"
    if name in _CONTROL_NODE:
        return f"{name!r} is the control node itself"
    if name in _EVERYBODY or name in groups:
        return f"{name!r} is the name of a group"
    return ""


def name_of(cluster: Cluster) -> str:
    """The name of the ManagedCluster."""
    return cluster["metadata"]["name"]


def is_accepted(cluster: Cluster) -> bool:
    """Whether the hub's administrators accepted it. Anyone who has a bootstrap token can create one that is not accepted."""
    return bool((cluster.get("spec") or {}).get("hubAcceptsClient"))


def is_leaving(cluster: Cluster) -> bool:
    """Whether it is being detached. Placements do not select it any more."""
    return bool(cluster["metadata"].get("deletionTimestamp"))


def platform(cluster: Cluster) -> str:
    """Whether it is Kubernetes or OpenShift, according to its claims and to the label of its vendor."""
    claims = {claim.get("name"): claim.get("value", "") for claim in (cluster.get("status") or {}).get("clusterClaims") or []}
    labels = (cluster.get("metadata") or {}).get("labels") or {}
    is_openshift = labels.get(_VENDOR) == _OPENSHIFT or claims.get(_VERSION) or str(claims.get(_PRODUCT)) in _PRODUCTS
    return OPENSHIFT if is_openshift else KUBERNETES


def is_hub(cluster: Cluster, server: str) -> bool:
    """Whether it is the cluster that the hub runs in, as far as it says so: by its label, or by the address of its API server.

    Args:
        server: address of the hub's API server.
    """
    urls = [str(one.get("url") or "").rstrip("/") for one in (cluster.get("spec") or {}).get("managedClusterClientConfigs") or []]
    labels = (cluster.get("metadata") or {}).get("labels") or {}
    return labels.get(_LOCAL) == "true" or server.rstrip("/") in urls


def variables(cluster: Cluster, gpu_resources: Sequence[str] = GPU_RESOURCES) -> dict[str, Any]:
    """Host variables of a ManagedCluster; each is always there, with an empty value where nothing is known.

    Args:
        gpu_resources: names of resources that count as GPUs, C(*) matches any text.
    """
    spec, status = cluster.get("spec") or {}, cluster.get("status") or {}
    labels = dict(cluster["metadata"].get("labels") or {})
    conditions = {
        one["type"]: {**{key: one.get(key, "") for key in ("status", "reason", "message")}, "since": one.get("lastTransitionTime") or ""}
        for one in status.get("conditions") or []
        if one.get("type")
    }
    allocatable = _amounts(status.get("allocatable"))
    counts = {name: _whole(amount) for name, amount in allocatable.items() if any(fnmatchcase(name, pattern) for pattern in gpu_resources)}
    gpus = {name: count for name, count in counts.items() if count}
    available = conditions.get("ManagedClusterConditionAvailable", {}).get("status")
    return {
        "ocm_name": name_of(cluster),
        "ocm_labels": labels,
        "ocm_cluster_set": labels.get(api.SET_LABEL, ""),
        "ocm_addons": {label[len(api.ADDON_LABEL) :]: state for label, state in labels.items() if label.startswith(api.ADDON_LABEL)},
        "ocm_claims": {claim["name"]: claim.get("value", "") for claim in status.get("clusterClaims") or [] if claim.get("name")},
        "ocm_kubernetes_version": (status.get("version") or {}).get("kubernetes") or "",
        "ocm_api_urls": [config["url"] for config in spec.get("managedClusterClientConfigs") or [] if config.get("url")],
        "ocm_accepted": is_accepted(cluster),
        "ocm_joined": conditions.get("ManagedClusterJoined", {}).get("status") == "True",
        "ocm_available": available == "True",
        # False: the agent reports that its cluster is unhealthy. Unknown, or no condition at all: the agent reports nothing.
        "ocm_availability": {"True": "available", "False": "unavailable"}.get(available or "", "unknown"),
        "ocm_conditions": conditions,
        "ocm_taints": [
            {**{key: taint.get(key, "") for key in ("key", "value", "effect")}, "time_added": taint.get("timeAdded") or ""}
            for taint in spec.get("taints") or []
        ],
        "ocm_capacity": _amounts(status.get("capacity")),
        "ocm_allocatable": allocatable,
        "ocm_cpus": float(_number(allocatable.get("cpu", ""))),
        "ocm_memory_bytes": _whole(allocatable.get("memory", "")),
        "ocm_gpus": sum(gpus.values()),
        "ocm_gpu_resources": gpus,
    }


def _amounts(resources: Mapping[str, Any] | None) -> dict[str, str]:
    """Amounts as text: the API server serves quantities as numbers where they were written so."""
    return {name: str(amount) for name, amount in (resources or {}).items()}


def _number(amount: str) -> Decimal:
    """A quantity's value; 0 for what is none, is negative, or cannot be meant."""
    try:
        value = quantity(amount)
        return value if value is not None and value.is_finite() and 0 <= value <= _MOST else Decimal(0)
    except DecimalException:
        return Decimal(0)


def _whole(amount: str) -> int:
    return int(_number(amount))
