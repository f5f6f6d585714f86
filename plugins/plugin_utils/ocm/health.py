# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The state of sites from the hub, one row for each cluster: selected, delivered, running, online.

Ready means pods ready and nodes online at the SuperLink. C(Available) and C(Completed) of the add-on mean only that objects
exist (see C(statuses.py) and C(nodes_work.py)), so they are shown and never count as readiness.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..base.foreign_data import FAULTS, cleaned
from ..base.labels import query
from ..kube.client import Cluster
from . import addon_objects, api, app_versions, checks, clusters, hub_reader, key_work, nodes_work, statuses
from .addon_objects import addon_labels
from .statuses import condition

# States, the worst first.
ABSENT = "not managed"
LEAVING = "being detached"
UNACCEPTED = "not accepted"
UNCHOSEN = "not chosen"
BARE = "no add-on"
UNHEARD = "not heard"
UNWELL = "unavailable"
REFUSED = "refused"
DELIVERING = "delivering"
STARTING = "starting"
OFFLINE = "offline"
READY = "ready"

Object = Mapping[str, Any]


@dataclass(frozen=True)
class Seen:
    """The hub's objects of one cluster.

    Attributes:
        name: of the ManagedCluster.
        cluster: it, or None.
        chosen: whether a Placement has selected it; None without one (strategy Manual).
        addon: its ManagedClusterAddOn, or None.
        nodes: the ManifestWork with its SuperNodes, or None.
        keys: the ManifestWork with its keys, or None.
        version: the version of ClientApps in its label; empty where they are not in their own pods.
        apps: the ManifestWork with them, or None.
    """

    name: str
    cluster: Object | None = None
    chosen: bool | None = None
    addon: Object | None = None
    nodes: Object | None = None
    keys: Object | None = None
    version: str = ""
    apps: Object | None = None


def health_row(seen: Seen, online: int | None = None) -> dict[str, Any]:
    """The row of a cluster.

    Args:
        seen: the hub's objects.
        online: how many of its SuperNodes are online at the SuperLink; None if not requested.

    Returns:
        C(state), one of the values above; C(ready) (bool); C(why), a sentence, empty when ready; C(cluster), C(chosen),
        C(availability), C(addon) (C(available), C(progressing), C(configured)), C(applied) and C(available) of the
        SuperNodes' ManifestWork, C(keys) (C(at rest) or the message of the job), C(desired), C(pods), C(online); C(clientapp), with
        C(version), C(applied), C(desired), C(pods) and C(images) of ClientApps in their own pods, empty where there are none.
    """
    pools = nodes_work.rows(seen.nodes)
    state, why = _state(seen)
    why = cleaned(why)
    row = {
        "state": state,
        "ready": state == READY,
        "why": why,
        "cluster": seen.name,
        "chosen": seen.chosen,
        "availability": clusters.variables(seen.cluster)["ocm_availability"] if seen.cluster else "unknown",
        "addon": {
            "available": condition(seen.addon, "Available").get("status", ""),
            "progressing": condition(seen.addon, "Progressing").get("reason", ""),
            "configured": condition(seen.addon, "Configured").get("status", ""),
        },
        "applied": statuses.applied(seen.nodes).ready,
        "available": condition(seen.nodes, "Available").get("status", ""),
        "keys": cleaned(key_work.job_state(seen.keys).why) if key_work.job_of(seen.keys) else "at rest",
        "desired": sum(pool["desired"] for pool in pools),
        "pods": sum(pool["ready"] for pool in pools),
        "clientapp": {},
    }
    if _has_apps(seen):
        pools = nodes_work.rows(seen.apps)
        row["clientapp"] = {
            "version": seen.version,
            "applied": statuses.applied(seen.apps).ready,
            "desired": sum(pool["desired"] for pool in pools),
            "pods": sum(pool["ready"] for pool in pools),
            "images": sorted({pool["image"] for pool in pools}),
        }
    return with_nodes(row, online)


def _has_apps(seen: Seen) -> bool:
    """Whether the site must have ClientApps in their own pods, or has them."""
    notes = ((seen.addon or {}).get("metadata") or {}).get("annotations") or {}
    return bool(seen.version) or addon_objects.APPS_NOTE in notes


def with_nodes(row: Mapping[str, Any], online: int | None) -> dict[str, Any]:
    """A row with the number of SuperNodes that are online at the SuperLink, None if it is not known; an empty one stays empty."""
    if not row:
        return {}
    reported = {}
    if row["state"] == READY and online is not None and online < row["desired"]:
        reported = {"state": OFFLINE, "ready": False, "why": f"{online} of {row['desired']} SuperNodes are online at the SuperLink"}
    return {**row, "online": online, **reported}


