# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads an Open Cluster Management hub before anything is changed; C(checks.py) finds the problems."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..base.labels import query
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..rights import ask
from ..spec.hub_spec import PLACEMENTS, AddonSpec
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, checks, hub_features, statuses

# Labels of what is delivered for any federation.
_OF_ALL = query({key: value for key, value in addon_objects.addon_labels("").items() if key != "app.kubernetes.io/instance"})


def at_addon(hub: Cluster, spec: AddonSpec, *, claim: bool = False) -> dict[str, Any]:
    """Can this hub deliver SuperNodes?

    Args:
        hub: a connection.
        claim: whether to take over the add-on of a federation of this name in another namespace.

    Returns:
        C(install), C(predicates), C(cluster_sets), C(set_labels), C(tolerations) and C(clientapps), for the sites' check; C(warnings).

    Raises:
        ClusterError: lists all that is missing.
    """
    selects = spec.install == PLACEMENTS or spec.clientapps
    wanted = checks.KINDS + (checks.PLACEMENT_KINDS if selects else ()) + (checks.REPLICA_SET_KINDS if spec.clientapps else ())
    manager = hub_features.manager_of(hub)
    _refuse(checks.missing_kinds([one for one in wanted if not _serves(hub, *one)]) + checks.gates(manager))
    ask.require(hub, ask.ocm_rights(spec.namespace, spec))
    problems = [problem for one in hub.list(api.ADDONS, "ClusterManagementAddOn") for problem in checks.foreign(spec, one, claim=claim)]
    problems += checks.apis(spec, hub_features.document(hub, api.WORKS), hub_features.document(hub, api.PLACEMENTS))
    disabled, warnings = checks.clientapps_gate(manager, enable=spec.enable_gates) if spec.clientapps else ([], [])
    sets = hub.list(api.SETS, "ManagedClusterSet") if selects else []
    if selects:
        bound = hub.list(api.SETS, "ManagedClusterSetBinding", spec.namespace)
        disabled += checks.bindings(spec, [item["metadata"]["name"] for item in sets], [item["spec"]["clusterSet"] for item in bound])
    _refuse(problems + disabled)
    return {
        "install": spec.install,
        "predicates": addon_objects.predicates(spec),
        "cluster_sets": spec.cluster_sets,
        "set_labels": checks.set_labels(sets),
        "tolerations": addon_objects.tolerations(spec),
        "clientapps": spec.clientapps,
        "warnings": warnings,
    }


def at_site(hub: Cluster, spec: SiteSpec, addon: Mapping[str, Any], *, claim: bool = False) -> list[str]:
    """Can a site be reached through the hub? Returns warnings.

    Args:
        hub: a connection.
        addon: what C(at_addon) returned; empty if it was not called.
        claim: whether to take over the site of another host of the inventory.

    Raises:
        ClusterError: what prevents the delivery to the site. A later check needs the earlier ones.
    """
    name = spec.ocm_cluster
    try:
        live = hub.get(api.CLUSTERS, "ManagedCluster", name)
    except NotServed as error:
        raise ClusterError(checks.missing_kinds([(api.CLUSTERS, "ManagedCluster")])[0] + ".") from error
    _refuse(checks.cluster(name, live))
    live = live or {}
    own = hub.get(api.ADDONS, "ManagedClusterAddOn", spec.ocm_addon, name)
    if not claim:
        _refuse(checks.owner_problems(spec, own))
    _refuse(checks.crowded(spec, hub.list(api.WORKS, "ManifestWork", name, labels=_OF_ALL)))
    if addon.get("install", spec.ocm_install) != spec.ocm_install:
        _refuse(
            [f"supernode_ocm_install: {spec.ocm_install!r} is not that of the add-on, {addon['install']!r}: set flower_ocm_install for all hosts"]
        )
    if addon.get("install") == PLACEMENTS:
        _refuse(checks.chosen(name, live, addon, selected=own is not None))
    if spec.has_apps_apart:
        _refuse(checks.clientapps(spec, live, addon, lambda: hub_features.document(hub, api.PLACEMENTS)))
    return [word for word in [checks.unavailable(name, live)] if word]


def chosen(hub: Cluster, management: Mapping[str, Any] | None) -> set[str] | None:
    """Clusters that the add-on's Placements have selected; None without Placements."""
    named = statuses.placement_references(management)
    if named is None:
        return None
    return {cluster for one in sorted(named) for cluster in statuses.decisions(slices(hub, *one))}


def slices(hub: Cluster, namespace: str, name: str) -> list[dict[str, Any]]:
    """All PlacementDecisions of one Placement."""
    return hub.list(api.PLACEMENTS, "PlacementDecision", namespace, labels=f"{api.PLACEMENT_LABEL}={name}")


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise ClusterError(". ".join(problems) + ".")


def _serves(hub: Cluster, version: str, kind: str) -> bool:
    try:
        hub.resource(version, kind)
    except NotServed:
        return False
    return True
