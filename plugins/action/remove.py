# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.remove): take what was deployed out of one cluster, but no volumes unless told."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.wait import Waiter
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import (
    CONTROLLER,
    KEY_SOURCES,
    PUBLIC_KEYS,
    SITE,
)
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import NEW, Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.marks import parts, proof, record
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import ca_namespace, removal
from ansible_collections.federated.flower.plugins.plugin_utils.rights.table import SUPERLINK, SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import job

_PARTS = {SUPERLINK: parts.HUB, SUPERNODE: parts.SITE}


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str", "required": True},
        "applyset": {"type": "str", "choices": [SUPERLINK, SUPERNODE], "required": True},
        "federation": {"type": "str", "default": "flower"},
        "credentials": {"type": "bool", "default": False},
        "volumes": {"type": "bool", "default": False},
        "ca_namespace": {"type": "str", "default": ""},
        "skupper": {"type": "bool", "default": False},
        "key_source": {"type": "str", "choices": list(KEY_SOURCES), "default": CONTROLLER},
        "hub": {"type": "str", "default": ""},
        "hub_namespace": {"type": "str", "default": "flower"},
        "claim": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Delete the set; then, as told, secrets and records, volumes, and namespaces that nothing else needs."""
        identity = self._identity_of_hub(params)
        with self.connect() as cluster:
            self._refuse_other(cluster, params, identity)
            if params["key_source"] == SITE and not self.check:
                job.make_room(cluster, params["namespace"], params["wait_timeout"])
            going = self._delete_set(cluster, params)
            kept: list[str] = []
            if params["credentials"] or params["volumes"]:
                left = removal.leftovers(cluster, self._asked(cluster, params))
                kept = left.kept
                outcome = apply_objects(
                    cluster,
                    left.going,
                    state="absent",
                    check=self.check,
                    wait=True,
                    wait_timeout=params["wait_timeout"],
                )
                going += outcome.objects
                if params["key_source"] == SITE and not self.check:
                    self._await_keys(cluster, params)
        gone = [item for item in going if item["change"] == "deleted"]
        return {
            "changed": bool(gone),
            "objects": gone,
            "msg": f"{len(gone)} objects {'to delete' if self.check else 'deleted'} from {cluster.name}"
            + "".join(f"; {sentence}" for sentence in kept),
        }

    def _delete_set(self, cluster: Cluster, params: dict[str, Any]) -> list[dict[str, str]]:
        if cluster.get("v1", "Namespace", params["namespace"]) is None:
            return []
        outcome = apply_objects(
            cluster,
            [],
            state="absent",
            applyset=params["applyset"],
            applyset_namespace=params["namespace"],
            check=self.check,
            wait=True,
            wait_timeout=params["wait_timeout"],
        )
        return outcome.objects

    @staticmethod
    def _await_keys(cluster: Cluster, params: dict[str, Any]) -> None:
        """Wait until Kubernetes has deleted the Secrets of an owner that was deleted, and with the last one what tells of them."""
        namespace = params["namespace"]

        def gone() -> bool:
            return cluster.get("v1", "ConfigMap", PUBLIC_KEYS, namespace) is None

        if not Waiter(cluster, params["wait_timeout"]).until(gone):
            raise ClusterError(
                f"the keys that {cluster.name} made itself are still in namespace {namespace} after "
                f"{params['wait_timeout']} s: ConfigMap {PUBLIC_KEYS} names them. Does the cluster's garbage collector "
                "(kube-controller-manager) run? Run again when it does, or let the site's administrators delete them."
            )

    @staticmethod
    def _asked(cluster: Cluster, params: dict[str, Any]) -> removal.Request:
        place = params["ca_namespace"]
        return removal.Request(
            params["federation"],
            _PARTS[params["applyset"]],
            params["namespace"],
            ca_namespace.resolve(cluster, params["namespace"], place) if place else "",
            volumes=params["volumes"],
            skupper=params["skupper"],
            key_source=params["key_source"],
        )

    def _identity_of_hub(self, params: dict[str, Any]) -> str:
        """By which a site notes whose it is; empty where the hub has no ledger any more, or nobody asks."""
        if not params["hub"] or params["claim"]:
            return ""
        with self.connect(params["hub"]) as hub:
            found = Ledger(hub, params["hub_namespace"], params["federation"]).identity()
        return "" if found == NEW else found

    def _refuse_other(self, cluster: Cluster, params: dict[str, Any], identity: str) -> None:
        """Refuse to take away what another federation or hub, or another host of this inventory deployed."""
        if params["claim"]:
            return
        namespace, federation = params["namespace"], params["federation"]
        live = cluster.get("v1", "Namespace", namespace)
        why = ""
        if live is not None and proof.is_managed(live) and not proof.belongs(live, federation):
            why = f"namespace {namespace} {proof.holder(live)}, not to {federation}: correct flower_federation or flower_namespace."
        elif live is not None:
            parent = cluster.get("v1", "ConfigMap", applyset.parent_name(params["applyset"]), namespace)
            site = self.inventory_host if params["applyset"] == SUPERNODE else ""
            why = record.fault(parent, record.notes(federation, site, identity))
        if why:
            raise ClusterError(f"{cluster.name}: nothing is deleted: {why}")
