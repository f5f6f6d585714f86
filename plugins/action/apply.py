# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliver a list of objects to one cluster. Documented in plugins/modules/apply.py."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.applyset import group_kind
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import ApplyFailed
from ansible_collections.federated.flower.plugins.plugin_utils.kube import stuck_pods
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners


class ActionModule(ClusterAction):
    """The action plugin C(federated.flower.apply)."""

    SPEC = {"required_by": {"refresh_pods": ("applyset_namespace",), "owner": ("applyset",)}}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """See ClusterAction."""
        if self.rendering and params["state"] == "present":
            self.render(self.inventory_host, params["objects"])
            return {"changed": False, "objects": [], "msg": f"{len(params['objects'])} objects are written by the end of the playbook"}
        with self.connect() as cluster:
            cluster.name = self.inventory_host
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
                    owner=owners.deployment_notes(**params["owner"]) if params["owner"] else None,
                    claim=params["claim"],
                    own_only=True,
                    part=params["part"],
                    unrecorded=[group_kind(text) for text in params["unrecorded_kinds"]],
                )
            except ApplyFailed as error:
                return error.result.as_dict(applied=params["return_applied"]) | {
                    "failed": True,
                    "msg": self.named(error),
                }
            if params["refresh_pods"] and not self.check and stuck_pods.are_files_changed(result.objects):
                stuck_pods.touch_pods(cluster, params["applyset_namespace"], params["refresh_pods"])
        return result.as_dict(applied=params["return_applied"])
