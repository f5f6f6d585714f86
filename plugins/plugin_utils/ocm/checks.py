# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Problems that prevent delivery to a managed cluster, each with the remedy. Pure; checked before anything is changed.

Each is a sentence without its full stop. Source: C(cluster/v1) and C(operator/v1) of open-cluster-management.io/api; C(pkg/registration/hub) of
ocm for the label of a cluster's certificate signing requests.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..base.labels import MANAGER
from ..spec.hub_spec import PLACEMENTS, AddonSpec
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, clusters

Live = Mapping[str, Any]

# Required kinds.
KINDS = (
    (api.CLUSTERS, "ManagedCluster"),
    (api.WORKS, "ManifestWork"),
    (api.ADDONS, "ClusterManagementAddOn"),
    (api.ADDONS, "ManagedClusterAddOn"),
    (api.ADDONS, "AddOnTemplate"),
    (api.ADDONS, "AddOnDeploymentConfig"),
)
PLACEMENT_KINDS = (
    (api.PLACEMENTS, "Placement"),
    (api.PLACEMENTS, "PlacementDecision"),
    (api.SETS, "ManagedClusterSet"),
    (api.SETS, "ManagedClusterSetBinding"),
)
REPLICA_SET_KINDS = ((api.REPLICA_SETS, "ManifestWorkReplicaSet"),)  # for ClientApps in their own pods

_OTHER_NAMES = "set flower_federation to another name, and flower_ocm_addon if it is set"


# ---- the hub ---------------------------------------------------------------------------------------------------------


def missing_kinds(missing: Sequence[tuple[str, str]]) -> list[str]:
    """A problem if the hub does not serve some kinds."""
    names = ", ".join(f"{kind} ({version})" for version, kind in missing)
    return [
        f"the hub does not serve {names}. Check that it is an Open Cluster Management hub (0.16 or later), and not one of "
        "its managed clusters. `clusteradm init --wait` makes it one; without the add-on API, "
        "its ClusterManager has the feature AddonManagement disabled"
    ] * bool(missing)


def gates(manager: Live | None) -> list[str]:
    """Problems of feature gates without which nothing arrives. None are known for a hub without a readable ClusterManager."""
    return [
        f"the feature {one['feature']} is disabled on the hub (ClusterManager {(manager or {})['metadata']['name']}, "
        f"spec.{part}.featureGates), so add-ons are not delivered. Remove that entry of the list, and leave the "
        "other entries as they are"
        for part in ("addOnManagerConfiguration", "registrationConfiguration")
        for one in (api.gates(manager, part) if manager else ())
        if one.get("feature") == "AddonManagement" and one.get("mode") == "Disable"
    ]


def clientapps_gate(manager: Live | None, live: Iterable[Live], *, enable: bool) -> tuple[list[str], list[str]]:
    """Problems and warnings of the feature by which ClientApps are delivered.

    Args:
        manager: the ClusterManager; None for a hub that was installed in another way, or without the right to read it.
        live: ManifestWorkReplicaSets of the hub. One that is processed shows that the feature is enabled.
        enable: whether the feature may be enabled (C(flower_ocm_enable_gates)).
    """
    feature = api.GATE
    if manager is None and any((one.get("status") or {}).get("conditions") for one in live):
        return [], []
    if manager is None:
        return [], [f"cannot determine whether the feature {feature} is enabled: the hub has no readable ClusterManager. {api.REMEDY}"]
    if enable or api.is_enabled(manager):
        return [], []
    return [
        f"ClientApps are delivered by ManifestWorkReplicaSets, and the feature {feature} is not enabled on the hub: "
        f"{api.gate_command(manager)} enables it, and so does flower_ocm_enable_gates: true; the "
        "listed features stay"
    ], []


def foreign(spec: AddonSpec, live: Live | None, *, claim: bool = False) -> list[str]:
    """Problems of a ClusterManagementAddOn: one of that name that is not ours, or another federation's; one of a federation of the same name
    whose hub is in another namespace. Add-ons are one namespace for the whole hub of OCM, and so are names of federations.

    Args:
        live: any of the hub.
        claim: whether to take over that of the other namespace.
    """
    if live is None:
        return []
    name, labels = live["metadata"].get("name"), live["metadata"].get("labels") or {}
    is_ours, instance = labels.get("app.kubernetes.io/managed-by") == MANAGER, labels.get("app.kubernetes.io/instance")
    if not is_ours or instance != spec.federation:
        return [
            f"the hub has an add-on {spec.name} already, which belongs to {f'the federation {instance}' if is_ours else 'someone else'}: set "
            "flower_ocm_addon to another name (add-ons are one namespace for the whole hub)"
        ] * (name == spec.name)
    # The namespace of its default config is that of its federation's hub.
    configs = (one for one in (live.get("spec") or {}).get("supportedConfigs") or [] if one.get("resource") == api.CONFIGS_RESOURCE)
    there = next(((one.get("defaultConfig") or {}).get("namespace") or "" for one in configs), "")
    if there not in ("", spec.namespace):
        return [
            f"the hub has an add-on {name} already, which belongs to a federation {spec.federation} in the namespace {there}, and "
            f"flower_namespace is {spec.namespace}: {_OTHER_NAMES}. If the federation has "
            "moved to this namespace: -e flower_claim_sites=true takes over the add-on"
        ] * (not claim)
    return [
        f"the add-on of the federation {spec.federation} is {name}, and flower_ocm_addon is {spec.name}: set flower_ocm_addon to {name}. With another "
        "name all sites lose their SuperNodes and keys, and join again. If that is wanted, delete the add-on first: "
        f"`kubectl delete clustermanagementaddon {name}`"
    ] * (name != spec.name)


