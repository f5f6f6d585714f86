# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reads an Open Cluster Management hub before anything is changed; C(checks.py) finds the faults."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..base.labels import query
from ..kube.api_errors import Forbidden, NotServed
from ..kube.client import Cluster
from ..rights import ask
from ..spec.hub_spec import PLACEMENTS, AddonSpec
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, checks, statuses
from .hub_features import document

# Label of a managed cluster's certificate signing requests; those of its add-ons, which are someone else's, have the other as well (ocm, pkg/registration).
_REQUESTS, _OF_ADDONS = "open-cluster-management.io/cluster-name", "open-cluster-management.io/addon-name"
# Labels of what is delivered for any federation.
_OF_ALL = query({key: value for key, value in addon_objects.addon_labels("").items() if key != "app.kubernetes.io/instance"})
_CSR = ("certificates.k8s.io/v1", "CertificateSigningRequest")


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
    apps = spec.clientapps
    chosen = spec.install == PLACEMENTS or apps
    wanted = checks.KINDS + (checks.PLACEMENT_KINDS if chosen else ()) + checks.replica_set_kind(spec)
    missing = [one for one in wanted if not _serves(hub, *one)]
    manager = _manager(hub)
    warnings: list[str] = []
    sets: list[dict[str, Any]] = []
    faults = checks.missing_kinds(missing) + checks.gates(manager)
    if not faults:
        ask.require(hub, ask.ocm_rights(spec.namespace, spec))
        for management in hub.list(api.ADDONS, "ClusterManagementAddOn"):
            faults += checks.foreign(spec, management, claim=claim)
        faults += checks.apis(spec, document(hub, api.WORKS), document(hub, api.PLACEMENTS))
        if apps:
            live = [] if manager else hub.list(api.REPLICA_SETS, "ManifestWorkReplicaSet", spec.namespace)
            off, warnings = checks.replica_sets(manager, live, enable=spec.enable_gates)
            faults += off
        if chosen:
            sets = hub.list(api.SETS, "ManagedClusterSet")
            bound = hub.list(api.SETS, "ManagedClusterSetBinding", spec.namespace)
            faults += checks.bindings(spec, [item["metadata"]["name"] for item in sets], [item["spec"]["clusterSet"] for item in bound])
    _refuse(faults)
    return {
        "install": spec.install,
        "predicates": addon_objects.predicates(spec),
        "cluster_sets": spec.cluster_sets,
        "set_labels": checks.set_labels(sets),
        "tolerations": addon_objects.tolerations(spec),
        "clientapps": apps,
        "warnings": warnings,
    }


def at_site(hub: Cluster, spec: SiteSpec, addon: Mapping[str, Any], *, claim: bool = False) -> list[str]:
    """Can a site be reached through the hub? Returns warnings.

    Args:
        hub: a connection.
        addon: what C(at_addon) returned; empty if it was not called.
        claim: whether to take over the site of another host of the inventory.

    Raises:
        ClusterError: lists what prevents the delivery to the site.
    """
    name = spec.ocm_cluster
    try:
        live = hub.get(api.CLUSTERS, "ManagedCluster", name)
    except NotServed as error:
        raise ClusterError(checks.missing_kinds([(api.CLUSTERS, "ManagedCluster")])[0] + ".") from error
    faults = checks.cluster(name, live, _pending(hub, name))
    own = hub.get(api.ADDONS, "ManagedClusterAddOn", spec.ocm_addon, name) if live is not None and not faults else None
    if not claim:
        faults += checks.taken(spec, own)
    if live is not None and not faults:
        faults += checks.crowded(spec, hub.list(api.WORKS, "ManifestWork", name, labels=_OF_ALL))
    if live is not None and not faults and addon.get("install"):
        if addon["install"] != spec.ocm_install:
            faults.append(
                f"supernode_ocm_install: {spec.ocm_install!r} is not that of the add-on, {addon['install']!r}: set "
                "flower_ocm_install for all hosts"
            )
        elif addon["install"] == PLACEMENTS:
            faults += checks.chosen(name, live, addon, selected=own is not None)
    if live is not None and not faults and spec.has_apps_apart:
        faults += checks.clientapps(spec, live, addon, lambda: document(hub, api.PLACEMENTS))
    _refuse(faults)
    return [word for word in [checks.unavailable(name, live or {})] if word]


def chosen(hub: Cluster, management: Mapping[str, Any] | None) -> set[str] | None:
    """Clusters that the add-on's Placements have selected; None without Placements."""
    named = statuses.placement_references(management)
    if named is None:
        return None
    return {cluster for one in sorted(named) for cluster in statuses.decisions(slices(hub, *one))}


def slices(hub: Cluster, namespace: str, name: str) -> list[dict[str, Any]]:
    """All PlacementDecisions of one Placement."""
    return hub.list(api.PLACEMENTS, "PlacementDecision", namespace, labels=f"{api.PLACEMENT_LABEL}={name}")


def _refuse(faults: Sequence[str]) -> None:
    if faults:
        raise ClusterError(". ".join(faults) + ".")


def _serves(hub: Cluster, version: str, kind: str) -> bool:
    try:
        hub.resource(version, kind)
    except NotServed:
        return False
    return True


def _manager(hub: Cluster) -> dict[str, Any] | None:
    """The ClusterManager; None where there is none, or without the right to read it: then no gate is known to be off."""
    try:
        return next(iter(hub.list(api.OPERATOR, "ClusterManager")), None)
    except (NotServed, Forbidden):
        return None


def _pending(hub: Cluster, name: str) -> list[dict[str, Any]]:
    """Certificate signing requests of a cluster; none without the right to read them, since hubs approve most of them automatically."""
    try:
        return hub.list(*_CSR, labels=f"{_REQUESTS}={name},!{_OF_ADDONS}")
    except Forbidden:
        return []
