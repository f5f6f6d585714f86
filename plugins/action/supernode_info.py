# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_info): what runs in a site's cluster. A cluster that is down is an answer."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.action_base import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.report import workloads


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str", "default": "flower"},
        "timeout": {"type": "int", "default": 10},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the pools and their pods."""
        result: dict[str, Any] = {"changed": False, "reachable": True, "error": "", "workloads": [], "trouble": ""}
        selector = "app.kubernetes.io/name=supernode"
        try:
            with self.connect(timeout=params["timeout"]) as site:
                for kind in ("StatefulSet", "DaemonSet"):
                    found = site.list("apps/v1", kind, params["namespace"], labels=selector)
                    result["workloads"] += [workloads.workload({"kind": kind, **item}) for item in found]
                if any(item["ready"] < item["desired"] for item in result["workloads"]):
                    pods = site.list("v1", "Pod", params["namespace"], labels=selector)
                    result["trouble"] = workloads.trouble(pods)
        except ClusterError as error:
            result.update(reachable=False, error=self.named(error))
        return result
