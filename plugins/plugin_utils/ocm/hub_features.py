# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Features of a hub of Open Cluster Management, and how soon the agents of clusters report the state of objects.

An agent reads values at its C(--status-sync-interval), which the operator sets to 60 s where the agent has one replica (with jitter
up to 114 s were seen with 1.3.1). With C(feedbackScrapeType: Watch) it reports at once. Source: C(work/v1) of
open-cluster-management.io/api 1.2; the agent has 50 watches, and polls what is beyond them.

Source: C(operator/v1) of open-cluster-management.io/api, ClusterManager: C(status.observedGeneration), and the conditions
C(Applied) and C(ValidFeatureGates).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..kube.api_errors import NotFound
from ..kube.client import Cluster
from . import api, checks
from .statuses import condition

Object = dict[str, Any]

FIELD, WATCH = "feedbackScrapeType", "Watch"
# Of an agent's 50: a site has two or three ManifestWorks, and its cluster may be in other federations.
_MOST = 12

# Feature -> part of the ClusterManager's spec.
PARTS = {feature: part for part, feature in (checks.REPLICA_SETS_GATE,)}


def _knows(options: list[Mapping[str, Any]]) -> bool:
    """Whether options of a live object show the field: a hub that supports it sets its default."""
    return any(FIELD in one for one in options)


def served(hub: Cluster, live: Mapping[str, Any] | None) -> bool:
    """Whether the hub's ManifestWorks have the field.

    Args:
        hub: a connection to it.
        live: a ManifestWork with options, if there is one: then the hub need not be asked.
    """
    options = ((live or {}).get("spec") or {}).get("manifestConfigs") or []
    if options:
        return _knows(options)
    return api.supports_watch(document(hub, api.WORKS))


def is_watched(live_set: Mapping[str, Any]) -> bool:
    """Whether a ManifestWorkReplicaSet requests watches."""
    options = live_set["spec"]["manifestWorkTemplate"].get("manifestConfigs") or []
    return any(one.get(FIELD) == WATCH for one in options)


def document(hub: Cluster, version: str) -> dict[str, Any]:
    """The schema of an API version; empty where it is not served."""
    try:
        return hub.request("GET", f"/openapi/v3/apis/{version}")
    except NotFound:
        return {}


def watched(spec: Mapping[str, Any]) -> Object:
    """The specification of a ManifestWork whose values are reported at once: those of all objects, or of what is
    written if they are many.

    Nothing that a cluster gets is changed by it.
    """
    asked = [one for one in spec.get("manifestConfigs") or [] if one.get("feedbackRules")]
    written = [one for one in asked if (one.get("updateStrategy") or {}).get("type") != "ReadOnly"]
    chosen = asked if len(asked) <= _MOST else written[:_MOST]
    marked = [
        {**one, FIELD: WATCH} if any(one is other for other in chosen) else one for one in spec["manifestConfigs"]
    ]
    return {**spec, "manifestConfigs": marked}


def missing_gates(manager: Mapping[str, Any], features: Iterable[str]) -> list[str]:
    """Those that are not enabled."""
    return [feature for feature in features if not checks.gate_is_on(manager, PARTS[feature], feature)]


def taken_over(manager: Mapping[str, Any], generation: int) -> tuple[bool, str]:
    """Whether the operator has applied this generation; and why not.

    A condition that is missing, or of an older generation, is not conclusive.
    """
    seen = (manager.get("status") or {}).get("observedGeneration") or 0
    if seen < generation:
        return False, "it has not processed it yet"
    for kind in ("ValidFeatureGates", "Applied"):
        reported = condition(manager, kind)
        if reported.get("status") == "False" and reported.get("observedGeneration", generation) >= generation:
            return False, f"{kind}: {reported.get('message') or reported.get('reason')}"
    return True, ""
