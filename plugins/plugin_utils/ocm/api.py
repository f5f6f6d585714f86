# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names of Open Cluster Management's APIs, its label selectors, and what the served schema supports. Pure.

Source: open-cluster-management.io/api, packages C(cluster), C(addon) and C(work); the versions are those that every release
from 0.16 on serves. From 1.2 on the add-on API is served as C(v1beta1) as well, with other fields, and discovery prefers it:
so every object and every request has C(v1alpha1).

The API server evaluates label selectors, so its rules apply here exactly.
Source: Kubernetes documentation, «Labels and Selectors»; ManagedClusterSet in open-cluster-management.io/api
C(cluster/v1beta2).

Source: the OpenAPI v3 documents that an API server publishes of each CustomResourceDefinition under C(/openapi/v3/apis/GROUP/VERSION),
which every authenticated user may read (ClusterRole C(system:discovery)). A field that the schema does not have is dropped by
the API server silently: a Placement with an unknown C(celSelector) selects every cluster.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

GROUP = "cluster.open-cluster-management.io"

CLUSTERS = f"{GROUP}/v1"  # ManagedCluster
SETS = f"{GROUP}/v1beta2"  # ManagedClusterSet
PLACEMENTS = f"{GROUP}/v1beta1"  # Placement, PlacementDecision

ADDON_GROUP = "addon.open-cluster-management.io"
# ClusterManagementAddOn, AddOnTemplate, AddOnDeploymentConfig, ManagedClusterAddOn
ADDONS = f"{ADDON_GROUP}/v1alpha1"
TEMPLATES_RESOURCE, CONFIGS_RESOURCE = "addontemplates", "addondeploymentconfigs"

WORK_GROUP = "work.open-cluster-management.io"
WORKS = f"{WORK_GROUP}/v1"  # ManifestWork
REPLICA_SETS = f"{WORK_GROUP}/v1alpha1"  # ManifestWorkReplicaSet
# Label of a ManifestWork that a ManifestWorkReplicaSet created: its NAMESPACE.NAME.
REPLICA_SET_LABEL = f"{WORK_GROUP}/manifestworkreplicaset"

OPERATOR = "operator.open-cluster-management.io/v1"  # ClusterManager, Klusterlet

# Annotation of a manifest in an add-on's template: it stays in the cluster when the add-on leaves.
STAYS = f"{ADDON_GROUP}/deletion-orphan"

# Labels of a ManagedCluster.
SET_LABEL = f"{GROUP}/clusterset"
ADDON_LABEL = "feature.open-cluster-management.io/addon-"  # and the add-on's name

# Taints of a ManagedCluster whose agent reports that it is unhealthy, or nothing at all.
UNAVAILABLE = f"{GROUP}/unavailable"
UNREACHABLE = f"{GROUP}/unreachable"

# Labels of a PlacementDecision.
PLACEMENT_LABEL = f"{GROUP}/placement"
GROUP_NAME_LABEL = f"{GROUP}/decision-group-name"
GROUP_INDEX_LABEL = f"{GROUP}/decision-group-index"

# The feature by which ClientApps are delivered, which is off by default, and the part of the ClusterManager's spec that has it.
GATE, PART = "ManifestWorkReplicaSet", "workConfiguration"
REMEDY = (
    f"`clusteradm init --feature-gates={GATE}=true` enables it on a new hub; on others its ClusterManager or "
    "MultiClusterEngine does"
)

_FORMS = {"In": "{key} in ({values})", "NotIn": "{key} notin ({values})", "Exists": "{key}", "DoesNotExist": "!{key}"}

# Paths of fields that not every release has.
_OPTIONS = ("manifestConfigs", "[]")
_SELECTOR = ("spec", "predicates", "[]", "requiredClusterSelector")