def bindings(spec: AddonSpec, sets: Collection[str], bound: Collection[str]) -> list[str]:
    """Problems of cluster sets: those that do not exist, and those that are not bound to the namespace.

    Args:
        sets: names of the hub's ManagedClusterSets.
        bound: cluster sets that are bound to the federation's namespace.
    """
    found = []
    for name in spec.cluster_sets:
        if name not in sets:
            found.append(f"ocm_addon_cluster_sets: there is no ManagedClusterSet {name}; there are {', '.join(sorted(sets)) or 'none'}")
        elif name not in bound and not spec.bind_cluster_sets:
            found.append(
                f"no ManagedClusterSetBinding binds the cluster set {name} to the namespace {spec.namespace}, so the Placement "
                f"would select nothing: `clusteradm clusterset bind {name} --namespace {spec.namespace}`, or "
                "ocm_addon_bind_cluster_sets: true"
            )
    return found


def _unknown_selectors(variable: str, predicates: Sequence[Live], document: Live) -> list[str]:
    unknown = ", ".join(api.unknown_selectors(document, list(predicates)))
    return [
        f"{variable}: Placements of this hub do not support {unknown}, and would select every cluster "
        "silently: use labelSelector or claimSelector, or upgrade Open Cluster Management"
    ] * bool(unknown)


def dropped_selectors(spec: AddonSpec, document: Live) -> list[str]:
    """A problem if the hub's schema of Placements, C(document), lacks a selector of the add-on's."""
    return _unknown_selectors("ocm_addon_predicates", spec.predicates, document) if spec.install == PLACEMENTS else []


# ---- a cluster -------------------------------------------------------------------------------------------------------


def cluster(name: str, live: Live | None, waiting: Sequence[str] = ()) -> list[str]:
    """The problem of a managed cluster, of which certificate signing requests of the names C(waiting) are pending; one at most."""
    approve = f"`clusteradm accept --clusters {name}`"
    if live is None:
        return [
            f"the hub has no ManagedCluster {name}: join the cluster (`clusteradm join --cluster-name {name}`), or set "
            "supernode_ocm_cluster to its name there"
        ]
    if clusters.is_leaving(live):
        return [f"the ManagedCluster {name} is being detached: remove the host from the inventory, or join the cluster again"]
    if not clusters.is_accepted(live):
        return [f"the hub has not accepted the ManagedCluster {name}. If it is yours: {approve}"]
    names = ", ".join(waiting)
    if not clusters.variables(live)["ocm_joined"]:
        if not waiting:
            return [f"the ManagedCluster {name} has not joined yet: check that its klusterlet is running and reaches the hub"]
        return [
            f"the ManagedCluster {name} waits for its certificate: the certificate signing request {names} is not approved. If it is yours: {approve}"
        ]
    return [
        f"a certificate signing request of the ManagedCluster {name} is not approved ({names}), so its agent loses its "
        f"access when the old certificate expires. If it is yours: {approve}"
    ] * bool(waiting)


def owner_problems(spec: SiteSpec, live: Live | None) -> list[str]:
    """Problems of the add-on that a managed cluster has already: that of another federation, of another hub, or of another host of the inventory.

    Args:
        live: its ManagedClusterAddOn; one that Open Cluster Management has just created has no configs and no status yet.
    """
    meta = (live or {}).get("metadata") or {}
    instance = (meta.get("labels") or {}).get("app.kubernetes.io/instance", spec.federation)
    site = (meta.get("annotations") or {}).get(addon_objects.SITE_NOTE, spec.cluster)
    configs = ((live or {}).get("spec") or {}).get("configs") or []
    homes = {str(one.get("namespace") or "") for one in configs if one.get("resource") == api.CONFIGS_RESOURCE} - {"", spec.hub_namespace}
    if instance != spec.federation:
        return [f"the managed cluster {spec.ocm_cluster} has an add-on {spec.ocm_addon} of the federation {instance}: set flower_ocm_addon to another name"]
    if homes:
        return [
            f"the managed cluster {spec.ocm_cluster} is a site of a federation {instance} whose hub is in the namespace "
            f"{', '.join(sorted(homes))}, and flower_namespace is {spec.hub_namespace}: {_OTHER_NAMES}. If the federation has moved to this "
            "namespace: -e flower_claim_sites=true takes the site over"
        ]
    return [
        f"the managed cluster {spec.ocm_cluster} is the site {site} of this federation: two hosts of the inventory need two "
        "clusters (ocm_name). If the host was renamed: -e flower_claim_sites=true takes the site over"
    ] * (site != spec.cluster)


