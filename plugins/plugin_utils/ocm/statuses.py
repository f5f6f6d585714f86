# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Evaluate the status of a ManifestWork, a ManagedClusterAddOn and a Placement. Pure.

Source: C(work/v1) of open-cluster-management.io/api: C(status.conditions), and per manifest C(resourceMeta), C(conditions) and
C(statusFeedback). The agent writes values at once or up to two minutes after a change: see hub_reader.py.

Source: C(pkg/addon/controllers/addonprogressing) of open-cluster-management.io/ocm: C(lastAppliedConfig) becomes
C(desiredConfig) when the add-on's ManifestWork of these configs is applied and its objects are there. It stays so when the
cluster is lost later. C(Completed) means no more than that: pods are not checked.

Source: open-cluster-management.io/api C(cluster/v1beta1): a PlacementDecision has at most 100 decisions and has its
Placement and its decision group in labels; a decision without a cluster name is not complete yet.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..apply.readiness import READY, State
from ..apply.readiness import condition as find_condition
from ..spec.hub_spec import PLACEMENTS
from . import api

Object = Mapping[str, Any]
# Kind and name of an object in a ManifestWork; all of a site's are in one namespace.
Which = tuple[str, str]
Values = dict[str, Any]

_FIELDS = {"String": "string", "Integer": "integer", "Boolean": "boolean", "JsonRaw": "jsonRaw"}


def condition(item: Object | None, kind: str) -> Object:
    """A condition of an object's status; empty when it has none of this type."""
    return find_condition(item or {}, kind) or {}


def _why(reported: Object) -> str:
    return str(reported.get("message") or reported.get("reason"))


def listed_manifests(work: Object | None) -> list[dict[str, Any]]:
    """The manifests of a ManifestWork."""
    return ((((work or {}).get("spec") or {}).get("workload") or {}).get("manifests")) or []


def _reports(work: Object | None) -> list[tuple[Object, Object]]:
    """The status of each manifest: what it is of, and itself."""
    status = (work or {}).get("status") or {}
    return [(one.get("resourceMeta") or {}, one) for one in (status.get("resourceStatus") or {}).get("manifests") or []]


def applied(work: Object | None) -> State:
    """Whether the cluster has applied the current form of a ManifestWork; C(failed): it refused some of it, and its agent retries."""
    if work is None:
        return State(False, "nothing was delivered yet")
    if work["metadata"].get("deletionTimestamp"):
        return State(False, "it is being deleted")
    reported = condition(work, "Applied")
    if not reported or reported.get("observedGeneration", 0) < work["metadata"].get("generation", 0):
        return State(False, "the cluster's agent has not applied it yet")
    refused = []
    for meta, one in _reports(work):
        found = condition({"status": one}, "Applied")
        if found.get("status") == "False":
            refused.append(f"{meta.get('kind')} {'/'.join(filter(None, (meta.get('namespace'), meta.get('name'))))}: {_why(found)}")
    if reported.get("status") == "True" and not refused:
        return READY
    return State(False, "; ".join(refused) or _why(reported), True)


def feedback(work: Object | None) -> dict[Which, Values]:
    """Reported values, by object. An object that does not exist, or has none yet, is not among them."""
    found: dict[Which, Values] = {}
    for meta, one in _reports(work):
        values = {
            value["name"]: value["fieldValue"].get(_FIELDS.get(value["fieldValue"].get("type", ""), ""))
            for value in (one.get("statusFeedback") or {}).get("values") or []
        }
        if values:
            found[meta.get("kind", ""), meta.get("name", "")] = values
    return found


def is_there(work: Object | None, which: Which) -> bool:
    """Whether the cluster has an object of the ManifestWork, according to its agent's last report."""
    found = [one for meta, one in _reports(work) if (meta.get("kind"), meta.get("name")) == which]
    return bool(found) and condition({"status": found[0]}, "Available").get("status") == "True"


def addon_state(addon: Object | None, references: Sequence[Object]) -> State:
    """Whether the cluster has the content of these configs; C(failed): OCM has given up.

    Args:
        addon: the live ManagedClusterAddOn.
        references: the wanted template and config.
    """
    if addon is None:
        return State(False, "there is none")
    if addon["metadata"].get("deletionTimestamp"):
        return State(False, "it is being deleted")
    progressing = condition(addon, "Progressing")
    if progressing.get("reason") in ("Failed", "ConfigurationUnsupported"):
        return State(False, _why(progressing), True)
    reported = {one.get("resource"): one for one in (addon.get("status") or {}).get("configReferences") or []}

    def lacks(part: str) -> str:
        """The first config that is not in this part of the status."""
        for wanted in references:
            given = (reported.get(wanted["resource"]) or {}).get(part) or {}
            if (given.get("name"), given.get("namespace") or "") != (wanted["name"], wanted.get("namespace") or ""):
                return f"{wanted['resource']} {wanted['name']}"
        return ""

    if missing := lacks("desiredConfig"):
        return State(False, f"OCM has not applied {missing} yet")
    refused = condition(addon, "ManifestApplied")
    if refused.get("status") == "False":
        return State(False, _why(refused), True)
    missing = lacks("lastAppliedConfig")
    return State(not missing, f"the cluster does not have {missing} yet" if missing else "")


def placement_references(management: Object | None) -> set[tuple[str, str]] | None:
    """Namespace and name of the Placements by which a ClusterManagementAddOn gets its clusters; None without that strategy."""
    strategy = ((management or {}).get("spec") or {}).get("installStrategy") or {}
    if strategy.get("type") != PLACEMENTS:
        return None
    return {(one["namespace"], one["name"]) for one in strategy.get("placements") or []}


def decisions(slices: Iterable[Object]) -> dict[str, dict[str, Any]]:
    """Names of the selected clusters, each with its host variables.

    Args:
        slices: all PlacementDecisions of one Placement.
    """
    chosen: dict[str, dict[str, Any]] = {}
    for part in slices:
        labels = part["metadata"].get("labels") or {}
        index = labels.get(api.GROUP_INDEX_LABEL, "")
        group = {"ocm_decision_group": labels.get(api.GROUP_NAME_LABEL, ""), "ocm_decision_group_index": int(index) if index.isdecimal() else 0}
        listed = (part.get("status") or {}).get("decisions") or []
        chosen |= {decision["clusterName"]: group for decision in listed if decision.get("clusterName")}
    return chosen


def remark(placement: Object, found: int) -> str:
    """A remark on a Placement, or nothing: it selected no cluster, or is being evaluated again.

    Args:
        found: the number of clusters in its decisions.
    """
    status = placement.get("status") or {}
    reported = status.get("numberOfSelectedClusters") or 0
    if found and found < reported:
        return f"has selected {reported} clusters, but its decisions list only {found} so far: they are still being written. Read the inventory again"
    if found:
        return ""
    for kind, bad in (("PlacementMisconfigured", "True"), ("PlacementSatisfied", "False")):
        reason = condition(placement, kind)
        if reason.get("status") == bad:
            unbound = reason.get("reason") in ("NoManagedClusterSetBindings", "NoIntersection")
            remedy = f". A ManagedClusterSetBinding in the namespace {placement['metadata']['namespace']} binds a cluster set to it" if unbound else ""
            return f"has selected no cluster: {_why(reason)}{remedy}"
    return "has selected no cluster" if status.get("conditions") else "has no status: check that the placement controller is running on the hub"
