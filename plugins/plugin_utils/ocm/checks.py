# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Faults that prevent delivery to a managed cluster, each with the remedy. Pure; checked before anything is changed.

Source: C(cluster/v1) and C(operator/v1) of open-cluster-management.io/api; C(pkg/registration/hub) of ocm for the label of a
cluster's certificate signing requests.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ..base.labels import MANAGER
from ..spec.hub_spec import PLACEMENTS, AddonSpec
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, clusters

# Required kinds, and what serves them.
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
# A feature that is off by default: (part of ClusterManager's spec, feature).
REPLICA_SETS_GATE = ("workConfiguration", "ManifestWorkReplicaSet")
REMEDY = (
    "`clusteradm init --feature-gates=ManifestWorkReplicaSet=true` enables it on a new hub; on others its ClusterManager or "
    "MultiClusterEngine does"
)
# Features of the hub without which nothing arrives: (part of ClusterManager's spec, feature).
_GATES = (("addOnManagerConfiguration", "AddonManagement"), ("registrationConfiguration", "AddonManagement"))


def missing_kinds(missing: Sequence[tuple[str, str]]) -> list[str]:
    """Faults of kinds that the hub does not serve."""
    if not missing:
        return []
    words = ", ".join(f"{kind} ({version})" for version, kind in missing)
    return [
        f"the hub does not serve {words}. Is it an Open Cluster Management hub (0.16 or later), and not one of its managed "
        "clusters? `clusteradm init --wait` makes it one; without the add-on API, "
        "its ClusterManager has the feature AddonManagement disabled"
    ]


def gates(manager: Mapping[str, Any] | None) -> list[str]:
    """Faults of feature gates. None are known for a hub without a readable ClusterManager."""
    found: list[str] = []
    if manager is None:
        return found
    for part, feature in _GATES:
        listed = ((manager.get("spec") or {}).get(part) or {}).get("featureGates") or []
        for one in listed:
            if one.get("feature") == feature and one.get("mode") == "Disable":
                found.append(
                    f"the feature {feature} is disabled on the hub (ClusterManager {manager['metadata']['name']}, "
                    f"spec.{part}.featureGates), so add-ons are not delivered. Remove that entry of the list, and leave the "
                    "other entries as they are"
                )
    return found


def with_gate(manager: Mapping[str, Any], part: str, feature: str) -> list[dict[str, Any]]:
    """The list C(featureGates) of a part with one feature enabled. The others stay: a merge patch would replace them all."""
    listed = ((manager.get("spec") or {}).get(part) or {}).get("featureGates") or []
    kept = [dict(one) for one in listed if one.get("feature") != feature]
    return [*kept, {"feature": feature, "mode": "Enable"}]


def gate_is_on(manager: Mapping[str, Any] | None, part: str, feature: str) -> bool:
    """Whether a feature that is off by default was enabled."""
    listed = (((manager or {}).get("spec") or {}).get(part) or {}).get("featureGates") or []
    return any(one.get("feature") == feature and one.get("mode") == "Enable" for one in listed)


def unworked(name: str) -> str:
    """The sentence about a ManifestWorkReplicaSet that no controller has processed."""
    return (
        f"no controller has processed the ManifestWorkReplicaSet {name}: is the feature {REPLICA_SETS_GATE[1]} enabled on the hub? "
        f"{REMEDY}"
    )


def replica_sets(
    manager: Mapping[str, Any] | None, live: Sequence[Mapping[str, Any]], *, enable: bool
) -> tuple[list[str], list[str]]:
    """Faults and warnings of the feature by which ClientApps are delivered.

    Args:
        manager: the ClusterManager; None for a hub that was installed in another way, or without the right to read it.
        live: ManifestWorkReplicaSets of the hub. A hub without ClusterManager is judged by whether they are worked on.
        enable: whether the feature may be enabled (C(flower_ocm_enable_gates)).
    """
    part, feature = REPLICA_SETS_GATE
    if manager is not None:
        if gate_is_on(manager, part, feature) or enable:
            return [], []
        return [
            f"ClientApps are delivered by ManifestWorkReplicaSets, and the feature {feature} is not enabled on the hub: "
            f"{gate_command(manager, part, feature)} does it, and so does flower_ocm_enable_gates: true; the features that are "
            "listed stay"
        ], []
    if any((one.get("status") or {}).get("conditions") for one in live):
        return [], []
    seen = (
        f"none of its {len(live)} ManifestWorkReplicaSets has a status"
        if live
        else "it has no ManifestWorkReplicaSet yet"
    )
    words = f"whether the feature {feature} is enabled is not known: the hub has no readable ClusterManager, and {seen}. {REMEDY}"
    return ([words], []) if live else ([], [words])


