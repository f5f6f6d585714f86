# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_forget): unregister the SuperNodes of sites that left, free their numbers."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.hub.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access, ranges, records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "hub": {"type": "str", "required": True},
        "hub_namespace": {"type": "str", "default": "flower"},
        "federation": {"type": "str", "default": "flower"},
        "sites": {"type": "list", "elements": "str", "required": True},
        "wait_timeout": {"type": "int", "default": 300},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Unregister first, forget afterwards, so that an interrupted run can be repeated."""
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            known = {site: record for site, record in ledger.read_records().items() if site in params["sites"]}
            wanted = [key["node_id"] for record in known.values() for key in record["keys"].values() if key["node_id"]]
            if wanted and not self.check:
                cli = FlowerCLI(hub, params["hub_namespace"])
                cli.wait_for_superlink(params["wait_timeout"])
                self._unregister(cli, wanted)
            now = datetime.datetime.now(datetime.timezone.utc).isoformat()
            keys = {site: access.known_keys(known.get(site, {})) for site in params["sites"]}
            freed = ledger.change_book(lambda book: access.leave(ranges.forget(book, keys), known, now))
            deleted = [site for site in known if ledger.delete_record(site)]
            for site in deleted:
                gone = known[site]["keys"].items()
                self.note(
                    site,
                    words=["forgotten"],
                    keys=[records.public_facts(key, facts, "retired") for key, facts in gone],
                    certificates=access.certificate_facts(known[site], "revoked"),
                )
            store = ClientStore(hub, params["hub_namespace"], ledger, note=self.note, check=self.check)
            refused = store.bring()  # also when this run deleted nothing: the one before may have ended here
        return {
            "changed": freed or bool(deleted) or refused,
            "diff": store.diff,
            "nodes": wanted,
            "msg": f"{len(wanted)} SuperNodes unregistered, {len(deleted)} sites forgotten",
        }

    @staticmethod
    def _unregister(cli: FlowerCLI, wanted: list[str]) -> None:
        nodes = cli.nodes()
        gone = [node for node in wanted if nodes.get(node, {}).get("status", "unregistered") != "unregistered"]
        for node, answer in zip(gone, cli.unregister(gone)):
            if not answer.ok:
                raise FlowerError(
                    f"the SuperLink on {cli.cluster.name} cannot unregister node {node}: {answer.message}"
                )
