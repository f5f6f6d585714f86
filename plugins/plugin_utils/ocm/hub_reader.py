# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reads an Open Cluster Management hub: what prevents a delivery, before anything is changed (C(checks.py) finds the problems); what Placements have
selected; and how soon the agents of clusters report the state of objects.

An agent reads values at its C(--status-sync-interval), which the operator sets to 60 s where the agent has one replica (with jitter
up to 114 s were seen with 1.3.1). With C(feedbackScrapeType: Watch) it reports at once. Source: C(work/v1) of
open-cluster-management.io/api 1.2; the agent has 50 watches, and polls what is beyond them.

Source: C(operator/v1) of open-cluster-management.io/api, ClusterManager: C(status.observedGeneration), and the conditions
C(Applied) and C(ValidFeatureGates).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..apply.readiness import READY, State
from ..base.errors import ClusterError
from ..base.labels import query
from ..kube.api_errors import Forbidden, NotFound, NotServed, TooLarge
from ..kube.client import Cluster
from ..rights import ask
from ..spec.hub_spec import PLACEMENTS, AddonSpec
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, checks, statuses

FIELD, WATCH = "feedbackScrapeType", "Watch"
# Of an agent's 50: a site has two or three ManifestWorks, and its cluster may be in other federations.
_MOST = 12

# Labels of what is delivered for any federation.
_OF_ALL = query({key: value for key, value in addon_objects.addon_labels("").items() if key != "app.kubernetes.io/instance"})


def at_addon(hub: Cluster, spec: AddonSpec, *, claim: bool = False) -> dict[str, Any]:
    """Can this hub deliver SuperNodes?

    Args:
        claim: whether to take over the add-on of a federation of this name in another namespace.

    Returns:
        C(install), C(predicates), C(cluster_sets), C(set_labels), C(tolerations) and C(clientapps), for the sites' check; C(warnings).

    Raises:
        ClusterError: lists all that is missing.
    """
    selects = spec.install == PLACEMENTS or spec.clientapps
    wanted = checks.KINDS + (checks.PLACEMENT_KINDS if selects else ()) + (checks.REPLICA_SET_KINDS if spec.clientapps else ())
    manager = manager_of(hub)
    _refuse(checks.missing_kinds([one for one in wanted if not _serves(hub, *one)]) + checks.gates(manager))
    ask.require(hub, ask.ocm_rights(spec.namespace, spec))
    problems = [problem for one in hub.list(api.ADDONS, "ClusterManagementAddOn") for problem in checks.foreign(spec, one, claim=claim)]
    problems += checks.dropped_selectors(spec, document(hub, api.PLACEMENTS))
    disabled: list[str] = []
    warnings: list[str] = []
    if spec.clientapps:
        live = [] if manager else hub.list(api.REPLICA_SETS, "ManifestWorkReplicaSet", spec.namespace)
        disabled, warnings = checks.clientapps_gate(manager, live, enable=spec.enable_gates)
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
    _refuse(checks.cluster(name, live, _pending_requests(hub, name)))
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
    if spec.has_separate_clientapps:
        _refuse(checks.clientapps(spec, live, addon, lambda: document(hub, api.PLACEMENTS)))
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


def works(hub: Cluster, labels: str) -> tuple[list[dict[str, Any]], dict[str, str]]:
    """The ManifestWorks of all clusters with some labels; and managed cluster -> why its own are not among them.

    The agent of a cluster may write its own, so they may be larger and deeper than what is read. All others are read nevertheless.
    """
    try:
        return hub.list(api.WORKS, "ManifestWork", labels=labels), {}
    except TooLarge:
        found: list[dict[str, Any]] = []
        faults: dict[str, str] = {}
        for name in [item["metadata"]["name"] for item in hub.list(api.CLUSTERS, "ManagedCluster")]:
            try:
                found += hub.list(api.WORKS, "ManifestWork", name, labels=labels)
            except TooLarge as error:
                faults[name] = f"the ManifestWorks of the managed cluster {name} cannot be read: {error.message}"
        return found, faults


def _refuse(problems: Sequence[str]) -> None:
    if problems:
        raise ClusterError(". ".join(problems) + ".")


def _pending_requests(hub: Cluster, name: str) -> list[str]:
    """Names of a cluster's certificate signing requests that are not approved, denied or signed; none without the right to read them, since hubs approve
    most of them automatically. Those of its add-ons, which are someone else's, have another label in addition."""
    labels = f"open-cluster-management.io/cluster-name={name},!open-cluster-management.io/addon-name"
    try:
        listed = hub.list("certificates.k8s.io/v1", "CertificateSigningRequest", labels=labels)
    except Forbidden:
        return []
    decided = ("Approved", "Denied", "Failed")
    return [
        one["metadata"]["name"]
        for one in listed
        if not (one.get("status") or {}).get("certificate") and not any(map(statuses.condition, [one] * 3, decided))
    ]


def _serves(hub: Cluster, version: str, kind: str) -> bool:
    try:
        hub.resource(version, kind)
    except NotServed:
        return False
    return True


def document(hub: Cluster, version: str) -> dict[str, Any]:
    """The schema of an API version; empty where it is not served."""
    try:
        return hub.request("GET", f"/openapi/v3/apis/{version}")
    except NotFound:
        return {}


def with_watches(hub: Cluster, work: dict[str, Any], live: Mapping[str, Any] | None) -> dict[str, Any]:
    """A ManifestWork whose values are reported at once, where the hub supports it.

    Args:
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


def watched(spec: Mapping[str, Any]) -> dict[str, Any]:
    """The specification of a ManifestWork whose values are reported at once: those of all objects, or of what is
    written if they are many.

    Nothing that a cluster gets is changed by it.
    """
    asked = [number for number, one in enumerate(spec["manifestConfigs"]) if one.get("feedbackRules")]
    written = [number for number in asked if (spec["manifestConfigs"][number].get("updateStrategy") or {}).get("type") != "ReadOnly"]
    chosen = asked if len(asked) <= _MOST else written[:_MOST]
    return {**spec, "manifestConfigs": [{**one, FIELD: WATCH} if number in chosen else one for number, one in enumerate(spec["manifestConfigs"])]}


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
        reported = statuses.condition(manager, kind)
        if reported.get("status") == "False" and reported.get("observedGeneration", generation) >= generation:
            return State(False, f"{kind}: {reported.get('message') or reported.get('reason')}")
    return READY
