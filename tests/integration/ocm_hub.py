# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""An API server that knows the kinds of an Open Cluster Management hub, and objects as its controllers and agents leave them.

No controller of Open Cluster Management is at work here: what they would write, the tests write. The definitions are as small
as they can be, with the names, scopes, versions, subresources, limits and patterns of the real ones (open-cluster-management.io/api).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster, connect
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api

Object = dict[str, Any]
CRD = ("apiextensions.k8s.io/v1", "CustomResourceDefinition")
#: Every object made here has it, so that a hub with clusters of its own can be used, too.
MARK = "federated.flower/test"

_TEXT: Object = {"type": "string"}
_ANY: Object = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
_AMOUNT: Object = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$",
    "x-kubernetes-int-or-string": True,
}


def _list(**properties: Object) -> Object:
    return {"type": "array", "items": _object(**properties)}


def _object(**properties: Object) -> Object:
    return {"type": "object", "properties": properties}


_CONDITIONS = _list(
    type=_TEXT,
    status={"type": "string", "enum": ["True", "False", "Unknown"]},
    reason={"type": "string", "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$"},
    message={"type": "string", "maxLength": 32768},
    lastTransitionTime={"type": "string", "format": "date-time"},
)
_RESOURCES = {"type": "object", "additionalProperties": _AMOUNT}
_CLUSTER_SPEC = _object(
    hubAcceptsClient={"type": "boolean"},
    leaseDurationSeconds={"type": "integer", "default": 60},
    managedClusterClientConfigs=_list(url=_TEXT, caBundle={"type": "string", "format": "byte"}),
    taints=_list(
        key={"type": "string", "maxLength": 316},
        value={"type": "string", "maxLength": 1024},
        effect={"type": "string", "enum": ["NoSelect", "PreferNoSelect", "NoSelectIfNew"]},
        timeAdded={"type": "string", "format": "date-time", "nullable": True},
    ),
)
_CLUSTER_STATUS = _object(
    conditions=_CONDITIONS,
    capacity=_RESOURCES,
    allocatable=_RESOURCES,
    version=_object(kubernetes=_TEXT),
    clusterClaims=_list(
        name={"type": "string", "minLength": 1, "maxLength": 253},
        value={"type": "string", "minLength": 1, "maxLength": 1024},
    ),
)
_DECISIONS = _object(decisions=_list(clusterName=_TEXT, reason=_TEXT))


def _definition(
    api_version: str, kind: str, namespaced: bool, spec: Object | None = None, status: Object | None = None
) -> Object:
    plural = f"{kind.lower()}s"
    version = {
        "name": api_version.partition("/")[2],
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": _object(spec=spec or _ANY, status=status or _ANY)},
    }
    return {
        "apiVersion": CRD[0],
        "kind": CRD[1],
        "metadata": {"name": f"{plural}.{api.GROUP}", "labels": {MARK: "true"}},
        "spec": {
            "group": api.GROUP,
            "scope": "Namespaced" if namespaced else "Cluster",
            "names": {"kind": kind, "plural": plural, "singular": kind.lower(), "listKind": f"{kind}List"},
            "versions": [version],
        },
    }


DEFINITIONS = (
    _definition(api.CLUSTERS, "ManagedCluster", False, _CLUSTER_SPEC, _CLUSTER_STATUS),
    _definition(api.SETS, "ManagedClusterSet", False),
    _definition(api.SETS, "ManagedClusterSetBinding", True),
    _definition(api.PLACEMENTS, "Placement", True),
    _definition(api.PLACEMENTS, "PlacementDecision", True, status=_DECISIONS),
)


def install(hub: Cluster) -> list[str]:
    """Make the definitions that are not there. Returns their names, for remove()."""
    made = []
    for definition in DEFINITIONS:
        name = definition["metadata"]["name"]
        wait(lambda name=name: not ((hub.get(*CRD, name) or {}).get("metadata") or {}).get("deletionTimestamp"))
        if hub.get(*CRD, name) is None:
            hub.create(definition)
            made.append(name)
        wait(lambda name=name: _established(hub.get(*CRD, name) or {}))
    return made


