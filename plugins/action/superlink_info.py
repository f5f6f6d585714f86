# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.superlink_info): read the state of the hub's federation."""

from __future__ import annotations

import contextlib
import datetime
import time
from collections.abc import Mapping
from functools import partial
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply import readiness
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import FEDERATION_CONFIG
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import upgrade_record
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    bucket,
    outputs_reader,
    run_log,
    run_table,
    schedules,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs as runs_of
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import ALL_RUNS, FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden, NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.kube.stuck_pods import Patience, refusal
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, library
from ansible_collections.federated.flower.plugins.plugin_utils.programs.run_metrics import curves
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import authority
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.gateway_certificates import Gateway
from ansible_collections.federated.flower.plugins.plugin_utils.sites import workloads
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import cluster_state, network, rotation_plan
from ansible_collections.federated.flower.plugins.plugin_utils.state import lease_object, site_indexes
from ansible_collections.federated.flower.plugins.plugin_utils.state.hub_lease import Lease
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import BACKUP, DATASETS, Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.state.records import empty_record

_PODS = "app.kubernetes.io/name in (superlink,serverapp)"


class ActionModule(ClusterAction):
    """See the module's documentation."""

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read ledger, certificate, pods and Flower's own lists."""
        result: dict[str, Any] = {
            "changed": False, "reachable": True, "error": "", "deployed": False, "address": "", "version": "",
            "workloads": [], "trouble": "", "certificate": {}, "trust": [], "partitions": 0, "sites": {}, "nodes": {}, "runs": [],
            "unknown_nodes": [], "network": {}, "outputs": {}, "lease": {},
            "upgrade": "", "insecure": False, "backup": {}, "schedules": [], "federation": params["federation"],
        }  # fmt: skip
        namespace, federation = params["namespace"], params["federation"]
        try:
            with self.connect(params["hub"], timeout=params["timeout"]) as hub:
                self._wait_ready(hub, params, result)
                if params["skupper"]:
                    library.require()
                    links, connectors = (cluster_state.listed(hub, kind, namespace) for kind in ("Site", "Connector"))
                    result["network"] = network.of_hub(links, connectors, rotation_plan.facts(cluster_state.certificates_of(hub, namespace)))
                if result["deployed"]:
                    ledger, cli = Ledger(hub, namespace, federation), FlowerCLI(hub, namespace)
                    result["lease"] = self._lease(Lease(hub, namespace, federation))
                    result["upgrade"] = upgrade_record.describe(upgrade_record.Store(hub, namespace, federation).read())
                    result["partitions"], result["sites"] = _sites(ledger)
                    with contextlib.suppress(Forbidden, NotServed):  # of those who see the status, not all may see schedules
                        result["schedules"] = schedules.read(hub, namespace, federation)
                    cli.wait_for_superlink(0)
                    result["nodes"], result["runs"] = runs_of.read_nodes_and_runs(cli, ALL_RUNS if params["all_runs"] else runs_of.SHOWN)
                    # Without node authentication the ledger has no keys, so it knows none of them.
                    result["unknown_nodes"] = [] if result["insecure"] else unknown_nodes(result["sites"], result["nodes"])
                    result["trouble"] = result["trouble"] or Gateway(hub, namespace).refusal()
                    _add_curves(cli, result["runs"], params["curves"])
                    noted = ledger.read(BACKUP)
                    result["backup"] = {name: noted[name] for name in ("at", "archive", "bytes") if name in noted}
                    if params["outputs"]:
                        result["outputs"] = outputs_reader.facts(cli)
                        result["outputs"] |= bucket.facts(cli, run_table.entries(result["runs"])) if result["outputs"] else {}
        except ClusterError as error:
            result.update(reachable=bool(result["workloads"]) or result["deployed"], error=error.message)
        # A play that fails on one of them shows this text.
        result["msg"] = result["error"] or result["trouble"] or f"{len(result['sites'])} sites, {len(result['nodes'])} nodes"
        return result

    def _wait_ready(self, hub: Cluster, params: dict[str, Any], result: dict[str, Any]) -> None:
        """Read the objects of the hub, until they are ready or the time is over."""
        deadline = time.monotonic() + (0 if self.check else params["wait_timeout"])
        patience = Patience(hub)
        while True:
            items = self._read_objects(hub, params["namespace"], result)
            if not result["trouble"] or time.monotonic() >= deadline:
                return
            pods = partial(hub.list, "v1", "Pod", params["namespace"], labels=_PODS)
            if any(patience.is_over(item, pods) for item in items):
                return
            time.sleep(1)  # between two reads of the pods, until the deadline

    @staticmethod
    def _read_objects(hub: Cluster, namespace: str, result: dict[str, Any]) -> list[dict[str, Any]]:
        items = [{"kind": kind, **item} for kind in ("StatefulSet", "Deployment") for item in hub.list("apps/v1", kind, namespace, labels=_PODS)]
        result["workloads"] = [workloads.workload(item) for item in items]
        # Right after a change the old pod is still ready, and its controller may not have seen the change.
        states = {f"{item['kind']} {item['metadata']['name']}": readiness.state({"apiVersion": "apps/v1", **item}) for item in items}
        result["trouble"] = workloads.trouble(
            result["workloads"],
            namespace,
            lambda: hub.list("v1", "Pod", namespace, labels=_PODS),
            lambda: [refusal(hub, item) for item in items],
        ) or "; ".join(f"{name}: {state.why}" for name, state in states.items() if not state.ready)
        publication = hub.get("v1", "ConfigMap", FEDERATION_CONFIG, namespace)
        if publication is not None:
            result.update(deployed=True, address=publication["data"]["address"], version=publication["data"]["version"])
            result["insecure"] = publication["data"].get("insecure") == "true"
            result["trouble"] = "; ".join(filter(None, (workloads.missing(items), result["trouble"])))
        if mounted := next(filter(None, map(authority.mounted_secret, items)), ""):
            library.require()
            secret, now = hub.get("v1", "Secret", mounted, namespace), datetime.datetime.now(datetime.timezone.utc)
            result["certificate"], result["trust"] = authority.served_facts(mounted, secret, authority.published_bundle(publication), now)
        return items

    @staticmethod
    def _lease(lease: Lease) -> dict[str, Any]:
        """Who changes the fleet; empty if no one does, or if that may not be read: rights that an earlier release rendered do not have it."""
        try:
            live, ended = lease.inspect()
        except Forbidden:
            return {}
        if live is not None and not ended:
            return {"holder": lease_object.describe_holder(live), "since": lease_object.since(live)}
        return {"ended": lease_object.describe_holder(live)} if live is not None and lease_object.holder(live) else {}