def joined_selectors(*selectors: str) -> str:
    """One selector for what all of them select."""
    return ",".join(selector for selector in selectors if selector)


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector object (C(matchLabels), C(matchExpressions)) as text; an empty one selects everything.

    Raises:
        ValueError: an operator that is none of In, NotIn, Exists and DoesNotExist.
    """
    selector = selector or {}
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for expression in selector.get("matchExpressions") or []:
        form = _FORMS.get(expression.get("operator", ""))
        if form is None:
            raise ValueError(f"unknown operator {expression.get('operator')!r}")
        parts.append(form.format(key=expression["key"], values=",".join(expression.get("values") or [])))
    return joined_selectors(*parts)


def of_set(cluster_set: Mapping[str, Any]) -> str:
    """What selects the clusters of a ManagedClusterSet.

    Most sets have the clusters with their name in a label; others, such as C(global), select by labels.

    Raises:
        ValueError: the set selects in a way that is not known here.
    """
    selector = (cluster_set.get("spec") or {}).get("clusterSelector") or {}
    kind = selector.get("selectorType") or "ExclusiveClusterSetLabel"
    if kind == "LabelSelector":
        return selector_text(selector.get("labelSelector"))
    if kind == "ExclusiveClusterSetLabel":
        return f"{SET_LABEL}={cluster_set['metadata']['name']}"
    raise ValueError(f"unknown selectorType {kind!r}")


def schema_field(document: Mapping[str, Any], kind: str, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The schema of a field, or None where it is not known.

    Args:
        path: names of fields; C([]) is an entry of a list.
    """
    schemas = ((document.get("components") or {}).get("schemas") or {}).values()
    of_kind = (one for one in schemas if any(name.get("kind") == kind for name in one.get("x-kubernetes-group-version-kind") or []))
    found: Any = next(of_kind, {})
    for name in path:
        found = found.get("items") if name == "[]" else (found.get("properties") or {}).get(name)
        if not isinstance(found, Mapping):
            return None
    return found


def supports_watch(document: Mapping[str, Any]) -> bool:
    """Whether a ManifestWork can have values reported as soon as they change."""
    return _can_watch(document, "ManifestWork", ("spec", *_OPTIONS))


def supports_replica_set_watch(document: Mapping[str, Any]) -> bool:
    """The same of a ManifestWorkReplicaSet."""
    return _can_watch(document, "ManifestWorkReplicaSet", ("spec", "manifestWorkTemplate", *_OPTIONS))


def _can_watch(document: Mapping[str, Any], kind: str, options: tuple[str, ...]) -> bool:
    return "Watch" in ((schema_field(document, kind, (*options, "feedbackScrapeType")) or {}).get("enum") or [])


def supports_replica_set_rules(document: Mapping[str, Any]) -> bool:
    """Whether a ManifestWorkReplicaSet has conditionRules, for which its rollouts wait."""
    return schema_field(document, "ManifestWorkReplicaSet", ("spec", "manifestWorkTemplate", *_OPTIONS, "conditionRules")) is not None


def unknown_selectors(document: Mapping[str, Any], predicates: list[Mapping[str, Any]]) -> list[str]:
    """Selectors of predicates that the hub would drop."""
    parts = {part for one in predicates for part in one.get("requiredClusterSelector") or {}}
    return sorted(part for part in parts if schema_field(document, "Placement", (*_SELECTOR, part)) is None)


# ---- the feature gate by which ClientApps are delivered ---------------------------------------------------------------


def gates(manager: Mapping[str, Any], part: str = PART) -> list[dict[str, Any]]:
    """The feature gates of a part of the ClusterManager's spec, as they are listed."""
    return ((manager.get("spec") or {}).get(part) or {}).get("featureGates") or []


def is_enabled(manager: Mapping[str, Any]) -> bool:
    """Whether the feature by which ClientApps are delivered is enabled."""
    return any(one.get("feature") == GATE and one.get("mode") == "Enable" for one in gates(manager))


def with_gate(manager: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The list with that feature enabled. The others stay: a merge patch would replace them all."""
    return [*(one for one in gates(manager) if one.get("feature") != GATE), {"feature": GATE, "mode": "Enable"}]


def gate_command(manager: Mapping[str, Any]) -> str:
    """The command that enables the feature and leaves the others as they are."""
    part = {**((manager.get("spec") or {}).get(PART) or {}), "featureGates": with_gate(manager)}
    patch = [{"op": "add", "path": f"/spec/{PART}", "value": part}]  # also where it exists (RFC 6902, 4.1)
    return f"`kubectl patch clustermanager {manager['metadata']['name']} --type=json -p '{json.dumps(patch)}'`"
