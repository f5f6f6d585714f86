# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.trust_proof): bring a site its trust, and have its SuperNodes prove what they accept."""

from __future__ import annotations

import time
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils import refresh
from ansible_collections.federated.flower.plugins.plugin_utils.action_base import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Cluster, ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.hub.authority import trust_bundle
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.supernode import TRUST
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import trust
from ansible_collections.federated.flower.plugins.plugin_utils.rights import ask, grants
from ansible_collections.federated.flower.plugins.plugin_utils.rights.need import ROTATE
from ansible_collections.federated.flower.plugins.plugin_utils.rights.table import SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import proof, restart
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.hub import apply_trust

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
            words = f"not asked: {params['site']['excused']}"
            if params["bundle"] and self.is_behind():
                return result | self._bring_through_hub(params, words)
            return result | {"msg": words}
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

    def _bring_through_hub(self, params: dict[str, Any], words: str) -> dict[str, Any]:
        """Put the trust into the ManifestWork of a site that nobody can ask, and give its kubelets the time that they need."""
        with self.connect(self.hub_host()) as hub:
            self._site = self.inventory_host  # what changes on the hub is this site's
            try:
                changed = trust.bring(
                    hub, self.inventory_host, params["bundle"], params["wait_timeout"], check=self.check
                )
            except ClusterError as error:
                return {"trouble": error.message, "msg": error.message}
        self.note(objects=changed)
        return {"changed": bool(changed), "msg": words}

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
            if proof.is_running(pod):
                result["pods"].append(self._ask_pod(site, pod, params, deadline, result["trust"]))
        accepts, trouble = proof.judge(params["site"].get("expected", []), result["pods"], params["wanted"])
        result.update(accepts=accepts, trouble=trouble, stale=any(pod["stale"] for pod in result["pods"]))

    @staticmethod
    def _ask_pod(
        site: Cluster, pod: dict[str, Any], params: dict[str, Any], deadline: float, trust: str
    ) -> dict[str, Any]:
        pool, name = proof.place(pod)
        said = {"pod": pod["metadata"]["name"], "pool": pool, "name": name, "seen": {}, "stale": False, "error": ""}
        while True:
            seconds = max(min(deadline - time.monotonic(), _SLICE), 1)
            asked = proof.request(pod, params["server_name"], params["wanted"], seconds)
            try:
                answer = restart.held(site, pod, proof.CONTAINER, asked, seconds + 60)
            except ClusterError as error:
                return said | {"error": error.message}
            stale = proof.is_stale(answer, trust)
            seen = answer["seen"]
            wrong = [
                label for label, serial in params["wanted"].items() if serial and seen[label].get("serial") != serial
            ]
            if stale or not wrong or time.monotonic() >= deadline:
                return said | {"seen": seen, "stale": stale}