def remove(hub: Cluster, definitions: Iterable[str]) -> None:
    """Remove all objects that have the mark, and these definitions."""
    path = f"/apis/{api.CLUSTERS}/managedclusters"
    for cluster in hub.list(api.CLUSTERS, "ManagedCluster", labels=MARK):
        if cluster["metadata"].get("finalizers"):
            body = {"metadata": {"finalizers": None}}
            hub.patch(api.CLUSTERS, "ManagedCluster", cluster["metadata"]["name"], None, body)
    hub.request("DELETE", path, query={"labelSelector": MARK})
    for one in hub.list(api.SETS, "ManagedClusterSet", labels=MARK):
        hub.delete(api.SETS, "ManagedClusterSet", one["metadata"]["name"])
    for name in definitions:
        hub.delete(*CRD, name)
    wait(lambda: all(hub.get(*CRD, name) is None for name in definitions))


def put(hub: Cluster, item: Object) -> None:
    """Create an object, and write its status as a controller does; others may be at work on it meanwhile."""
    marked = {**item, "metadata": {**item["metadata"], "labels": {MARK: "true", **item["metadata"].get("labels", {})}}}
    made = hub.create(marked)
    if "status" in item:
        path = hub.resource(item["apiVersion"], item["kind"]).path(
            item["metadata"].get("namespace"), made["metadata"]["name"]
        )
        body = {"status": item["status"]}
        hub.request("PATCH", f"{path}/status", body=body, content_type="application/merge-patch+json")


def put_all(auth: Object, items: list[Object], connections: int = 4) -> None:
    """Put many objects, over several connections."""

    def some(number: int) -> None:
        with connect(auth) as hub:
            for item in items[number::connections]:
                put(hub, item)

    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(some, range(connections)))


def _established(definition: Object) -> bool:
    conditions = (definition.get("status") or {}).get("conditions") or []
    return any(one["type"] == "Established" and one["status"] == "True" for one in conditions)


def wait(is_so: Any, seconds: float = 60) -> None:
    """Wait until something is so."""
    deadline = time.monotonic() + seconds
    while True:
        try:
            if is_so():
                return
        except NotFound:
            pass  # a definition on its way
        assert time.monotonic() < deadline, "the API server does not get there"
        time.sleep(0.1)


# ---- objects ---------------------------------------------------------------------------------------------------------

SINCE = "2026-11-21T08:15:30Z"
REGIONS = ("eu", "us", "apac")


def condition(kind: str, status: str, reason: str, message: str = "") -> Object:
    """A condition of a status."""
    return {"type": kind, "status": status, "reason": reason, "message": message, "lastTransitionTime": SINCE}


def managed_cluster(name: str, labels: Object | None = None, **changes: Any) -> Object:
    """A ManagedCluster that has joined and is healthy.

    Args:
        name: its name.
        labels: its labels.
        changes: C(accepted), C(available) (True, False or Unknown, as text), C(claims), C(allocatable), C(taints), C(finalizers).
    """
    accepted, available = changes.get("accepted", True), changes.get("available", "True")
    conditions = [condition("HubAcceptedManagedCluster", "True", "HubClusterAdminAccepted")] if accepted else []
    if accepted:
        conditions += [
            condition("ManagedClusterJoined", "True", "ManagedClusterJoined", "Managed cluster joined"),
            condition("ManagedClusterConditionAvailable", available, "ManagedClusterAvailable"),
        ]
    amounts = {"cpu": "15500m", "memory": "64221184Ki", "pods": "110", "ephemeral-storage": "95491281146"}
    allocatable = {**amounts, **changes.get("allocatable", {})}
    claims = {
        "id.k8s.io": f"{name}-id",
        "kubeversion.open-cluster-management.io": "v1.31.4",
        "platform.open-cluster-management.io": "AWS",
        "product.open-cluster-management.io": "EKS",
        **changes.get("claims", {}),
    }
    return {
        "apiVersion": api.CLUSTERS,
        "kind": "ManagedCluster",
        "metadata": {"name": name, "labels": labels or {}, "finalizers": changes.get("finalizers", [])},
        "spec": {
            "hubAcceptsClient": accepted,
            "managedClusterClientConfigs": [{"url": f"https://api.{name}.example.com:6443", "caBundle": "LS0tLS1CRUdJTg=="}],
            "taints": changes.get("taints", []),
        },
        "status": {
            "conditions": conditions,
            "version": {"kubernetes": "v1.31.4"},
            "allocatable": allocatable,
            "capacity": {**allocatable, "cpu": "16"},
            "clusterClaims": [{"name": key, "value": value} for key, value in claims.items()],
        },
    }  # fmt: skip


