# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_keys): a site's keys and shared secrets."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.base.certificate_names import door_certificate_name
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import POOL_LABEL
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import PUBLIC_KEYS, SITE, parted
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import CREDENTIALS
from ansible_collections.federated.flower.plugins.plugin_utils.base.values import boolean
from ansible_collections.federated.flower.plugins.plugin_utils.kube import nodes
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import key_job, namespace, sidecar, supernode
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.delivery import Delivery
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.through_hub import ThroughHub
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import job, keys, site_keygen
from ansible_collections.federated.flower.plugins.plugin_utils.spec.ocm_spec import OCM


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str"},
        "spec": {"type": "dict", "required": True},
        "allocation": {"type": "dict", "default": {}},
        "dead": {"type": "list", "elements": "str", "default": []},
        "fault": {"type": "str", "default": ""},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Make the keys that are missing; give out their public halves."""
        if params["fault"]:
            raise ClusterError(params["fault"])
        self._renewed: list[str] = []
        spec = params["spec"]
        behind = spec.get("delivery") == OCM
        with self.connect(params["hub"] if behind else None) as cluster:
            self._site = self.inventory_host  # what changes on the hub is this site's
            # Without TLS Flower knows no node authentication, so a lab without it has no keys.
            pools, ready = (
                ([], {}) if boolean(spec.get("insecure")) else self._pools(cluster, spec, params["allocation"])
            )
            client = self.inventory_host if sidecar.mtls(spec) else ""
            make = self._through_hub if behind else self._at_site if spec["key_source"] == SITE else self._here
            door = door_certificate_name(spec["namespace"]) if parted(spec) else ""
            wanted = keys.Wanted(pools, params["dead"], client, door)
            found, told = make(cluster, spec, wanted, params["wait_timeout"])
        return {
            **told,
            "site": self.inventory_host,
            "region": spec.get("region") or None,
            "keys": [{**key, "expected": key["name"] in ready[key["pool"]]} for key in found.keys],
            "extra": found.extra,
            "renewed": self._renewed,
            "client_request": found.client_request,
            "msg": "; ".join(found.reasons) or f"{len(found.keys)} keys, all there",
        }

    def _here(
        self, site: Cluster, spec: dict[str, Any], wanted: keys.Wanted, seconds: int
    ) -> tuple[keys.SiteKeys, dict[str, Any]]:
        """Make them on the controller."""
        selector = f"app.kubernetes.io/component in ({CREDENTIALS},{keys.KEYS_COMPONENT})"
        live = {
            item["metadata"]["name"]: item for item in site.list("v1", "Secret", spec["namespace"], labels=selector)
        }
        plan = keys.plan(
            spec["federation"],
            spec["namespace"],
            wanted.pools,
            live,
            wanted.dead,
            wanted.client,
            door=wanted.door,
        )
        if any(keys.pool_of(there) for there in live.values()):
            self._renewed = _shared(plan.secrets)
        space = self._namespace(site, spec) if plan.secrets else []
        outcome = apply_objects(site, [*space, *plan.secrets], check=self.check)
        objects = outcome.objects
        if any(keys.source_of(there) == SITE for there in live.values()):
            # What the site told of its keys, and the owner of those that are no longer wanted.
            ended = [
                {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": spec["namespace"]}}
                for name in (PUBLIC_KEYS, key_job.OWNER)
            ]
            objects = objects + apply_objects(site, ended, state="absent", check=self.check).objects
        return plan, {"changed": outcome.changed, "diff": outcome.diff, "objects": objects}

    def _at_site(
        self, site: Cluster, spec: dict[str, Any], wanted: keys.Wanted, seconds: int
    ) -> tuple[keys.SiteKeys, dict[str, Any]]:
        """Let the site make them."""
        prepared: list[dict[str, str]] = []

        def prepare() -> None:
            prepared.extend(apply_objects(site, [*self._namespace(site, spec), key_job.owner(spec)]).objects)

        if self.check:
            outcome = site_keygen.foresee(job.AtSite(site, spec), spec, wanted)
        else:
            outcome = site_keygen.make(job.AtSite(site, spec), spec, wanted, seconds, prepare)
        if outcome.before.pools:
            written = site_keygen.changes(outcome.before, outcome.after or outcome.before)
            self._renewed = [name for name in keys.SHARED if written.get(name) in ("created", "changed")]
        return outcome.found, {
            "changed": bool(outcome.found.reasons),
            "diff": outcome.diff(spec["namespace"]) if self.show_diff else [],
            "objects": prepared + outcome.objects(spec["namespace"]),
        }

    def _through_hub(
        self, hub: Cluster, spec: dict[str, Any], wanted: keys.Wanted, seconds: int
    ) -> tuple[keys.SiteKeys, dict[str, Any]]:
        """Let the site make them, by way of the hub. Its namespace comes with the add-on."""
        # The certificate is issued for the key that is made now; it is no part of the add-on's template.
        drafted = {**plain(spec), "client_certificate": spec.get("client_certificate") or "-"}
        delivery = Delivery(hub, drafted, supernode.objects(drafted), check=self.check, show_diff=self.show_diff)
        place = ThroughHub(hub, drafted, delivery.bring_addon, seconds=seconds, check=self.check, first=delivery.first)
        if self.check:
            outcome = site_keygen.foresee(place, drafted, wanted)
        else:
            outcome = site_keygen.make(place, drafted, wanted, seconds, lambda: None)
        place.settle()
        objects = [one for result in [*delivery.results, *place.written] for one in result.objects]
        return outcome.found, {
            "changed": bool(outcome.found.reasons)
            or any(result.changed for result in [*delivery.results, *place.written]),
            "diff": outcome.diff(spec["namespace"]) if self.show_diff else [],
            "objects": [one for one in objects if one["change"] != "unchanged"] + outcome.objects(spec["namespace"]),
        }

    @staticmethod
    def _pools(
        site: Cluster, spec: dict[str, Any], allocation: dict[str, Any]
    ) -> tuple[list[keys.Pool], dict[str, set[str]]]:
        """The pools with the names of their keys, and which of them a running pod is expected for."""
        pools: list[keys.Pool] = []
        ready: dict[str, set[str]] = {}
        found: list[dict[str, Any]] | None = None
        for pool in spec["pools"]:
            pool = supernode.effective_pool(spec, pool)
            name = pool["name"]
            if supernode.pool_mode(pool) == "DaemonSet":
                found = site.list("v1", "Node") if found is None else found
                rules = (pool.get("node_selector"), pool.get("tolerations"))
                running = _running_on(site, spec, name) if nodes.closed(found, *rules) else ()
                chosen = nodes.eligible(found, *rules, running)
                pools.append(keys.Pool(name, [node["metadata"]["name"] for node in chosen]))
                ready[name] = {node["metadata"]["name"] for node in chosen if nodes.is_ready(node)}
            else:
                offset = int(allocation.get(name, {}).get("offset", 0))
                names = [str(offset + number) for number in range(supernode.pool_replicas(pool) or 0)]
                pools.append(keys.Pool(name, names, offset))
                ready[name] = set(names)
        return pools, ready

    @staticmethod
    def _namespace(site: Cluster, spec: dict[str, Any]) -> list[dict[str, Any]]:
        wanted = namespace.objects(spec)
        if not wanted or site.get("v1", "Namespace", spec["namespace"]) is not None:
            return []
        return wanted


def _shared(secrets: list[dict[str, Any]]) -> list[str]:
    """Names of the Secrets among some that all pods of a site share."""
    return [secret["metadata"]["name"] for secret in secrets if secret["metadata"]["name"] in keys.SHARED]


def _running_on(site: Cluster, spec: dict[str, Any], pool: str) -> set[str]:
    """Names of the nodes on which a pool has a pod."""
    labels = f"app.kubernetes.io/name=supernode,{POOL_LABEL}={pool}"
    pods = site.list("v1", "Pod", spec["namespace"], labels=labels)
    return {str(pod["spec"].get("nodeName")) for pod in pods if not pod["metadata"].get("deletionTimestamp")}