def gate_command(manager: Mapping[str, Any], part: str, feature: str) -> str:
    """The command that enables a feature and leaves the others as they are."""
    spec = manager.get("spec") or {}
    gate = {"feature": feature, "mode": "Enable"}
    listed = (spec.get(part) or {}).get("featureGates") or []
    at = next((number for number, one in enumerate(listed) if one.get("feature") == feature), None)
    if at is not None:
        patch: dict[str, Any] = {"op": "replace", "path": f"/spec/{part}/featureGates/{at}", "value": gate}
    elif listed:
        patch = {"op": "add", "path": f"/spec/{part}/featureGates/-", "value": gate}
    elif spec.get(part) is not None:
        patch = {"op": "add", "path": f"/spec/{part}/featureGates", "value": [gate]}
    else:
        patch = {"op": "add", "path": f"/spec/{part}", "value": {"featureGates": [gate]}}
    return f"`kubectl patch clustermanager {manager['metadata']['name']} --type=json -p '{json.dumps([patch])}'`"


def foreign(spec: AddonSpec, live: Mapping[str, Any] | None, *, claim: bool = False) -> list[str]:
    """Faults of a ClusterManagementAddOn: one of that name that is not ours, or another federation's; one of a federation of the same name
    whose hub is in another namespace. Add-ons are one namespace for the whole hub of OCM, and so are names of federations.

    Args:
        live: any of the hub.
        claim: whether to take over that of the other namespace.
    """
    meta = (live or {}).get("metadata") or {}
    labels = meta.get("labels") or {}
    owner, instance = labels.get("app.kubernetes.io/managed-by"), labels.get("app.kubernetes.io/instance")
    if live is None:
        return []
    if owner == MANAGER and instance == spec.federation:
        there = _default_namespace(live)
        if there in ("", spec.namespace):
            return _renamed(spec, meta["name"])
        if claim:
            return []
        return [
            f"the hub has an add-on {meta['name']} already, which belongs to a federation {spec.federation} in the namespace {there}, and "
            f"flower_namespace is {spec.namespace}: set flower_federation to another name, and flower_ocm_addon if it is set. If the federation has "
            "moved to this namespace: -e flower_claim_sites=true takes the add-on over"
        ]
    if meta.get("name") != spec.name:
        return []
    whose = f"the federation {instance}" if owner == MANAGER else "someone else"
    return [
        f"the hub has an add-on {spec.name} already, which belongs to {whose}: set flower_ocm_addon to another name "
        "(add-ons are one namespace for the whole hub)"
    ]


def _renamed(spec: AddonSpec, name: str) -> list[str]:
    """A fault if the federation's add-on has another name: it would go, and with it the SuperNodes and keys of all sites."""
    if name == spec.name:
        return []
    return [
        f"the add-on of the federation {spec.federation} is {name}, and flower_ocm_addon is {spec.name}: set flower_ocm_addon to {name}. With another "
        "name all sites lose their SuperNodes and keys, and join again. If that is wanted, delete the add-on first: "
        f"`kubectl delete clustermanagementaddon {name}`"
    ]


def _default_namespace(management: Mapping[str, Any]) -> str:
    """The namespace of a ClusterManagementAddOn's default config, which is that of its federation's hub; empty without one."""
    for one in (management.get("spec") or {}).get("supportedConfigs") or []:
        if one.get("resource") == api.CONFIGS_RESOURCE:
            return str((one.get("defaultConfig") or {}).get("namespace") or "")
    return ""


