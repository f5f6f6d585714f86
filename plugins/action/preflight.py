# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.preflight): look at a cluster before anything is changed."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

from ansible import constants

from ansible_collections.federated.flower.plugins.plugin_utils.actions.given_spec import given_spec
from ansible_collections.federated.flower.plugins.plugin_utils.actions.hub_action import CertificateAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import SITE
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import boolean
from ansible_collections.federated.flower.plugins.plugin_utils.hub import plan_checks, settings
from ansible_collections.federated.flower.plugins.plugin_utils.hub.source_reader import look
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import gpu, key_job, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.marks import record
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import hub_reader as look_through
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import ca_namespace as ca_namespaces
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import look as look_at
from ansible_collections.federated.flower.plugins.plugin_utils.ownership import twins
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, library
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import clocks, devices, rehearsal
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask, grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import DEPLOY, WORKS
from ansible_collections.federated.flower.plugins.plugin_utils.rights.rules import missing, singles
from ansible_collections.federated.flower.plugins.plugin_utils.rights.table import SUPERLINK, SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.spec.render import drafted


class ActionModule(CertificateAction):
    """See the module's documentation."""

    ARGS = {
        "part": {"type": "str", "choices": [SUPERLINK, SUPERNODE], "required": True},
        "spec": {"type": "dict"},
        **settings.OPTIONS,
        "hub": {"type": "dict", "default": {}},
        "ocm": {"type": "dict"},
        "claim": {"type": "bool", "default": False},
        "works": {"type": "list", "elements": "str", "choices": list(WORKS), "default": [DEPLOY]},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Reach the cluster, check rights, look for GPUs, at clocks and at the gateway's certificate."""
        spec = given_spec(self, params["part"], params["spec"])
        params = {**params, "spec": spec}
        if params["ocm"]:
            return self._through_hub(spec, params["ocm"])
        spec = {**spec, "skupper": any(map(self.is_in_network, params["sites"]))}
        at_site = params["part"] == SUPERNODE and spec.get("key_source") == SITE
        warnings: list[str] = []
        certificate: dict[str, Any] = {}
        if boolean(spec.get("insecure")):
            warnings.append("flower_insecure is true: no TLS and no node authentication; for labs only")
        with self.connect() as cluster:
            version = cluster.request("GET", "/version")["gitVersion"]
            part, ca_namespace, identity = params["part"], "", ""
            if part == SUPERLINK:
                ca_namespace = ca_namespaces.resolve(cluster, spec["namespace"], params["ca_namespace"])
                params = {**params, "ca_namespace": ca_namespace}
            found = self._look(cluster, params, spec)
            if at_site:
                spec = {**spec, "keys_account": self._account_is_given(cluster, spec["namespace"])}
            ask.require(
                cluster, grants.controller_rights(part, spec, ca_namespace, works=params["works"], absent=found.absent)
            )
            if at_site and spec["keys_account"]:
                self._check_account(cluster, spec)
            rehearsed = rehearsal.rehearse(cluster, drafted(part, spec), found.absent, part)
            if part == SUPERLINK:
                identity = Ledger(cluster, spec["namespace"], spec["federation"]).identity()
                warnings += [word for word in [clocks.apart(cluster.skew)] if word]
                if not boolean(spec.get("insecure")):
                    certificate = self._check_certificate(cluster, params, warnings)
            else:
                warnings += self._devices(cluster, spec)
                warnings += self._check_clock(cluster, spec, params["hub"])
            skew = cluster.skew
        return {
            "changed": False,
            "version": version,
            "skew": skew,
            "rehearsed": rehearsed,
            "certificate": certificate,
            "identity": identity,
            "skupper": spec["skupper"],
            "warnings": [f"{self.inventory_host}: {warning}" for warning in warnings],
            "msg": f"{cluster.name} runs Kubernetes {version}, the rights are enough",
        }

    def _through_hub(self, spec: dict[str, Any], way: dict[str, Any]) -> dict[str, Any]:
        """A site that is reached through a hub of Open Cluster Management: nothing in it can be asked."""
        with self.connect(way["hub"]) as hub:
            warnings = look_through.at_site(hub, spec, way.get("addon") or {}, claim=self.params["claim"])
            self._claim(
                [f"managed cluster {hub.server} {spec['ocm_cluster']}"],
                f"managed cluster {spec['ocm_cluster']}",
                "ocm_name",
            )
        return {
            "changed": False,
            "warnings": [f"{self.inventory_host}: {warning}" for warning in warnings],
            "msg": f"the ManagedCluster {spec['ocm_cluster']} can be reached through {hub.name}",
        }

    def _check_certificate(self, hub: Cluster, params: dict[str, Any], warnings: list[str]) -> dict[str, str]:
        """Is what the gateway is going to serve good for all sites? Public facts of it, as far as they are known yet."""
        library.require()
        address = self.address(hub, params["spec"], likely=True)
        wanted = self.wanted(params, address)
        source = self.source(params, wanted, address)
        plan = source.plan(wanted, look(hub, source, wanted))
        self.refuse_faults(hub, plan, wanted)
        warnings += plan_checks.warnings(plan, datetime.datetime.now(datetime.timezone.utc))
        return certificates.describe(plan.certificate) if plan.certificate else {}

    @staticmethod
    def _check_clock(cluster: Cluster, spec: dict[str, Any], hub: dict[str, Any]) -> list[str]:
        """Is the site's clock near enough to the hub's, and the gateway's certificate valid by it? Returns warnings."""
        now = datetime.datetime.now(datetime.timezone.utc)
        fault, warning = clocks.between(cluster.skew, hub.get("skew"), signed=not boolean(spec.get("insecure")))
        fault = fault or clocks.validity(hub.get("certificate") or {}, cluster.skew, now)
        if fault:
            raise ClusterError(f"{fault}. Measured at the API server {cluster.server}.")
        return [warning] if warning else []

    def _look(self, cluster: Cluster, params: dict[str, Any], spec: dict[str, Any]) -> look_at.Found:
        """Does what is going to be written belong to somebody else, or to another host of this inventory?"""
        is_site = params["part"] == SUPERNODE
        owner = record.notes(spec["federation"], self.inventory_host, params["hub"].get("identity") or "")
        found = look_at.look(
            cluster,
            params["part"],
            spec,
            params["ca_namespace"] if not is_site else "",
            owner=owner if is_site else None,
            claim=params["claim"],
        )
        self._claim(
            [f"{params['part']} {one}" for one in found.places],
            f"namespace {spec['namespace']} of the same cluster",
            f"{params['part']}_namespace, flower_context, flower_kubeconfig",
        )
        return found

    def _claim(self, places: list[str], what: str, variables: str) -> None:
        """Refuse to go on when another host of this inventory is the same place."""
        other = twins.claim(Path(constants.DEFAULT_LOCAL_TMP), places, self.inventory_host)
        if other:
            raise ClusterError(
                f"this host and {other} are the same {what}: they would overwrite each other. Give one of them another place "
                f"({variables}), or take it out of the inventory."
            )

    @staticmethod
    def _account_is_given(cluster: Cluster, namespace: str) -> bool:
        """Whether the site's administrators made the account of the Job that makes keys. One that may not be seen counts as absent."""
        try:
            return cluster.get("v1", "ServiceAccount", key_job.ACCESS, namespace) is not None
        except Forbidden:
            return False

    @staticmethod
    def _check_account(cluster: Cluster, spec: dict[str, Any]) -> None:
        """May that account write the Secrets of all pools? Not known where its rights come from another Role."""
        namespace = spec["namespace"]
        role = cluster.get("rbac.authorization.k8s.io/v1", "Role", key_job.ACCESS, namespace)
        if role is None:
            return
        wanted = key_job.rules(key_job.secret_names(pool["name"] for pool in spec["pools"]))
        lacking = missing(singles(wanted, namespace), role.get("rules") or [])
        if lacking:
            raise ClusterError(
                f"the job that makes the keys on {cluster.name} may not: {'; '.join(map(str, lacking))}. Ask the cluster's "
                f"administrators to apply what the playbook federated.flower.rbac writes down: Role {key_job.ACCESS} in "
                f"namespace {namespace} is older than supernode_pools."
            )

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