def crowded(spec: SiteSpec, works: Iterable[Live]) -> list[str]:
    """A problem if another federation has SuperNodes in the same namespace of a managed cluster. Their objects have the same names, and the agent,
    which applies the ManifestWorks of both, would overwrite one with the other.

    Args:
        works: ManifestWorks of all federations, in the namespace of the cluster on the hub.
    """
    others = set()
    for work in works:
        federation = (work["metadata"].get("labels") or {}).get("app.kubernetes.io/instance")
        listed = ((work.get("spec") or {}).get("workload") or {}).get("manifests") or []
        if federation != spec.federation and any((item.get("metadata") or {}).get("namespace") == spec.namespace for item in listed):
            others.add(str(federation))
    return [
        f"the namespace {spec.namespace} of the managed cluster {spec.ocm_cluster} has SuperNodes of the federation {name}, and two federations need two "
        "namespaces: set supernode_namespace (flower_namespace by default) to another name"
        for name in sorted(others)
    ]


def by_labels(rests: Collection[str], region: str, record: Live | None) -> list[str]:
    """Problems of a site, new (without a record in the ledger) or with a new region, if only labels say so (C(flower_ocm_by_labels))."""
    found = []
    if "membership" in rests and record is None:
        found.append(
            "only labels of its ManagedCluster make it a site, and the cluster may change them itself. Put it into a cluster set of the federation "
            "(`clusteradm clusterset set SET --clusters NAME`), and name that set in cluster_sets of the inventory file and in flower_ocm_cluster_sets"
        )
    if "flower_region" in rests and region and (record or {"region": ""}).get("region", region) != region:
        found.append(
            f"its flower_region {region!r} comes from labels of its ManagedCluster, and the cluster may change them itself. Set it in host_vars instead of "
            "compose of the inventory file, or derive it from ocm_cluster_set"
        )
    return [f"{one}; or, if you have checked that it is right, set flower_ocm_trust_labels: true for this host" for one in found]


def unavailable(name: str, live: Live) -> str:
    """A sentence on a cluster that does not report or is not healthy; else empty."""
    facts = clusters.variables(live)
    if facts["ocm_availability"] == "available":
        return ""
    reported = facts["ocm_conditions"].get("ManagedClusterConditionAvailable") or {}
    since = f" since {reported['since']}" if reported.get("since") else ""
    if facts["ocm_availability"] == "unavailable":
        return f"the ManagedCluster {name} reports that it is not healthy{since} ({reported.get('message') or reported.get('reason')})"
    return f"the ManagedCluster {name} does not report{since}: its SuperNodes may continue, but changes do not reach it"


# ---- what a Placement selects, as far as known without OCM -----------------------------------------------------------


def set_labels(sets: Iterable[Live]) -> dict[str, Any]:
    """Name -> label selector of those ManagedClusterSets that select clusters by any labels, such as C(global)."""
    selectors = {one["metadata"]["name"]: (one.get("spec") or {}).get("clusterSelector") or {} for one in sets}
    return {name: one.get("labelSelector") or {} for name, one in selectors.items() if one.get("selectorType") == "LabelSelector"}