def _state(seen: Seen) -> tuple[str, str]:
    """The state and the sentence: the first problem, from the cluster down to its pods."""
    problem = next(iter(checks.cluster(seen.name, seen.cluster)), "")
    if seen.cluster is None:
        return ABSENT, problem
    if clusters.is_leaving(seen.cluster):
        return LEAVING, problem
    if not clusters.is_accepted(seen.cluster):
        return UNACCEPTED, problem
    if seen.chosen is False:
        return UNCHOSEN, f"no Placement selects the ManagedCluster {seen.name}; its partitions are kept"
    if seen.addon is None:
        return BARE, f"the ManagedCluster {seen.name} has no add-on"
    if silent := checks.unavailable(seen.name, seen.cluster):
        # Its last report may be hours old: nothing below counts.
        return (UNWELL if condition(seen.cluster, "ManagedClusterConditionAvailable").get("status") == "False" else UNHEARD), silent
    delivered = statuses.addon_state(seen.addon, (seen.addon.get("spec") or {}).get("configs") or [])
    there, pods = statuses.applied(seen.nodes), nodes_work.state(seen.nodes)
    if not delivered.ready or not there.ready:
        return REFUSED if delivered.failed or there.failed else DELIVERING, "; ".join(filter(None, (delivered.why, there.why)))
    if not pods.ready:
        return STARTING, "; ".join(filter(None, (pods.why, nodes_work.trouble(seen.nodes))))
    if not _has_apps(seen):
        return READY, ""
    there, pods = statuses.applied(seen.apps), nodes_work.state(seen.apps)
    if not seen.version:
        return DELIVERING, "ClientApps: no version was selected for it yet"
    if pods.ready:
        return READY, ""
    state = REFUSED if there.failed else STARTING if there.ready else DELIVERING
    return state, "; ".join(filter(None, (f"ClientApps: {pods.why}", nodes_work.trouble(seen.apps))))


def read(hub: Cluster, federation: str, addon: str, sites: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Site -> its state, in the form of M(federated.flower.supernode_info) with the row in addition: one list of each kind, for any number of sites.

    Args:
        federation: the federation's name.
        addon: the add-on's.
        sites: site -> name of its ManagedCluster.

    Raises:
        ClusterError: the hub does not answer.
    """
    managed = {item["metadata"]["name"]: item for item in hub.list(api.CLUSTERS, "ManagedCluster")}
    addons = {item["metadata"]["namespace"]: item for item in hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={addon}")}
    listed, faults = hub_reader.works(hub, query(addon_labels(federation)))
    works = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in listed}
    label = app_versions.label(federation)
    versions = {name: (item["metadata"].get("labels") or {}).get(label, "") for name, item in managed.items()}
    created, more = hub_reader.works(hub, api.REPLICA_SET_LABEL) if any(versions.values()) else ([], {})
    # (Cluster, name of the ManifestWorkReplicaSet) -> the ManifestWork that it created.
    apps = {(item["metadata"]["namespace"], item["metadata"]["labels"][api.REPLICA_SET_LABEL].partition(".")[2]): item for item in created}
    chosen = hub_reader.chosen(hub, hub.get(api.ADDONS, "ClusterManagementAddOn", addon))
    found = {}
    for site, name in sites.items():
        if fault := faults.get(name) or more.get(name):
            found[site] = unreachable_state(f"{site}: {fault}")
            continue
        version = versions.get(name, "")
        seen = Seen(
            name,
            managed.get(name),
            None if chosen is None else name in chosen,
            addons.get(name),
            works.get((name, f"{addon}-nodes")),
            works.get((name, f"{addon}-keys")),
            version,
            apps.get((name, app_versions.name_of(version))),
        )
        try:
            found[site] = _site_state(site, seen)
        except FAULTS as error:
            words = f"what its agent reports to {hub.name} of ManagedCluster {name} has another shape ({type(error).__name__}: {cleaned(str(error), 200)})"
            found[site] = unreachable_state(f"{site}: {words}. Check who may change the status of its ManifestWorks")
    return found


def _site_state(site: str, seen: Seen) -> dict[str, Any]:
    """See C(read)."""
    row = health_row(seen)
    reachable = row["state"] not in (ABSENT, LEAVING, UNACCEPTED, UNHEARD, UNWELL)
    return {
        "reachable": reachable,
        "error": "" if reachable else f"{site}: {row['why']}",
        "workloads": nodes_work.rows(seen.nodes),
        "clientapps": nodes_work.rows(seen.apps),
        "trouble": row["why"] if reachable else "",
        "ocm": row,
    }


def unreachable_state(error: str) -> dict[str, Any]:
    """What is known of a site when the hub does not answer."""
    return {"reachable": False, "error": error, "workloads": [], "clientapps": [], "trouble": "", "ocm": {}}
