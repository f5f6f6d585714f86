# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_online): wait, at the hub, until the sites' SuperNodes are online."""

from __future__ import annotations

import datetime
from functools import partial
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
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
        sites = {site["site"]: site for site in params["sites"] if site.get("site")}
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            # A site with dead keys was not applied: it has neither what to wait for nor what to take from it.
            found, unreadable = ledger.read_sites()
            self._faults = {name: unreadable[name] for name in sites if name in unreadable}
            known = {name: found[name] for name in sites if name in found and not records.dead_keys(found[name])}
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
            # The pods of a site whose keys were refused are not brought up to date.
            refused = {
                name
                for name, record in known.items()
                if any(key["fingerprint"] not in record["keys"] for key in sites[name]["keys"])
            }
            awaited = [node for name, ids in expected.items() if name not in {*denied, *refused} for node in ids]
            nodes = cli.nodes(awaited, params["wait_timeout"])
            leaving = {name: keys for name in leaving if (keys := records.to_retire(known[name], nodes))}
            self._unregister(cli, ledger, leaving, nodes)
            if leaving:
                store.bring()
        report = {
            name: {**_report(expected[name], nodes, denied.get(name)), "fault": self._faults.get(name, "")}
            for name in sites
        }
        online = sum(site["online"] for site in report.values())
        wanted = sum(site["expected"] for site in report.values())
        return {
            "changed": bool(leaving or superseded),
            "sites": report,
            "msg": f"{online} of {wanted} SuperNodes online, {sum(map(len, leaving.values()))} unregistered",
        }

    def _revoke(self, ledger: Ledger, superseded: dict[str, list[Any]]) -> None:
        """Take back the certificates of keys that sites no longer have; by now they hold their new ones."""
        now = datetime.datetime.now(datetime.timezone.utc).isoformat()
        for site, old in superseded.items():
            try:
                ledger.change_record(site, lambda record: access.revoke_superseded(record, now))
            except ClusterError as error:
                self._faults[site] = error.message
                continue
            serials = map(records.serial_of, old)
            self.note(site, certificates=[{"change": "revoked", "serial": serial} for serial in serials])

    def _unregister(
        self,
        cli: FlowerCLI,
        ledger: Ledger,
        leaving: dict[str, dict[str, dict[str, Any]]],
        nodes: dict[str, dict[str, Any]],
    ) -> None:
        refused = cli.unregister_known(
            {site: [key["node_id"] for key in keys.values()] for site, keys in leaving.items()}, nodes
        )
        self._faults.update(refused)
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        for site, keys in leaving.items():
            if site in refused:
                continue
            try:
                ledger.change_record(site, partial(records.retire, fingerprints=list(keys), now=now))
            except ClusterError as error:
                self._faults[site] = error.message
                continue
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
