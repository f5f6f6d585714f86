# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.preflight): look at a cluster before anything is changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.action_base import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Cluster, ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gpu, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.common import boolean
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import devices, rights


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "part": {"type": "str", "choices": ["superlink", "supernode"], "required": True},
        "spec": {"type": "dict", "required": True},
        "ca_namespace": {"type": "str", "default": "flower-ca"},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Reach the cluster, check rights, look for GPUs."""
        spec = params["spec"]
        warnings: list[str] = []
        if boolean(spec.get("insecure")):
            warnings.append("flower_insecure is true: no TLS and no node authentication; for labs only")
        with self.connect() as cluster:
            version = cluster.request("GET", "/version")["gitVersion"]
            if params["part"] == "superlink":
                self._check_rights(cluster, rights.hub_rights(spec, params["ca_namespace"]))
            else:
                pools = [supernode.effective_pool(spec, pool) for pool in spec["pools"]]
                daemons = any(supernode.pool_mode(pool) == "DaemonSet" for pool in pools)
                devices_wanted = any(gpu.count(pool.get("gpu")) for pool in pools)
                self._check_rights(cluster, rights.site_rights(spec, daemons or devices_wanted))
                if devices_wanted:
                    warnings += devices.warnings(spec, cluster.list("v1", "Node"))
        return {
            "changed": False,
            "version": version,
            "warnings": [f"{self.inventory_host}: {warning}" for warning in warnings],
            "msg": f"{cluster.name} runs Kubernetes {version}, the rights are enough",
        }

    @staticmethod
    def _check_rights(cluster: Cluster, needed: dict[str, list[rights.Right]]) -> None:
        lacking = []
        anywhere = next(namespace for namespace in needed if namespace)
        for namespace, wanted in needed.items():
            review = cluster.request(
                "POST",
                "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews",
                body={
                    "apiVersion": "authorization.k8s.io/v1",
                    "kind": "SelfSubjectRulesReview",
                    "spec": {"namespace": namespace or anywhere},
                },
            )
            absent = rights.missing(wanted, review["status"].get("resourceRules") or [])
            # The answer may be incomplete, and it does not tell rights in the namespace from those on the whole cluster:
            # what it lacks and everything on the whole cluster is asked for one by one.
            doubtful = absent if namespace else wanted
            if doubtful:
                checks = [
                    {
                        "verb": right.verb,
                        "group": right.group,
                        "resource": right.resource.partition("/")[0],
                        "subresource": right.resource.partition("/")[2],
                        "namespace": namespace,
                        "name": "",
                    }
                    for right in doubtful
                ]
                answers = cluster.access_review(checks)
                place = f"in namespace {namespace}" if namespace else "on the whole cluster"
                lacking += [f"{right} {place}" for right, allowed in zip(doubtful, answers) if not allowed]
        if lacking:
            raise ClusterError(
                f"the identity used for {cluster.name} may not: {'; '.join(lacking)}. "
                "Ask the cluster's administrators for these rights, or use another identity (flower_kubeconfig, flower_context)."
            )
