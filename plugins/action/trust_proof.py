# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.trust_proof): bring a site its trust, and have its SuperNodes prove what they accept."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.audit import notes as audit
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.hub.authority import trust_bundle
from ansible_collections.federated.flower.plugins.plugin_utils.kube import refresh
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.supernode import TRUST
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import trust
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.host_names import cluster_of
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask, grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import ROTATE
from ansible_collections.federated.flower.plugins.plugin_utils.rights.table import SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import restart, site_proof
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.hub_steps import apply_trust

PODS = "app.kubernetes.io/name=supernode"
_SLICE = 30  # seconds of one exec: load balancers cut connections that are silent for a minute


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str", "default": "flower"},
        "site": {"type": "dict", "default": {}},
        "server_name": {"type": "str", "required": True},
        "wanted": {"type": "dict", "required": True},
        "bundle": {"type": "str", "default": ""},
        "own_bundle": {"type": "bool", "default": False},
        "because": {"type": "str", "default": ""},
        "first": {"type": "bool", "default": False},
        "wait_timeout": {"type": "int", "default": 120},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """A site that is down or says no is an answer: whoever asked decides what that means."""
        result: dict[str, Any] = {
            "changed": False, "site": self.inventory_host, "trust": None, "pods": [], "accepts": [], "stale": False,
            "trouble": "", "msg": "",
        }  # fmt: skip
        if params["site"].get("excused"):
            return result | {"msg": f"not asked: {params['site']['excused']}"}
        if self.is_behind():
            return result | self._through_hub(params)
        try:
            with self.connect() as site:
                if params["first"]:
                    ask.require(site, grants.rights_of_work(SUPERNODE, ROTATE, params["namespace"]))
                result["changed"] = self._bring(site, params, result)
                self._ask(site, params, result)
        except ask.MissingRights:
            raise
        except ClusterError as error:
            result["trouble"] = error.message
        if result["trouble"] and params["because"]:
            result["trouble"] = f"{params['because']}; {result['trouble']}"
        result["msg"] = result["trouble"] or f"{len(result['pods'])} SuperNodes accept what they are shown"
        return result

    def _through_hub(self, params: dict[str, Any]) -> dict[str, Any]:
        """A site behind Open Cluster Management: its pods cannot be asked. What its cluster has is taken for what they accept."""
        name = cluster_of(self.variables_of(None), self.inventory_host)
        with self.connect(self.hub_host()) as hub:
            self._site = self.inventory_host  # what changes on the hub is this site's
            try:
                told, objects = trust.bring(
                    hub, name, self.inventory_host, params["bundle"], params["wait_timeout"], check=self.check
                )
            except ClusterError as error:
                return {"trouble": error.message, "msg": error.message}
        if not self.check:
            self.note(objects=audit.of_objects(objects))
        accepts = sorted({serial for serial in params["wanted"].values() if serial})
        words = "its pods were not asked: it is reached through Open Cluster Management, and has what they are to trust"
        return {"changed": bool(objects), "trust": told, "accepts": accepts, "msg": words}

    def _bring(self, site: Cluster, params: dict[str, Any], result: dict[str, Any]) -> bool:
        """Put the trust into the site's ConfigMap; returns whether it differed."""
        live = site.get("v1", "ConfigMap", TRUST, params["namespace"])
        if live is None:
            raise ClusterError(
                f"{site.name} has no ConfigMap {params['namespace']}/{TRUST}: run site.yml for this site, or correct "
                "supernode_namespace"
            )
        result["trust"] = live["data"].get("ca.crt", "")
        if not params["bundle"] or trust_bundle(result["trust"]) == params["bundle"]:
            return False
        if params["own_bundle"]:
            held = trust_bundle(result["trust"])
            if trust_bundle(held, params["bundle"]) != held:
                raise ClusterError(
                    "its trust is given by supernode_ca_bundle, which lacks a CA of the hub: add what ConfigMap flower-federation "
                    "of the hub holds as ca.crt, run site.yml for this site, then run this again"
                )
            result["trust"] = params["bundle"]
            return False
        if not self.check:
            self.note(objects=apply_trust(site, live, params["bundle"]))
            refresh.touch_pods(site, params["namespace"], PODS)
            result["trust"] = params["bundle"]
        return True

    def _ask(self, site: Cluster, params: dict[str, Any], result: dict[str, Any]) -> None:
        """Ask every running SuperNode."""
        deadline = time.monotonic() + (0 if self.check else params["wait_timeout"])
        for pod in site.list("v1", "Pod", params["namespace"], labels=PODS):
            if site_proof.is_running(pod):
                result["pods"].append(self._ask_pod(site, pod, params, deadline, result["trust"]))
        accepts, trouble = site_proof.judge(params["site"].get("expected", []), result["pods"], params["wanted"])
        result.update(accepts=accepts, trouble=trouble, stale=any(pod["stale"] for pod in result["pods"]))

    @staticmethod
    def _ask_pod(
        site: Cluster, pod: dict[str, Any], params: dict[str, Any], deadline: float, trust: str
    ) -> dict[str, Any]:
        pool, name = site_proof.place(pod)
        said = {"pod": pod["metadata"]["name"], "pool": pool, "name": name, "seen": {}, "stale": False, "error": ""}
        while True:
            seconds = max(min(deadline - time.monotonic(), _SLICE), 1)
            asked = site_proof.request(pod, params["server_name"], params["wanted"], seconds)
            try:
                answer = restart.held(site, pod, site_proof.CONTAINER, asked, seconds + 60)
            except ClusterError as error:
                return said | {"error": error.message}
            stale = site_proof.is_stale(answer, trust)
            seen = answer["seen"]
            wrong = [
                label for label, serial in params["wanted"].items() if serial and seen[label].get("serial") != serial
            ]
            if stale or not wrong or time.monotonic() >= deadline:
                return said | {"seen": seen, "stale": stale}
