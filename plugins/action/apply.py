# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliver a list of objects to one cluster. Documented in plugins/modules/apply.py."""

from __future__ import annotations

from typing import Any

from ansible.utils.display import Display

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import ApplyFailed, apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import CLIENTAPP
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube import refresh
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import clientapp
from ansible_collections.federated.flower.plugins.plugin_utils.marks import parts, record
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.delivery import Delivery
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import conditions

display = Display()

ALL = "all"
_WAY_OUT = "supernode_clientapp_wait", "flower_clientapp_force=true"


def _is_changed_file(entry: dict[str, str]) -> bool:
    return entry["kind"] in ("ConfigMap", "Secret") and entry["change"] == "changed"


class ActionModule(ClusterAction):
    """The action plugin C(federated.flower.apply)."""

    ARGS = {
        "objects": {"type": "list", "elements": "dict", "required": True},
        "state": {"type": "str", "choices": ["present", "absent"], "default": "present"},
        "applyset": {"type": "str"},
        "applyset_namespace": {"type": "str"},
        "prune": {"type": "bool"},
        "wait": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 300},
        "return_applied": {"type": "bool", "default": False},
        "refresh_pods": {"type": "str"},
        "owner": {
            "type": "dict",
            "options": {
                "federation": {"type": "str", "required": True},
                "site": {"type": "str", "default": ""},
                "hub": {"type": "str", "default": ""},
            },
        },
        "part": {"type": "str", "choices": [parts.HUB, parts.SITE]},
        "claim": {"type": "bool", "default": False},
        "runs": {
            "type": "dict",
            "options": {
                "hub": {"type": "str", "required": True},
                "namespace": {"type": "str", "default": "flower"},
                "wait": {"type": "int", "default": 3600},
                "force": {"type": "bool", "default": False},
            },
        },
        "ocm": {
            "type": "dict",
            "options": {
                "hub": {"type": "str", "required": True},
                "spec": {"type": "dict", "required": True},
                "part": {"type": "str", "choices": [ALL, CLIENTAPP], "default": ALL},
            },
        },
    }
    SPEC = {"required_by": {"refresh_pods": ("applyset_namespace",), "owner": ("applyset",)}}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See ClusterAction."""
        if params["ocm"]:
            return self._through_hub(params, params["ocm"])
        with self.connect() as cluster:
            cluster.name = self.inventory_host
            if self._replaces_apps(cluster, params):
                self._wait_no_run(params["runs"])
            try:
                result = apply_objects(
                    cluster,
                    params["objects"],
                    state=params["state"],
                    applyset=params["applyset"],
                    applyset_namespace=params["applyset_namespace"],
                    prune=params["prune"],
                    check=self.check,
                    show_diff=self.show_diff,
                    wait=params["wait"],
                    wait_timeout=params["wait_timeout"],
                    owner=record.notes(**params["owner"]) if params["owner"] else None,
                    claim=params["claim"],
                    own_only=True,
                    part=params["part"],
                )
            except ApplyFailed as error:
                return error.result.as_dict(applied=params["return_applied"]) | {
                    "failed": True,
                    "msg": self.named(error),
                }
            if params["refresh_pods"] and not self.check and any(map(_is_changed_file, result.objects)):
                refresh.touch_pods(cluster, params["applyset_namespace"], params["refresh_pods"])
        return result.as_dict(applied=params["return_applied"])

    def _through_hub(self, params: dict[str, Any], way: dict[str, Any]) -> dict[str, Any]:
        """The same through a hub of Open Cluster Management, whose agent in the cluster does the rest."""
        with self.connect(way["hub"]) as hub:
            self._site = self.inventory_host  # what changes on the hub is this site's
            delivery = Delivery(hub, way["spec"], params["objects"], check=self.check, show_diff=self.show_diff)
            if params["state"] == "absent":
                delivery.remove(params["wait_timeout"] if params["wait"] else None)
                return delivery.told()
            if way["part"] == ALL:
                delivery.bring_nodes(delivery.bring_addon())
            try:
                if way["part"] == ALL and params["wait"] and not self.check:
                    delivery.wait(params["wait_timeout"])
                delivery.bring_apps(
                    params["wait_timeout"] if params["wait"] else None, lambda: self._wait_no_run(params["runs"])
                )
            except ClusterError as error:
                return delivery.told() | {"failed": True, "msg": self.named(error)}
            return delivery.told()

    def _replaces_apps(self, cluster: Cluster, params: dict[str, Any]) -> bool:
        """Whether ClientApps that run in pods of their own are about to be replaced."""
        apps = [item for item in params["objects"] if clientapp.is_one(item)]
        if not apps or not params["runs"] or params["runs"]["force"] or self.check or params["state"] == "absent":
            return False
        return any(one["change"] == "changed" for one in apply_objects(cluster, apps, check=True).objects)

    def _wait_no_run(self, runs: dict[str, Any] | None) -> None:
        if runs and not runs["force"]:
            with self.connect(runs["hub"]) as hub:
                self._site = self.inventory_host  # what changes is this site's
                conditions.wait_no_run(FlowerCLI(hub, runs["namespace"]), runs["wait"], display.display, _WAY_OUT)
