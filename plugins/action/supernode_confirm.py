# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_confirm): the last word on a site, and the end of keys that left."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.audit import notes
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import SITE, keys_secret
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.kube import pod_health
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, api, nodes_work
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.delivery import Delivery
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.through_hub import ThroughHub
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import job, keys, site_keygen
from ansible_collections.federated.flower.plugins.plugin_utils.spec.ocm_spec import OCM


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str"},
        "namespace": {"type": "str", "default": "flower"},
        "report": {"type": "dict", "default": {}},
        "dead": {"type": "list", "elements": "str", "default": []},
        "fault": {"type": "str", "default": ""},
        "extra": {"type": "dict", "default": {}},
        "spec": {"type": "dict", "default": {}},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Fail when a wanted SuperNode is not online; drop keys that Flower has forgotten. Silent sites cost nothing."""
        report = params["report"]
        fault = params["fault"] or report.get("fault")
        if fault:
            raise ClusterError(fault)
        denied = report.get("denied")
        missing = [] if denied else report.get("missing", [])
        warnings = [self._denied(denied, report)] if denied else []
        if not missing and not params["dead"] and not params["extra"]:
            return {
                "changed": False,
                "warnings": warnings,
                "msg": warnings[0] if warnings else f"{report.get('online', 0)} SuperNodes online",
            }
        behind = params["spec"].get("delivery") == OCM
        with self.connect(params["hub"] if behind else None) as site:
            self._site = self.inventory_host  # what changes on the hub is this site's
            if missing:
                raise ClusterError(self._offline(site, params, report))
            if params["dead"]:
                raise ClusterError(
                    f"{len(params['dead'])} SuperNode keys ({', '.join(params['dead'])}) were registered before, and Flower never "
                    "takes a key twice. Run again: their SuperNodes get new keys."
                )
            if not self.check:
                self._drop_all(site, params)
        dropped = sum(map(len, params["extra"].values()))
        return {
            "changed": bool(dropped),
            "warnings": warnings,
            "msg": f"{report.get('online', 0)} SuperNodes online, {dropped} old keys deleted",
        }

    def _denied(self, denied: dict[str, Any], report: dict[str, Any]) -> str:
        """What to say of a site that is kept out on purpose: no fault, but nothing to forget either."""
        return (
            f"{self.inventory_host} is denied since {denied['since']} ({denied['reason'] or 'no reason given'}): its "
            f"{report['expected']} SuperNodes are not waited for. federated.flower.site_access with "
            f"-e flower_site={self.inventory_host} -e flower_access=admitted admits it."
        )

    @staticmethod
    def _offline(site: Cluster, params: dict[str, Any], report: dict[str, Any]) -> str:
        names = ", ".join(f"{node['pool']}/{node['name']} is {node['status']}" for node in report["missing"])
        spec = params["spec"]
        if spec.get("delivery") == OCM:
            work = site.get(
                api.WORKS, "ManifestWork", addon_objects.work_name(spec, nodes_work.PART), spec["ocm_cluster"]
            )
            told = nodes_work.trouble(work) or nodes_work.state(work).why or "ready, as its agent told last"
            where = spec["ocm_cluster"]
        else:
            told = pod_health.summary(
                site.list("v1", "Pod", params["namespace"], labels="app.kubernetes.io/name=supernode")
            )
            where = site.name
        return (
            f"{report['online']} of {report['expected']} SuperNodes are online at the SuperLink ({names}). "
            f"Pods on {where}: {told}."
        )

    def _drop_all(self, site: Cluster, params: dict[str, Any]) -> None:
        if params["spec"].get("key_source") == SITE:
            place = self._place(site, params)
            done = site_keygen.drop(place, params["spec"], params["extra"], params["wait_timeout"])
            for name, change in done.items():
                self._note_secret(params["namespace"], name, change)
            return
        for pool, names in params["extra"].items():
            self._drop(site, params["namespace"], pool, names)

    @staticmethod
    def _place(cluster: Cluster, params: dict[str, Any]) -> site_keygen.Place:
        spec = params["spec"]
        if spec.get("delivery") != OCM:
            return job.AtSite(cluster, spec)
        spec = plain(spec)
        delivery = Delivery(cluster, spec, supernode.objects(spec))
        return ThroughHub(cluster, spec, delivery.bring_addon, seconds=params["wait_timeout"], first=delivery.first)

    def _drop(self, site: Cluster, namespace: str, pool: str, names: list[str]) -> None:
        name = keys_secret(pool)
        secret = site.get("v1", "Secret", name, namespace)
        if secret is None:
            return
        data = keys.without_extra(secret, names)
        if data is None:
            site.delete("v1", "Secret", name, namespace)
        else:
            site.replace({**secret, "data": data})
        self._note_secret(namespace, name, "deleted" if data is None else "changed")

    def _note_secret(self, namespace: str, name: str, change: str) -> None:
        secret = {"kind": "Secret", "namespace": namespace, "name": name, "change": change}
        self.note(objects=notes.of_objects([secret]))
