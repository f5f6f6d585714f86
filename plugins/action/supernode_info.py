# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_info): what runs in a site's cluster. A cluster that is down is an answer."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.skupper_action import SkupperAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import CLIENTAPP
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import clientapp
from ansible_collections.federated.flower.plugins.plugin_utils.pki import library
from ansible_collections.federated.flower.plugins.plugin_utils.report import workloads
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import network


class ActionModule(SkupperAction):
    """See the module's documentation."""

    ARGS = {
        "namespace": {"type": "str", "default": "flower"},
        "timeout": {"type": "int", "default": 10},
        "skupper": {"type": "bool", "default": False},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read the pools and their pods."""
        result: dict[str, Any] = {
            "changed": False,
            "reachable": True,
            "error": "",
            "workloads": [],
            "clientapps": [],
            "trouble": "",
            "skupper": params["skupper"],
        }
        result["network"] = {}
        selector = f"app.kubernetes.io/name in (supernode,{CLIENTAPP})"
        try:
            with self.connect(timeout=params["timeout"]) as site:
                for kind in ("StatefulSet", "DaemonSet"):
                    found = site.list("apps/v1", kind, params["namespace"], labels=selector)
                    for item in found:
                        one = {"kind": kind, **item}
                        result["clientapps" if clientapp.is_one(one) else "workloads"].append(workloads.workload(one))
                if any(item["ready"] < item["desired"] for item in result["workloads"] + result["clientapps"]):
                    pods = site.list("v1", "Pod", params["namespace"], labels=selector)
                    result["trouble"] = workloads.trouble(pods)
                if params["skupper"]:
                    result["network"] = self._network(site, params["namespace"])
        except ClusterError as error:
            result.update(reachable=False, error=self.named(error))
        return result

    def _network(self, site: Cluster, namespace: str) -> dict[str, Any]:
        library.require()
        links, listeners = (self.listed(site, kind, namespace) for kind in ("Link", "Listener"))
        hosts = {str(one["spec"].get("host")) for one in listeners}
        named = {str((one.get("spec") or {}).get("tlsCredentials") or "") for one in links} - {""}
        return network.of_site(
            self.listed(site, "Site", namespace),
            links,
            listeners,
            {host: site.get("v1", "Service", host, namespace) for host in hosts},
            {name: entries(site.get("v1", "Secret", name, namespace)) for name in named},
        )
