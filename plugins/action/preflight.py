# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.preflight): look at a cluster before anything is changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.action_base import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Cluster, Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gpu, namespace, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.common import boolean
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import devices
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask, grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import DEPLOY, WORKS
from ansible_collections.federated.flower.plugins.plugin_utils.rights.table import SUPERLINK, SUPERNODE


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "part": {"type": "str", "choices": [SUPERLINK, SUPERNODE], "required": True},
        "spec": {"type": "dict", "required": True},
        "ca_namespace": {"type": "str", "default": "flower-ca"},
        "works": {"type": "list", "elements": "str", "choices": list(WORKS), "default": [DEPLOY]},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Reach the cluster, check rights, look for GPUs."""
        spec = params["spec"]
        warnings: list[str] = []
        if boolean(spec.get("insecure")):
            warnings.append("flower_insecure is true: no TLS and no node authentication; for labs only")
        with self.connect() as cluster:
            version = cluster.request("GET", "/version")["gitVersion"]
            part, ca_namespace = params["part"], params["ca_namespace"]
            absent = self._absent(cluster, spec, grants.namespaces(part, spec, ca_namespace))
            ask.require(
                cluster, grants.controller_rights(part, spec, ca_namespace, works=params["works"], absent=absent)
            )
            if part == SUPERNODE:
                warnings += self._devices(cluster, spec)
        return {
            "changed": False,
            "version": version,
            "warnings": [f"{self.inventory_host}: {warning}" for warning in warnings],
            "msg": f"{cluster.name} runs Kubernetes {version}, the rights are enough",
        }

    @staticmethod
    def _absent(cluster: Cluster, spec: dict[str, Any], names: list[str]) -> list[str]:
        """Namespaces that are to be made. One that may not be looked at counts as absent."""
        found = []
        for name in names if namespace.objects(spec) else ():
            try:
                there = cluster.get("v1", "Namespace", name)
            except Forbidden:
                there = None
            if there is None:
                found.append(name)
        return found

    @staticmethod
    def _devices(cluster: Cluster, spec: dict[str, Any]) -> list[str]:
        """What pools ask for and no node has. Only a DaemonSet pool needs the right to look at nodes."""
        pools = [supernode.effective_pool(spec, pool) for pool in spec["pools"]]
        if not any(gpu.count(pool.get("gpu")) for pool in pools):
            return []
        try:
            return devices.warnings(spec, cluster.list("v1", "Node"))
        except Forbidden:
            return ["whether a node has the GPUs that pools ask for is unknown: nodes may not be listed here"]