def chosen(name: str, live: Live, wanted: Live, *, selected: bool = False) -> list[str]:
    """Why a Placement that does not exist yet would not select a cluster.

    Args:
        wanted: of the Placement C(predicates), one of which must match, C(cluster_sets) and C(tolerations); C(set_labels), what C(set_labels)
            returned.
        selected: whether it has selected the cluster already.
    """
    labels, sets = live["metadata"].get("labels") or {}, wanted["cluster_sets"]
    if not _fits(wanted["predicates"], live):
        selectors = (one["requiredClusterSelector"].get("labelSelector") or {} for one in wanted["predicates"])
        key, value = next((pair for one in selectors for pair in sorted((one.get("matchLabels") or {}).items())), ("", ""))
        hint = f": kubectl label managedcluster {name} {key}={value}" if key else ""
        if key in labels:
            hint = (
                f": its label {key} is {labels[key]}. If another federation selects it by that, changing the label would delete its SuperNodes and keys "
                "there: have this one select by another label (ocm_addon_predicates)"
            )
        return [f"the Placement would not select the ManagedCluster {name}, no predicate matches it{hint}"]
    if not _is_in_sets(live, sets, wanted["set_labels"]):
        own, exclusive = labels.get(api.SET_LABEL), [one for one in sets if one not in wanted["set_labels"]]
        remedy = f"`clusteradm clusterset set {exclusive[0]} --clusters {name}`" if exclusive else "label it"
        if own:  # a cluster that leaves its set loses what others deliver to that set
            remedy = f"add {own} to flower_ocm_cluster_sets"
        return [f"the ManagedCluster {name} is in the cluster set {own or '(none)'}, and the Placement selects from {', '.join(sets)}: {remedy}"]
    return [
        f"the ManagedCluster {name} has the taint {taint}, which the Placement does not tolerate: add it to ocm_addon_tolerations, or have the "
        "hub's administrators remove it"
        for taint in _untolerated(live, wanted["tolerations"], selected)
    ]


def _untolerated(live: Live, tolerations: Sequence[Live], selected: bool) -> Iterator[str]:
    """OCM's rules (ocm, C(taint_toleration.go)); one with a time counts as long as it may."""
    for taint in (live.get("spec") or {}).get("taints") or []:
        effect, value = taint.get("effect"), taint.get("value") or ""
        tolerated = (
            one.get("effect") in (None, "", effect)
            and one.get("key") in (None, "", taint.get("key"))
            and (one.get("operator") == "Exists" or (one.get("value") or "") == value)
            for one in tolerations
        )
        if effect != "PreferNoSelect" and not (effect == "NoSelectIfNew" and selected) and not any(tolerated):
            yield f"{taint.get('key')}{value and f'={value}'}:{effect}"


def _is_in_sets(live: Live, sets: Iterable[str], by_labels: Live) -> bool:
    labels = live["metadata"].get("labels") or {}
    return any(_matches(by_labels[one], labels) if one in by_labels else labels.get(api.SET_LABEL) == one for one in sets)


def _fits(predicates: Iterable[Live], live: Live) -> bool:
    """Whether one of a Placement's predicates matches a cluster. CEL expressions are OCM's to judge."""
    labels = live["metadata"].get("labels") or {}
    claims = {one.get("name"): one.get("value") for one in (live.get("status") or {}).get("clusterClaims") or []}
    selectors = (one.get("requiredClusterSelector") or {} for one in predicates)
    return any(_matches(one.get("labelSelector") or {}, labels) and _matches(one.get("claimSelector") or {}, claims) for one in selectors)


def _matches(selector: Live, has: Live) -> bool:
    """Kubernetes' rules of a LabelSelector."""

    def holds(one: Live) -> bool:
        key, values = one["key"], one.get("values") or []
        return {
            "In": key in has and has[key] in values,
            "NotIn": key not in has or has[key] not in values,
            "Exists": key in has,
            "DoesNotExist": key not in has,
        }[one["operator"]]

    labels_fit = all(has.get(key) == value for key, value in (selector.get("matchLabels") or {}).items())
    return labels_fit and all(map(holds, selector.get("matchExpressions") or []))


def clientapps(spec: SiteSpec, live: Live, addon: Live, schema_of: Callable[[], Live]) -> list[str]:
    """Why ClientApps would not reach a cluster.

    Args:
        live: its ManagedCluster.
        addon: what was read about the add-on; empty if it was not read.
        schema_of: returns the OpenAPI document of the cluster API that has Placements.
    """
    sets, wanted = spec.clientapp_cluster_sets, spec.clientapp_predicates
    if addon and not addon.get("clientapps"):
        return [
            "supernode_clientapp is workload, but the add-on is not configured for it: set flower_clientapp: "
            "workload for this host, because playbooks read it"
        ]
    found = _unknown_selectors("supernode_clientapp_predicates", wanted, schema_of()) if wanted else []
    if wanted and not found and not _fits(wanted, live):
        found.append(f"no predicate of supernode_clientapp_predicates fits the ManagedCluster {spec.ocm_cluster}, so it would get no ClientApps")
    if unbound := [name for name in sets if addon and name not in addon["cluster_sets"]]:
        found.append(f"supernode_clientapp_cluster_sets: {', '.join(unbound)} is not in ocm_addon_cluster_sets: set flower_ocm_cluster_sets for both")
    if addon and not found and not _is_in_sets(live, sets, addon["set_labels"]):
        own = (live["metadata"].get("labels") or {}).get(api.SET_LABEL)
        found.append(
            f"the ManagedCluster {spec.ocm_cluster} is in the cluster set {own or '(none)'}, and the ClientApps' Placement selects from {', '.join(sets)}"
        )
    return found
