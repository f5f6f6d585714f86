# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a Placement decided. Pure.

Source: open-cluster-management.io/api C(cluster/v1beta1): a PlacementDecision has at most 100 decisions and has its
Placement and its decision group in labels; a decision without a cluster name is not complete yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..spec.addon_spec import PLACEMENTS
from . import api


def references(management: Mapping[str, Any] | None) -> set[tuple[str, str]] | None:
    """Namespace and name of the Placements by which a ClusterManagementAddOn gets its clusters; None without that strategy."""
    strategy = ((management or {}).get("spec") or {}).get("installStrategy") or {}
    if strategy.get("type") != PLACEMENTS:
        return None
    return {(one["namespace"], one["name"]) for one in strategy.get("placements") or []}


def taken_over(management: Mapping[str, Any] | None) -> set[tuple[str, str]]:
    """Namespace and name of the Placements from which OCM's add-on manager has begun to take the clusters of an add-on."""
    status = (management or {}).get("status") or {}
    return {(one["namespace"], one["name"]) for one in status.get("installProgressions") or []}


def decisions(slices: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Names of the selected clusters, each with its host variables.

    Args:
        slices: all PlacementDecisions of one Placement.
    """
    chosen: dict[str, dict[str, Any]] = {}
    for part in slices:
        labels = part["metadata"].get("labels") or {}
        index = labels.get(api.GROUP_INDEX_LABEL, "")
        group = {
            "ocm_decision_group": labels.get(api.GROUP_NAME_LABEL, ""),
            "ocm_decision_group_index": int(index) if index.isdecimal() else 0,
        }
        for decision in (part.get("status") or {}).get("decisions") or []:
            if decision.get("clusterName"):
                chosen[decision["clusterName"]] = group
    return chosen


def remark(placement: Mapping[str, Any], found: int) -> str:
    """A remark on a Placement, or nothing: it selected no cluster, or is being evaluated again.

    Args:
        placement: the object.
        found: the number of clusters in its decisions.
    """
    status = placement.get("status") or {}
    reported = status.get("numberOfSelectedClusters") or 0
    if found and found < reported:
        return f"has selected {reported} clusters, but its decisions list only {found} so far: they are still being written. Read the inventory again"
    if found:
        return ""
    reasons = {condition.get("type"): condition for condition in status.get("conditions") or []}
    for kind, bad in (("PlacementMisconfigured", "True"), ("PlacementSatisfied", "False")):
        reason = reasons.get(kind) or {}
        if reason.get("status") == bad:
            return (
                f"has selected no cluster: {reason.get('message') or reason.get('reason')}{_way_out(placement, reason)}"
            )
    if not reasons:
        return "has no status: does the placement controller run on the hub?"
    return "has selected no cluster"


def _way_out(placement: Mapping[str, Any], reason: Mapping[str, Any]) -> str:
    if reason.get("reason") in ("NoManagedClusterSetBindings", "NoIntersection"):
        namespace = placement["metadata"]["namespace"]
        return f". A ManagedClusterSetBinding in the namespace {namespace} binds a cluster set to it"
    return ""