def taken(spec: SiteSpec, live: Mapping[str, Any] | None) -> list[str]:
    """Faults of the add-on that a managed cluster has already: that of another federation, of another hub, or of another host of the inventory.

    Args:
        live: its ManagedClusterAddOn; one that Open Cluster Management has just created has no configs and no status yet.
    """
    meta = (live or {}).get("metadata") or {}
    instance = (meta.get("labels") or {}).get("app.kubernetes.io/instance", spec.federation)
    site = (meta.get("annotations") or {}).get(addon_objects.SITE_NOTE, spec.cluster)
    if instance != spec.federation:
        return [
            f"the managed cluster {spec.ocm_cluster} has an add-on {spec.ocm_addon} of the federation {instance}: set flower_ocm_addon "
            "to another name"
        ]
    listed = ((live or {}).get("spec") or {}).get("configs") or []
    homes = {str(one.get("namespace") or "") for one in listed if one.get("resource") == api.CONFIGS_RESOURCE}
    if homes - {"", spec.hub_namespace}:
        return [
            f"the managed cluster {spec.ocm_cluster} is a site of a federation {instance} whose hub is in the namespace "
            f"{', '.join(sorted(homes))}, and flower_namespace is {spec.hub_namespace}: set flower_federation to another name, and flower_ocm_addon if it "
            "is set. If the federation has moved to this namespace: -e flower_claim_sites=true takes the site over"
        ]
    if site != spec.cluster:
        return [
            f"the managed cluster {spec.ocm_cluster} is the site {site} of this federation: two hosts of the inventory need two "
            "clusters (ocm_name). If the host was renamed: -e flower_claim_sites=true takes the site over"
        ]
    return []


def crowded(spec: SiteSpec, works: Iterable[Mapping[str, Any]]) -> list[str]:
    """A fault if another federation has SuperNodes in the same namespace of a managed cluster. Their objects have the same names, and the agent,
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


def bindings(spec: AddonSpec, sets: Iterable[str], bound: Iterable[str]) -> list[str]:
    """Faults of cluster sets: those that do not exist, and those that are not bound to the namespace.

    Args:
        sets: names of the hub's ManagedClusterSets.
        bound: cluster sets that are bound to the federation's namespace.
    """
    known, found = set(sets), []
    for name in spec.cluster_sets:
        if name not in known:
            found.append(
                f"ocm_addon_cluster_sets: there is no ManagedClusterSet {name}; there are {', '.join(sorted(known)) or 'none'}"
            )
        elif name not in set(bound) and not spec.bind_cluster_sets:
            found.append(
                f"no ManagedClusterSetBinding binds the cluster set {name} to the namespace {spec.namespace}, so the Placement "
                f"would select nothing: `clusteradm clusterset bind {name} --namespace {spec.namespace}`, or "
                "ocm_addon_bind_cluster_sets: true"
            )
    return found


def replica_set_kind(spec: AddonSpec) -> tuple[tuple[str, str], ...]:
    """Additional kinds for ClientApps in their own pods."""
    return ((api.REPLICA_SETS, "ManifestWorkReplicaSet"),) if spec.clientapps else ()


def apis(spec: AddonSpec, work: Mapping[str, Any], cluster: Mapping[str, Any]) -> list[str]:
    """Faults of features that the served schema does not have.

    Args:
        work: OpenAPI document of the work API.
        cluster: that of the cluster API that has Placements.
    """
    found = []
    if not api.supports_read_only(work):
        found.append(
            "ManifestWorks of this hub do not support the update strategy ReadOnly, by which a site publishes the public parts of "
            "its keys: upgrade Open Cluster Management to 0.16 or later"
        )
    if spec.install == PLACEMENTS:
        unknown = api.unknown_selectors(cluster, spec.predicates)
        if unknown:
            found.append(
                f"ocm_addon_predicates: Placements of this hub do not support {', '.join(unknown)}, and would select every cluster "
                "silently: use labelSelector or claimSelector, or upgrade Open Cluster Management"
            )
    return found


def cluster(name: str, live: Mapping[str, Any] | None, requests: Iterable[Mapping[str, Any]] = ()) -> list[str]:
    """Faults of one managed cluster.

    Args:
        name: of the ManagedCluster.
        live: it, or None.
        requests: certificate signing requests with its name in their label.
    """
    waiting = [one["metadata"]["name"] for one in requests if is_pending(one)]
    approve = f"`clusteradm accept --clusters {name}`"
    if live is None:
        return [
            f"the hub has no ManagedCluster {name}: join the cluster (`clusteradm join --cluster-name {name}`), or set "
            "supernode_ocm_cluster to its name there"
        ]
    if clusters.is_leaving(live):
        return [
            f"the ManagedCluster {name} is being detached: remove the host from the inventory, or join the cluster again"
        ]
    if not clusters.is_accepted(live):
        return [f"the hub has not accepted the ManagedCluster {name}. If it is yours: {approve}"]
    facts = clusters.variables(live)
    if not facts["ocm_joined"]:
        if waiting:
            return [
                f"the ManagedCluster {name} waits for its certificate: the certificate signing request {', '.join(waiting)} is not "
                f"approved. If it is yours: {approve}"
            ]
        return [f"the ManagedCluster {name} has not joined yet: does its klusterlet run, and does it reach the hub?"]
    if waiting:
        return [
            f"a certificate signing request of the ManagedCluster {name} is not approved ({', '.join(waiting)}), so its agent loses its "
            f"access when the old certificate expires. If it is yours: {approve}"
        ]
    return []


def by_labels(rests: Collection[str], region: str, record: Mapping[str, Any] | None) -> list[str]:
    """Faults of a site, new (without a record in the ledger) or with a new region, if only labels say so (C(flower_ocm_by_labels))."""
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


def is_pending(request: Mapping[str, Any]) -> bool:
    """Whether a certificate signing request is pending: not approved, denied or signed."""
    status = request.get("status") or {}
    return not status.get("certificate") and not any(
        one.get("type") in ("Approved", "Denied", "Failed") for one in status.get("conditions") or []
    )


def unavailable(name: str, live: Mapping[str, Any]) -> str:
    """A sentence on a cluster that does not report or is not healthy; else empty."""
    facts = clusters.variables(live)
    if facts["ocm_availability"] == "available":
        return ""
    reported = facts["ocm_conditions"].get("ManagedClusterConditionAvailable") or {}
    since = f" since {reported['since']}" if reported.get("since") else ""
    if facts["ocm_availability"] == "unavailable":
        return f"the ManagedCluster {name} reports that it is not healthy{since} ({reported.get('message') or reported.get('reason')})"
    return f"the ManagedCluster {name} does not report{since}: its SuperNodes may continue, but changes do not reach it"


def set_labels(sets: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Name -> label selector of those ManagedClusterSets that select clusters by any labels, such as C(global)."""
    selectors = {one["metadata"]["name"]: (one.get("spec") or {}).get("clusterSelector") or {} for one in sets}
    return {name: one.get("labelSelector") or {} for name, one in selectors.items() if one.get("selectorType") == "LabelSelector"}