def _sites(ledger: Ledger) -> tuple[int, dict[str, Any]]:
    """The number of partitions, and what the ledger has of each site."""
    book = ledger.read_book()
    found, unreadable = ledger.read_sites()
    index = ledger.read(DATASETS)
    shown = ("pool", "name", "node_id", "dead", "leaving")
    return book["partitions"], {
        site: {
            "fault": unreadable.get(site, ""),
            "region": record["region"],
            "pools": book["sites"].get(site, {}).get("pools", {}),
            "keys": [{"fingerprint": one, **{name: key.get(name) for name in shown}} for one, key in record["keys"].items()],
            "datasets": site_indexes.datasets_of(index, site),
            "promised": site_indexes.promised(index, site),
            "retired": len(record["retired"]),
            "access": record.get("access") or {},
            "client": _client(record.get("client") or {}),
        }
        for site, record in {**{name: empty_record(name) for name in unreadable}, **found}.items()
    }


def _add_curves(cli: FlowerCLI, runs: list[dict[str, Any]], count: int) -> None:
    """Add metrics to the newest runs that have begun."""
    newest = sorted(runs, key=lambda run: str(run.get("pending-at") or ""), reverse=True)
    begun = [run for run in newest if run["status"] not in ("pending", "starting")][: max(count, 0)]
    for run, log in zip(begun, run_log.read_logs(cli, [runs_of.Run(run["run-id"], run["status"]) for run in begun])):
        run["curves"] = curves(log)


def unknown_nodes(sites: Mapping[str, Any], nodes: Mapping[str, Any]) -> list[str]:
    """SuperNodes that the ledger does not have, from C(sites) and C(nodes) of the result. None while a record cannot be read: any of them may be one of
    that site, and unregistering is for good.
    """
    if any(site["fault"] for site in sites.values()):
        return []
    known = {key["node_id"] for site in sites.values() for key in site["keys"]}
    return sorted(node for node, facts in nodes.items() if node not in known and facts["status"] != "unregistered")


def _client(client: dict[str, Any]) -> dict[str, Any]:
    """Public facts of a client certificate; since when it is valid is in the certificate alone."""
    known = {name: client.get(name, "") for name in ("serial", "fingerprint", "not_after")}
    try:
        begun = certificates.describe(client["certificate"])["not_before"] if client.get("certificate") else ""
    except ValueError:
        begun = ""  # a record that people changed: the playbook that needs the certificate says so
    return {**known, "not_before": begun}
