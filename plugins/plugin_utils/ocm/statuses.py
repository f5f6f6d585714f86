# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluate the status of a ManifestWork, a ManagedClusterAddOn and a Placement. Pure.

Source: C(work/v1) of open-cluster-management.io/api: C(status.conditions), and per manifest C(resourceMeta), C(conditions) and
C(statusFeedback). The agent writes values at once or up to two minutes after a change: see hub_features.py.

Source: C(pkg/addon/controllers/addonprogressing) of open-cluster-management.io/ocm: C(lastAppliedConfig) becomes
C(desiredConfig) when the add-on's ManifestWork of these configs is applied and its objects are there. It stays so when the
cluster is lost later. C(Completed) means no more than that: pods are not checked.

Source: open-cluster-management.io/api C(cluster/v1beta1): a PlacementDecision has at most 100 decisions and has its
Placement and its decision group in labels; a decision without a cluster name is not complete yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..spec.hub_spec import PLACEMENTS
from . import api

# Kind and name of an object in a ManifestWork; all of a site's are in one namespace.
Which = tuple[str, str]
Values = dict[str, Any]

_FIELDS = {"String": "string", "Integer": "integer", "Boolean": "boolean", "JsonRaw": "jsonRaw"}


class Applied(NamedTuple):
    """Whether the cluster has the content of the ManifestWork.

    Attributes:
        done: all of it, in its present form.
        why: what is missing; empty when done.
        failed: the cluster refused some of it; the agent retries.
    """

    done: bool
    why: str = ""
    failed: bool = False


def condition(item: Mapping[str, Any] | None, kind: str) -> Mapping[str, Any]:
    """A condition of an object's status; empty when it has none of this type."""
    for one in ((item or {}).get("status") or {}).get("conditions") or []:
        if one.get("type") == kind:
            return one
    return {}


def manifests(work: Mapping[str, Any] | None) -> list[Mapping[str, Any]]:
    """The status of each manifest."""
    status = (work or {}).get("status") or {}
    return (status.get("resourceStatus") or {}).get("manifests") or []


def applied(work: Mapping[str, Any] | None) -> Applied:
    """Whether the cluster has applied the current form of a ManifestWork"""
    if work is None:
        return Applied(False, "nothing was delivered yet")
    if work["metadata"].get("deletionTimestamp"):
        return Applied(False, "it is being deleted")
    reported = condition(work, "Applied")
    if not reported or reported.get("observedGeneration", 0) < work["metadata"].get("generation", 0):
        return Applied(False, "the cluster's agent has not applied it yet")
    refused = _refused(work)
    if reported.get("status") == "True" and not refused:
        return Applied(True)
    return Applied(False, "; ".join(refused) or str(reported.get("message") or reported.get("reason")), failed=True)


def _refused(work: Mapping[str, Any]) -> list[str]:
    found = []
    for one in manifests(work):
        reported = condition({"status": one}, "Applied")
        if reported.get("status") == "False":
            meta = one.get("resourceMeta") or {}
            name = "/".join(filter(None, (meta.get("namespace"), meta.get("name"))))
            found.append(f"{meta.get('kind')} {name}: {reported.get('message') or reported.get('reason')}")
    return found


def feedback(work: Mapping[str, Any] | None) -> dict[Which, Values]:
    """Reported values, by object. An object that does not exist, or has none yet, is not among them."""
    found: dict[Which, Values] = {}
    for one in manifests(work):
        meta = one.get("resourceMeta") or {}
        values = {
            value["name"]: value["fieldValue"].get(_FIELDS.get(value["fieldValue"].get("type", ""), ""))
            for value in (one.get("statusFeedback") or {}).get("values") or []
        }
        if values:
            found[meta.get("kind", ""), meta.get("name", "")] = values
    return found


def is_there(work: Mapping[str, Any] | None, which: Which) -> bool:
    """Whether the cluster has an object of the ManifestWork, according to its agent's last report."""
    for one in manifests(work):
        meta = one.get("resourceMeta") or {}
        if (meta.get("kind"), meta.get("name")) == which:
            return condition({"status": one}, "Available").get("status") == "True"
    return False


class AddOnState(NamedTuple):
    """Attributes: C(done) when the cluster has the content of the configs; else C(why) not, and C(failed) when OCM has given up."""

    done: bool
    why: str = ""
    failed: bool = False


def addon_state(addon: Mapping[str, Any] | None, references: Sequence[Mapping[str, Any]]) -> AddOnState:
    """Whether the cluster has the content of these configs

    Args:
        addon: the live ManagedClusterAddOn.
        references: the wanted template and config.
    """
    if addon is None:
        return AddOnState(False, "there is none")
    if addon["metadata"].get("deletionTimestamp"):
        return AddOnState(False, "it is being deleted")
    progressing = condition(addon, "Progressing")
    if progressing.get("reason") in ("Failed", "ConfigurationUnsupported"):
        return AddOnState(False, str(progressing.get("message") or progressing["reason"]), failed=True)
    reported = {one.get("resource"): one for one in (addon.get("status") or {}).get("configReferences") or []}
    for wanted in references:
        one = reported.get(wanted["resource"]) or {}
        if not _names(one.get("desiredConfig"), wanted):
            return AddOnState(False, f"OCM has not applied {wanted['resource']} {wanted['name']} yet")
    refused = condition(addon, "ManifestApplied")
    if refused.get("status") == "False":
        return AddOnState(False, str(refused.get("message") or refused.get("reason")), failed=True)
    for wanted in references:
        if not _names((reported[wanted["resource"]]).get("lastAppliedConfig"), wanted):
            return AddOnState(False, f"the cluster does not have {wanted['resource']} {wanted['name']} yet")
    return AddOnState(True)


def _names(config: Mapping[str, Any] | None, wanted: Mapping[str, Any]) -> bool:
    given = config or {}
    return given.get("name") == wanted["name"] and (given.get("namespace") or "") == (wanted.get("namespace") or "")


def addon_references(addon: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """(resource, namespace, name) of every config that an add-on lists, wants or has."""
    spec, status = addon.get("spec") or {}, addon.get("status") or {}
    found = [*(spec.get("configs") or [])]
    for one in status.get("configReferences") or []:
        group = {"resource": one.get("resource")}
        found += [{**group, **(one.get(part) or {})} for part in ("desiredConfig", "lastAppliedConfig")]
        found.append(one)
    return {(one["resource"], one.get("namespace") or "", one["name"]) for one in found if one.get("name")}


def placement_references(management: Mapping[str, Any] | None) -> set[tuple[str, str]] | None:
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