def chosen(name: str, live: Mapping[str, Any], wanted: Mapping[str, Any], *, selected: bool = False) -> list[str]:
    """Why a Placement that does not exist yet would not select a cluster, as far as known without OCM.

    Args:
        name: of the ManagedCluster.
        live: it.
        wanted: of the Placement C(predicates), one of which must match, C(cluster_sets) and C(tolerations); C(set_labels), what C(set_labels)
            returned.
        selected: whether it has selected the cluster already.
    """
    if not any(_fits(one.get("requiredClusterSelector") or {}, live) for one in wanted["predicates"]):
        return [f"the Placement would not select the ManagedCluster {name}, no predicate matches it{_label_hint(name, live, wanted)}"]
    if not _in_sets(live, wanted["cluster_sets"], wanted["set_labels"]):
        return [_set_fault(name, live, wanted)]
    strange = [one for one in (live.get("spec") or {}).get("taints") or [] if not _tolerated(one, wanted["tolerations"], selected)]
    return [
        f"the ManagedCluster {name} has the taint {_words(one)}, which the Placement does not tolerate: add it to ocm_addon_tolerations, or have the "
        "hub's administrators remove it"
        for one in strange
    ]


def _label_hint(name: str, live: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    labels = [one["requiredClusterSelector"].get("labelSelector") or {} for one in wanted["predicates"]]
    plain = [pair for one in labels for pair in sorted((one.get("matchLabels") or {}).items())]
    if not plain:
        return ""
    key, value = plain[0]
    other = (live["metadata"].get("labels") or {}).get(key)
    if other is None:
        return f": kubectl label managedcluster {name} {key}={value}"
    return (
        f": its label {key} is {other}. If another federation selects it by that, changing the label would delete its SuperNodes and keys there: have this "
        "one select by another label (ocm_addon_predicates)"
    )


def _set_fault(name: str, live: Mapping[str, Any], wanted: Mapping[str, Any]) -> str:
    own = (live["metadata"].get("labels") or {}).get(api.SET_LABEL)
    sets = wanted["cluster_sets"]
    exclusive = [one for one in sets if one not in wanted["set_labels"]]
    # A cluster that leaves its set loses what others deliver to that set.
    way = f"add {own} to flower_ocm_cluster_sets" if own else f"`clusteradm clusterset set {exclusive[0]} --clusters {name}`" if exclusive else "label it"
    return f"the ManagedCluster {name} is in the cluster set {own or '(none)'}, and the Placement selects from {', '.join(sets)}: {way}"


def _in_sets(live: Mapping[str, Any], sets: Iterable[str], by_labels: Mapping[str, Any]) -> bool:
    labels = live["metadata"].get("labels") or {}
    return any(_matches(by_labels[one], labels) if one in by_labels else labels.get(api.SET_LABEL) == one for one in sets)


def _tolerated(taint: Mapping[str, Any], tolerations: Iterable[Mapping[str, Any]], selected: bool) -> bool:
    """OCM's rules (ocm, C(taint_toleration.go)); one with a time counts as long as it may."""
    effect = taint.get("effect")
    if effect == "PreferNoSelect" or (effect == "NoSelectIfNew" and selected):
        return True
    return any(
        one.get("effect") in (None, "", effect)
        and one.get("key") in (None, "", taint.get("key"))
        and (one.get("operator") == "Exists" or (one.get("value") or "") == (taint.get("value") or ""))
        for one in tolerations
    )


def _words(taint: Mapping[str, Any]) -> str:
    return f"{taint.get('key')}{'=' if taint.get('value') else ''}{taint.get('value') or ''}:{taint.get('effect')}"


def clientapps(
    spec: SiteSpec, live: Mapping[str, Any], addon: Mapping[str, Any], schema_of: Callable[[], Mapping[str, Any]]
) -> list[str]:
    """Why ClientApps would not reach a cluster, as far as known without OCM.

    Args:
        live: its ManagedCluster.
        addon: what was read about the add-on; empty if it was not read.
        schema_of: returns the OpenAPI document of the cluster API that has Placements.
    """
    if addon and not addon.get("clientapps"):
        return [
            "supernode_clientapp is workload, but the add-on is not configured for it: set flower_clientapp: "
            "workload for this host, because playbooks read it"
        ]
    found, sets = [], spec.clientapp_cluster_sets
    wanted = spec.clientapp_predicates
    if wanted:
        unknown = api.unknown_selectors(schema_of(), list(wanted))
        if unknown:
            found.append(
                f"supernode_clientapp_predicates: Placements of this hub do not support {', '.join(unknown)}, and would select every "
                "cluster silently: use labelSelector or claimSelector, or upgrade Open Cluster Management"
            )
        elif not any(_fits(one["requiredClusterSelector"], live) for one in wanted):
            found.append(
                f"no predicate of supernode_clientapp_predicates fits the ManagedCluster {spec.ocm_cluster}, so it would get no ClientApps"
            )
    strangers = [name for name in sets if addon and name not in addon["cluster_sets"]]
    if strangers:
        found.append(
            f"supernode_clientapp_cluster_sets: {', '.join(strangers)} is not in ocm_addon_cluster_sets: set flower_ocm_cluster_sets for both"
        )
    if addon and not found and not _in_sets(live, sets, addon["set_labels"]):
        own = (live["metadata"].get("labels") or {}).get(api.SET_LABEL)
        found.append(
            f"the ManagedCluster {spec.ocm_cluster} is in the cluster set {own or '(none)'}, and the ClientApps' Placement selects from "
            f"{', '.join(sets)}"
        )
    return found


def _fits(selector: Mapping[str, Any], live: Mapping[str, Any]) -> bool:
    labels = live["metadata"].get("labels") or {}
    listed = (live.get("status") or {}).get("clusterClaims") or []
    claims = {one.get("name"): one.get("value") for one in listed}
    # Expressions are OCM's to judge.
    return _matches(selector.get("labelSelector") or {}, labels) and _matches(
        selector.get("claimSelector") or {}, claims
    )


def _matches(selector: Mapping[str, Any], has: Mapping[str, Any]) -> bool:
    """Kubernetes' rules of a LabelSelector."""
    if any(has.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    for one in selector.get("matchExpressions") or []:
        key, operator, values = one["key"], one["operator"], one.get("values") or []
        good = {
            "In": key in has and has[key] in values,
            "NotIn": key not in has or has[key] not in values,
            "Exists": key in has,
            "DoesNotExist": key not in has,
        }[operator]
        if not good:
            return False
    return True
