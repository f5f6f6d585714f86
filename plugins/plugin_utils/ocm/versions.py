# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Versions of an add-on: those that nothing refers to, and all of them in a repository. Pure.

None is ever changed, so each change of settings leaves one behind. One that some cluster still has (in
C(status.configReferences)) stays: OCM renders it again and again, and a rollback finds it.

A change takes the former version out of the files for a GitOps controller before the sites leave it. So the controller must not delete
it then, and must not be in the way when this collection does (C(lasting)).

Sources: Argo CD documentation, «Sync Options», «No Prune Resources», and «Compare Options», «Ignoring Resources That Are Extraneous»;
Flux documentation, «Kustomization», «Garbage collection».
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..apply import held
from . import addon as addons
from . import addon_objects, api, replica_set

# That a version stays when it leaves the repository, does not count as a difference there, and is not given back to its controller.
_LASTS = {
    "argocd.argoproj.io/compare-options": "IgnoreExtraneous",
    "argocd.argoproj.io/sync-options": "Prune=false",
    held.TAKE_FROM: "argocd-application-controller,argocd-controller,kustomize-controller",
    "kustomize.toolkit.fluxcd.io/prune": "disabled",
}


def lasting(item: Mapping[str, Any]) -> dict[str, Any]:
    """An object as a GitOps controller may have it: if it is a version, one that only this collection deletes."""
    if item["kind"] not in addon_objects.VERSIONED:
        return dict(item)
    meta = item["metadata"]
    return {**item, "metadata": {**meta, "annotations": {**(meta.get("annotations") or {}), **_LASTS}}}


def _of_management(addon: Mapping[str, Any]) -> set[tuple[str, str, str]]:
    """Configs to which a ClusterManagementAddOn refers: as a default, for a Placement, or in the status of a rollout."""
    spec, status = addon.get("spec") or {}, addon.get("status") or {}
    found: list[Mapping[str, Any]] = []
    for one in spec.get("supportedConfigs") or []:
        found.append({"resource": one.get("resource"), **(one.get("defaultConfig") or {})})
    for placement in (spec.get("installStrategy") or {}).get("placements") or []:
        found += placement.get("configs") or []
    reported = [*(status.get("defaultconfigReferences") or [])]
    for progress in status.get("installProgressions") or []:
        reported += progress.get("configReferences") or []
    for one in reported:
        parts = ("desiredConfig", "lastAppliedConfig", "lastKnownGoodConfig")
        found += [{"resource": one.get("resource"), **(one.get(part) or {})} for part in parts]
    return {(one["resource"], one.get("namespace") or "", one["name"]) for one in found if one.get("name")}


def addon_names(made: Iterable[Mapping[str, Any]], own: str) -> list[str]:
    """Names of the add-ons whose clusters may have one of these objects: a federation may have had its add-on under another name.

    Args:
        made: AddOnTemplates and AddOnDeploymentConfigs that this collection created for one federation.
        own: name of its add-on.
    """
    return sorted({own} | {item["spec"]["addonName"] for item in made if item["kind"] == "AddOnTemplate"})


def unused_apps(
    sets: Iterable[Mapping[str, Any]], clusters: Iterable[Mapping[str, Any]], label: str
) -> list[dict[str, Any]]:
    """ManifestWorkReplicaSets and their Placements to which no cluster's label refers, as a list for C(apply) with C(state=absent).

    Args:
        sets: ManifestWorkReplicaSets that this collection created for one federation.
        clusters: ManagedClusters with its label.
        label: key of that label.
    """
    used = {replica_set.name_of(one["metadata"]["labels"][label]) for one in clusters}
    left = []
    for item in sets:
        meta = {key: item["metadata"][key] for key in ("name", "namespace")}
        if meta["name"] not in used:
            left += [
                {"apiVersion": api.REPLICA_SETS, "kind": "ManifestWorkReplicaSet", "metadata": meta},
                {"apiVersion": api.PLACEMENTS, "kind": "Placement", "metadata": dict(meta)},
            ]
    return left


def unused(
    made: Iterable[Mapping[str, Any]], managements: Iterable[Mapping[str, Any]], clusters: Iterable[Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """Objects to delete, as a list for C(apply) with C(state=absent).

    Args:
        made: AddOnTemplates and AddOnDeploymentConfigs that this collection created for one federation.
        managements: ClusterManagementAddOns that may refer to them.
        clusters: ManagedClusterAddOns that may refer to them, of all clusters.
    """
    used: set[tuple[str, str, str]] = set()
    for one in managements:
        used |= _of_management(one)
    for one in clusters:
        used |= addons.references(one)
    left = []
    for item in made:
        reference = addon_objects.config_reference(item)
        if (reference["resource"], reference.get("namespace") or "", reference["name"]) not in used:
            meta = {key: item["metadata"][key] for key in ("name", "namespace") if item["metadata"].get(key)}
            left.append({"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": meta})
    return left
