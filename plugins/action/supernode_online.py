# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_online): wait, at the hub, until the sites' SuperNodes are online."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.hub.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access, records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str", "default": "flower"},
        "federation": {"type": "str", "default": "flower"},
        "sites": {"type": "list", "elements": "dict", "required": True, "no_log": False},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Wait for the wanted nodes, then unregister those that are leaving."""
        sites = {site["site"]: site for site in params["sites"]}
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            # A site with dead keys was not applied: it has neither what to wait for nor what to take from it.
            known = {
                name: record
                for name, record in ledger.read_records().items()
                if name in sites and not records.dead_keys(record)
            }
            leaving = {name: records.leaving(record) for name, record in known.items() if records.leaving(record)}
            superseded = [name for name, record in known.items() if record.get("superseded")]
            if self.check:
                count = sum(map(len, leaving.values()))
                return {"changed": bool(count or superseded), "sites": {}, "msg": f"{count} nodes to unregister"}
            denied = {name: record["access"] for name, record in known.items() if record.get("access")}
            expected = {name: _expected(known.get(name), sites[name]) for name in sites}
            self._revoke(ledger, {name: known[name]["superseded"] for name in superseded})
            store = ClientStore(hub, params["hub_namespace"], ledger, note=self.note)
            if superseded:
                store.bring()
            cli = FlowerCLI(hub, params["hub_namespace"])
            awaited = [node for name, found in expected.items() if name not in denied for node in found]
            nodes = cli.nodes(awaited, params["wait_timeout"])
            self._unregister(cli, ledger, leaving, nodes)
            if leaving:
                store.bring()
        report = {name: _report(expected[name], nodes, denied.get(name)) for name in sites}
        online = sum(site["online"] for site in report.values())
        wanted = sum(site["expected"] for site in report.values())
        return {
            "changed": bool(leaving or superseded),
            "sites": report,
            "msg": f"{online} of {wanted} SuperNodes online, {sum(map(len, leaving.values()))} unregistered",
        }

    def _revoke(self, ledger: Ledger, superseded: dict[str, list[str]]) -> None:
        """Take back the certificates of keys that sites no longer have; by now they hold their new ones."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        for site, serials in superseded.items():
            ledger.change_record(site, lambda record: access.revoke_superseded(record, now))
            self.note(site, certificates=[{"change": "revoked", "serial": serial} for serial in serials])

    def _unregister(
        self,
        cli: FlowerCLI,
        ledger: Ledger,
        leaving: dict[str, dict[str, dict[str, Any]]],
        nodes: dict[str, dict[str, Any]],
    ) -> None:
        gone = [
            key["node_id"]
            for keys in leaving.values()
            for key in keys.values()
            if key["node_id"] and nodes.get(key["node_id"], {}).get("status", "unregistered") != "unregistered"
        ]
        for node, answer in zip(gone, cli.unregister(gone)):
            if not answer.ok:
                raise FlowerError(
                    f"the SuperLink on {cli.cluster.name} cannot unregister node {node}: {answer.message}"
                )
        for site, keys in leaving.items():
            ledger.change_record(site, partial(records.retire, fingerprints=list(keys)))
            self.note(
                site, keys=[records.public_facts(fingerprint, key, "retired") for fingerprint, key in keys.items()]
            )


def _expected(record: records.Record | None, site: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """Node id -> key of the nodes of a site that have a pod to run in."""
    wanted = {key["fingerprint"] for key in site["keys"] if key["expected"]}
    if record is None:
        return {}
    return {node: key for node, key in records.node_ids(record).items() if key["fingerprint"] in wanted}


def _report(
    expected: dict[str, dict[str, Any]], nodes: dict[str, dict[str, Any]], denied: dict[str, Any] | None
) -> dict[str, Any]:
    status = {node: nodes.get(node, {}).get("status", "unknown to the SuperLink") for node in expected}
    return {
        "denied": denied or {},
        "expected": len(expected),
        "online": sum(value == "online" for value in status.values()),
        "missing": [
            {"pool": key["pool"], "name": key["name"], "node_id": node, "status": status[node]}
            for node, key in expected.items()
            if status[node] != "online"
        ],
    }