def fleet(count: int, first: int = 0) -> list[Object]:
    """Many clusters: three regions, every fourth with A100s, every hundredth unreachable, ten cluster sets."""
    made = []
    for number in range(first, first + count):
        gpu = number % 4 == 0
        labels = {
            "region": REGIONS[number % 3],
            "vendor": "OpenShift" if number % 2 else "Kubernetes",
            api.SET_LABEL: f"set-{number % 10}",
            f"{api.ADDON_LABEL}flower-supernode": "available" if number % 100 else "unreachable",
            f"{api.ADDON_LABEL}work-manager": "available",
            **({"gpu": "a100"} if gpu else {}),
        }
        taint = {"key": f"{api.GROUP}/unreachable", "effect": "NoSelect", "timeAdded": SINCE}
        made.append(
            managed_cluster(
                f"fleet-{number:04}",
                labels,
                available="True" if number % 100 else "Unknown",
                taints=[] if number % 100 else [taint],
                allocatable={"nvidia.com/gpu": "4"} if gpu else {},
            )
        )
    return made


def example() -> list[Object]:
    """The clusters of inventories/example-ocm, one that is not meant, and their cluster set."""
    gpus = {"nvidia.com/gpu": "4"}
    taint = {"key": f"{api.GROUP}/unreachable", "effect": "NoSelect", "timeAdded": SINCE}
    site = {api.SET_LABEL: "oncology", "flower": "site", f"{api.ADDON_LABEL}work-manager": "available"}
    eu, us, a100 = {**site, "region": "eu"}, {**site, "region": "us"}, {"gpu": "a100"}
    return [
        cluster_set("oncology"),
        managed_cluster("clinic-lyon", eu),
        managed_cluster("clinic-turin", eu, available="Unknown", taints=[taint]),
        managed_cluster("institute-zurich", {**eu, **a100}, allocatable=gpus),
        managed_cluster("hospital-boston", us),
        managed_cluster("lab-denver", {**us, **a100}, allocatable=gpus),
        managed_cluster("office-paris", {api.SET_LABEL: "oncology", "region": "eu"}),
        managed_cluster("newcomer", us, accepted=False),
    ]


def cluster_set(name: str, selector: Object | None = None) -> Object:
    """A ManagedClusterSet: of the clusters with its name in their label, or of those that a selector selects."""
    spec: Object = {"selectorType": "ExclusiveClusterSetLabel"}
    if selector is not None:
        spec = {"selectorType": "LabelSelector", "labelSelector": selector}
    return {
        "apiVersion": api.SETS,
        "kind": "ManagedClusterSet",
        "metadata": {"name": name},
        "spec": {"clusterSelector": spec},
    }


def placement(
    name: str, namespace: str, selected: int, reason: str = "AllDecisionsScheduled", message: str = ""
) -> Object:
    """A Placement with its status."""
    conditions = [
        condition("PlacementMisconfigured", "False", "Succeedconfigured", "Placement configurations check pass"),
        condition("PlacementSatisfied", "True" if selected else "False", reason, message),
    ]
    return {
        "apiVersion": api.PLACEMENTS,
        "kind": "Placement",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"clusterSets": ["global"]},
        "status": {"numberOfSelectedClusters": selected, "conditions": conditions},
    }


def decisions(name: str, namespace: str, groups: list[tuple[str, list[str]]]) -> list[Object]:
    """PlacementDecisions of a Placement: decision groups (name, clusters), in slices of at most 100."""
    made: list[Object] = []
    for index, (group, clusters) in enumerate(groups):
        for start in range(0, max(len(clusters), 1), 100):
            labels = {api.PLACEMENT_LABEL: name, api.GROUP_NAME_LABEL: group, api.GROUP_INDEX_LABEL: str(index)}
            chosen = [{"clusterName": one, "reason": ""} for one in clusters[start : start + 100]]
            made.append(
                {
                    "apiVersion": api.PLACEMENTS,
                    "kind": "PlacementDecision",
                    "metadata": {
                        "name": f"{name}-decision-{len(made) + 1}",
                        "namespace": namespace,
                        "labels": labels,
                    },
                    "status": {"decisions": chosen},
                }
            )
    return made
