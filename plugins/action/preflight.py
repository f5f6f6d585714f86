# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.preflight): look at a cluster before anything is changed."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils import pki
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Cluster, ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.hub import checks, settings
from ansible_collections.federated.flower.plugins.plugin_utils.hub.action import CertificateAction
from ansible_collections.federated.flower.plugins.plugin_utils.hub.look import look
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gpu, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.common import boolean
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import clocks, devices, rights


class ActionModule(CertificateAction):
    """See the module's documentation."""

    ARGS = {
        "part": {"type": "str", "choices": ["superlink", "supernode"], "required": True},
        "spec": {"type": "dict", "required": True},
        **settings.OPTIONS,
        "hub": {"type": "dict", "default": {}},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Reach the cluster, check rights, look for GPUs, at clocks and at the gateway's certificate."""
        spec = params["spec"]
        warnings: list[str] = []
        certificate: dict[str, Any] = {}
        if boolean(spec.get("insecure")):
            warnings.append("flower_insecure is true: no TLS and no node authentication; for labs only")
        with self.connect() as cluster:
            version = cluster.request("GET", "/version")["gitVersion"]
            if params["part"] == "superlink":
                self._check_rights(cluster, rights.hub_rights(spec, params["ca_namespace"]))
                warnings += [word for word in [clocks.apart(cluster.skew)] if word]
                if not boolean(spec.get("insecure")):
                    certificate = self._check_certificate(cluster, params, warnings)
            else:
                pools = [supernode.effective_pool(spec, pool) for pool in spec["pools"]]
                daemons = any(supernode.pool_mode(pool) == "DaemonSet" for pool in pools)
                devices_wanted = any(gpu.count(pool.get("gpu")) for pool in pools)
                self._check_rights(cluster, rights.site_rights(spec, daemons or devices_wanted))
                if devices_wanted:
                    warnings += devices.warnings(spec, cluster.list("v1", "Node"))
                warnings += self._check_clock(cluster, spec, params["hub"])
            skew = cluster.skew
        return {
            "changed": False,
            "version": version,
            "skew": skew,
            "certificate": certificate,
            "warnings": [f"{self.inventory_host}: {warning}" for warning in warnings],
            "msg": f"{cluster.name} runs Kubernetes {version}, the rights are enough",
        }

    def _check_certificate(self, hub: Cluster, params: dict[str, Any], warnings: list[str]) -> dict[str, str]:
        """Is what the gateway is going to serve good for all sites? Public facts of it, as far as they are known yet."""
        pki.require()
        address = self.address(hub, params["spec"], likely=True)
        wanted = self.wanted(params, address)
        source = self.source(params, wanted, address)
        plan = source.plan(wanted, look(hub, source, wanted))
        self.refuse_faults(hub, plan, wanted)
        warnings += checks.warnings(plan, datetime.datetime.now(datetime.timezone.utc))
        return pki.describe(plan.certificate) if plan.certificate else {}

    @staticmethod
    def _check_clock(cluster: Cluster, spec: dict[str, Any], hub: dict[str, Any]) -> list[str]:
        """Is the site's clock near enough to the hub's, and the gateway's certificate valid by it? Returns warnings."""
        now = datetime.datetime.now(datetime.timezone.utc)
        fault, warning = clocks.between(cluster.skew, hub.get("skew"), signed=not boolean(spec.get("insecure")))
        fault = fault or clocks.validity(hub.get("certificate") or {}, cluster.skew, now)
        if fault:
            raise ClusterError(f"{fault}. Measured at the API server {cluster.server}.")
        return [warning] if warning else []

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
