# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Features of a hub of Open Cluster Management: which fields its API has, how soon the agents of clusters report the state of objects, and the
feature gate by which ClientApps are delivered.

An agent reads values at its C(--status-sync-interval), which the operator sets to 60 s where the agent has one replica (with jitter
up to 114 s were seen with 1.3.1). With C(feedbackScrapeType: Watch) it reports at once. Source: C(work/v1) of
open-cluster-management.io/api 1.2; the agent has 50 watches, and polls what is beyond them.

Source: C(operator/v1) of open-cluster-management.io/api, ClusterManager: C(status.observedGeneration), and the conditions
C(Applied) and C(ValidFeatureGates).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..apply.readiness import READY, State
from ..kube.api_errors import Forbidden, NotFound, NotServed
from ..kube.client import Cluster
from . import api
from .statuses import condition

Object = dict[str, Any]

FIELD, WATCH = "feedbackScrapeType", "Watch"
# Of an agent's 50: a site has two or three ManifestWorks, and its cluster may be in other federations.
_MOST = 12


def document(hub: Cluster, version: str) -> dict[str, Any]:
    """The schema of an API version; empty where it is not served."""
    try:
        return hub.request("GET", f"/openapi/v3/apis/{version}")
    except NotFound:
        return {}


# ---- watches ---------------------------------------------------------------------------------------------------------


def with_watches(hub: Cluster, work: Object, live: Mapping[str, Any] | None) -> Object:
    """A ManifestWork whose values are reported at once, where the hub supports it.

    Args:
        hub: a connection to it.
        work: what is to be applied.
        live: a ManifestWork with options, if there is one: then the hub need not be asked, since it sets the field's default.
    """
    options = ((live or {}).get("spec") or {}).get("manifestConfigs") or []
    serves = any(FIELD in one for one in options) if options else api.supports_watch(document(hub, api.WORKS))
    return {**work, "spec": watched(work["spec"])} if serves else work


def is_watched(live_set: Mapping[str, Any]) -> bool:
    """Whether a ManifestWorkReplicaSet requests watches."""
    options = live_set["spec"]["manifestWorkTemplate"].get("manifestConfigs") or []
    return any(one.get(FIELD) == WATCH for one in options)


def watched(spec: Mapping[str, Any]) -> Object:
    """The specification of a ManifestWork whose values are reported at once: those of all objects, or of what is
    written if they are many.

    Nothing that a cluster gets is changed by it.
    """
    asked = [number for number, one in enumerate(spec["manifestConfigs"]) if one.get("feedbackRules")]
    written = [number for number in asked if (spec["manifestConfigs"][number].get("updateStrategy") or {}).get("type") != "ReadOnly"]
    chosen = asked if len(asked) <= _MOST else written[:_MOST]
    return {**spec, "manifestConfigs": [{**one, FIELD: WATCH} if number in chosen else one for number, one in enumerate(spec["manifestConfigs"])]}


# ---- the feature gate ------------------------------------------------------------------------------------------------


def manager_of(hub: Cluster) -> dict[str, Any] | None:
    """The ClusterManager; None where there is none, or without the right to read it: then no gate is known to be off."""
    try:
        return next(iter(hub.list(api.OPERATOR, "ClusterManager")), None)
    except (NotServed, Forbidden):
        return None


def operator_state(manager: Mapping[str, Any], generation: int) -> State:
    """Whether the operator has applied this generation. A condition that is missing, or of an older generation, is not conclusive."""
    if ((manager.get("status") or {}).get("observedGeneration") or 0) < generation:
        return State(False, "it has not processed it yet")
    for kind in ("ValidFeatureGates", "Applied"):
        reported = condition(manager, kind)
        if reported.get("status") == "False" and reported.get("observedGeneration", generation) >= generation:
            return State(False, f"{kind}: {reported.get('message') or reported.get('reason')}")
    return READY
