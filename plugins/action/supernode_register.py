# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_register): tell the SuperLink the sites' public keys, all in one exec."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.action_base import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.cluster import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger

# flwr 1.41: a key that was registered once, also one that was unregistered since.
_IN_USE = "[code: 23]"


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
        """Bring ledger and SuperLink to the keys that the sites hold."""
        sites = {site["site"]: site for site in params["sites"]}
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            known = ledger.read_records()
            merged = {
                name: records.merge_keys(known.get(name) or records.empty_record(name), site["keys"], site.get("region"))
                for name, site in sites.items()
            }
            registered = self._register(hub, params, merged)
            changed = [name for name in merged if merged[name] != known.get(name, records.empty_record(name))]
            for name in changed:
                # The record was merged from what this run saw; a rival's write in between is merged once more.
                ledger.change_record(name, lambda old, name=name: _keep(old, merged[name]))
        return {
            "changed": bool(changed),
            "registered": registered,
            "sites": {name: _summary(record) for name, record in merged.items()},
            "msg": f"{registered} keys {'to register' if self.check else 'registered'}, {len(merged)} sites",
        }

    def _register(self, hub: Cluster, params: dict[str, Any], merged: dict[str, records.Record]) -> int:
        if self.check:
            pretended = {key["node_id"]: {} for record in merged.values() for key in record["keys"].values()}
            return sum(len(records.unregistered(record, pretended)) for record in merged.values())
        cli = FlowerCLI(hub, params["hub_namespace"])
        cli.wait_for_superlink(params["wait_timeout"])
        nodes = cli.nodes()
        for record in merged.values():
            records.mark_dead(record, nodes)
        todo = [(name, key) for name, record in merged.items() for key in records.unregistered(record, nodes)]
        answers = cli.register([merged[name]["keys"][key]["public_key"] for name, key in todo])
        for (name, fingerprint), answer in zip(todo, answers):
            key = merged[name]["keys"][fingerprint]
            if answer.ok:
                key["node_id"] = str(answer.data["node-id"])
                self.note(name, keys=[records.public_facts(fingerprint, key, "registered")])
            elif _IN_USE in answer.message:
                # Registered by a run that ended before it could write the ledger: the id is lost, so is the key.
                key["dead"] = True
            else:
                raise FlowerError(
                    f"the SuperLink on {hub.name} refused the key {fingerprint} of {name} "
                    f"(pool {key['pool']}, {key['name']}): {answer.message}"
                )
        return len(todo)


def _keep(old: records.Record, new: records.Record) -> records.Record:
    """The new record, with what another run retired meanwhile."""
    return {**new, "retired": {**old["retired"], **new["retired"]}}


def _summary(record: records.Record) -> dict[str, Any]:
    return {
        "nodes": len(records.node_ids(record)),
        "leaving": len(records.leaving(record)),
        "dead": records.dead_keys(record),
    }
