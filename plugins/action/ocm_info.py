# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.ocm_info): what the hub of Open Cluster Management knows of the sites. A hub that is down is an answer."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import (
    api,
    health,
    hub_reader,
    nodes_work,
    replica_set,
)
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.addon_objects import addon_labels


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "federation": {"type": "str", "default": "flower"},
        "addon": {"type": "str", "required": True},
        "sites": {"type": "dict", "required": True},
        "timeout": {"type": "int", "default": 30},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """One list of each kind, whatever the number of sites."""
        sites = {site: str(name) for site, name in params["sites"].items()}
        try:
            with self.connect(params["hub"], timeout=params["timeout"]) as hub:
                found = self._look(hub, params, sites)
        except ClusterError as error:
            told = {
                "reachable": False,
                "error": self.named(error),
                "workloads": [],
                "clientapps": [],
                "trouble": "",
                "ocm": {},
            }
            return {"changed": False, "sites": {site: dict(told) for site in sites}}
        return {"changed": False, "sites": {site: _told(site, seen) for site, seen in found.items()}}

    @staticmethod
    def _look(hub: Cluster, params: dict[str, Any], sites: dict[str, str]) -> dict[str, health.Seen]:
        addon = params["addon"]
        labels = ",".join(f"{key}={value}" for key, value in addon_labels(params["federation"]).items())
        clusters = {item["metadata"]["name"]: item for item in hub.list(api.CLUSTERS, "ManagedCluster")}
        by_name = f"metadata.name={addon}"
        addons = {
            item["metadata"]["namespace"]: item for item in hub.list(api.ADDONS, "ManagedClusterAddOn", fields=by_name)
        }
        works = {
            (item["metadata"]["namespace"], item["metadata"]["name"]): item
            for item in hub.list(api.WORKS, "ManifestWork", labels=labels)
        }
        label = replica_set.label(params["federation"])
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
    """(Cluster, name of the ManifestWorkReplicaSet) -> the ManifestWork that it made."""
    found = hub.list(api.WORKS, "ManifestWork", labels=api.REPLICA_SET_LABEL)
    return {
        (item["metadata"]["namespace"], item["metadata"]["labels"][api.REPLICA_SET_LABEL].partition(".")[2]): item
        for item in found
    }


def _told(site: str, seen: health.Seen) -> dict[str, Any]:
    """In the form of M(federated.flower.supernode_info), with the row beside it."""
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
