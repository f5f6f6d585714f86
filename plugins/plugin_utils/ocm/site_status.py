# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The state of sites from the Open Cluster Management hub. A hub that is down is a valid result."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.labels import query
from ..kube.client import Cluster
from . import api, health, hub_reader, nodes_work, replica_set
from .addon_objects import addon_labels


def read(hub: Cluster, federation: str, addon: str, sites: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Site -> its state: one list of each kind, for any number of sites.

    Args:
        hub: a connection.
        federation: the federation's name.
        addon: the add-on's.
        sites: site -> name of its ManagedCluster.

    Raises:
        ClusterError: the hub does not answer.
    """
    return {site: _result(site, seen) for site, seen in _look(hub, federation, addon, sites).items()}


def silent(error: str) -> dict[str, Any]:
    """What is known of a site when the hub does not answer."""
    return {"reachable": False, "error": error, "workloads": [], "clientapps": [], "trouble": "", "ocm": {}}


def _look(hub: Cluster, federation: str, addon: str, sites: Mapping[str, str]) -> dict[str, health.Seen]:
    labels = query(addon_labels(federation))
    clusters = {item["metadata"]["name"]: item for item in hub.list(api.CLUSTERS, "ManagedCluster")}
    by_name = f"metadata.name={addon}"
    addons = {
        item["metadata"]["namespace"]: item for item in hub.list(api.ADDONS, "ManagedClusterAddOn", fields=by_name)
    }
    works = {
        (item["metadata"]["namespace"], item["metadata"]["name"]): item
        for item in hub.list(api.WORKS, "ManifestWork", labels=labels)
    }
    label = replica_set.label(federation)
    versions = {name: (item["metadata"].get("labels") or {}).get(label, "") for name, item in clusters.items()}
    apps = _apps(hub) if any(versions.values()) else {}
    chosen = hub_reader.chosen(hub, hub.get(api.ADDONS, "ClusterManagementAddOn", addon))
    return {
        site: health.Seen(
            name,
            clusters.get(name),
            None if chosen is None else name in chosen,
            addons.get(name),
            works.get((name, f"{addon}-nodes")),
            works.get((name, f"{addon}-keys")),
            versions.get(name, ""),
            apps.get((name, replica_set.name_of(versions.get(name, "")))),
        )
        for site, name in sites.items()
    }


def _apps(hub: Cluster) -> dict[tuple[str, str], dict[str, Any]]:
    """(Cluster, name of the ManifestWorkReplicaSet) -> the ManifestWork that it created."""
    found = hub.list(api.WORKS, "ManifestWork", labels=api.REPLICA_SET_LABEL)
    return {
        (item["metadata"]["namespace"], item["metadata"]["labels"][api.REPLICA_SET_LABEL].partition(".")[2]): item
        for item in found
    }


def _result(site: str, seen: health.Seen) -> dict[str, Any]:
    """In the form of M(federated.flower.supernode_info), with the row in addition."""
    row = health.row(seen)
    heard = row["state"] not in (health.ABSENT, health.LEAVING, health.UNACCEPTED, health.UNHEARD, health.UNWELL)
    return {
        "reachable": heard,
        "error": "" if heard else f"{site}: {row['why']}",
        "workloads": nodes_work.rows(seen.nodes),
        "clientapps": nodes_work.rows(seen.apps),
        "trouble": row["why"] if heard and not row["ready"] else "",
        "ocm": row,
    }
