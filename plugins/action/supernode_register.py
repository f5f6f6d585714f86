# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_register): tell the SuperLink the sites' public keys, all in one exec."""

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.hub import clients
from ansible_collections.federated.flower.plugins.plugin_utils.hub.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access, records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates

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
                name: records.merge_keys(
                    known.get(name) or records.empty_record(name), site["keys"], site.get("region")
                )
                for name, site in sites.items()
            }
            # Before the keys: what Flower has taken must get into the ledger, so nothing may fail in between.
            issued = self._certify(hub, params, ledger, sites, merged)
            registered = self._register(hub, params, merged)
            final = dict(merged)
            changed = [name for name in merged if merged[name] != known.get(name, records.empty_record(name))]
            for name in changed:
                # The record was merged from what this run saw; a rival's write in between is merged once more.
                def change(old: records.Record, name: str = name) -> records.Record:
                    final[name] = _keep(old, merged[name], known.get(name, {}))
                    return final[name]

                ledger.change_record(name, change)
                if name in issued:
                    self.note(name, certificates=access.certificate_facts(final[name], "issued"))
            if registered:
                # The gateway is to know whose the new keys are.
                ClientStore(hub, params["hub_namespace"], ledger, note=self.note, check=self.check).bring()
        return {
            "changed": bool(changed),
            "registered": registered,
            "issued": issued,
            "sites": {name: _summary(record) for name, record in final.items()},
            "msg": (
                f"{registered} keys {'to register' if self.check else 'registered'}, "
                f"{len(issued)} client certificates {'to issue' if self.check else 'issued'}, {len(merged)} sites"
            ),
        }

    def _certify(
        self,
        hub: Cluster,
        params: dict[str, Any],
        ledger: Ledger,
        sites: dict[str, dict[str, Any]],
        merged: dict[str, records.Record],
    ) -> dict[str, str]:
        """Give each site that asks for one a good client certificate; says for which it is new, and why."""
        requests = {name: site["client_request"] for name, site in sites.items() if site.get("client_request")}
        if not requests:
            return {}
        namespace = params["hub_namespace"]
        store = ClientStore(hub, namespace, ledger, note=self.note, check=self.check)
        live = store.read()
        if live is not None:
            settings, certificate = store.settings(live), live["data"]["ca.crt"]
        elif self.check:
            settings, certificate = clients.Settings(params["federation"], namespace, "", 90), ""
        else:
            raise ClusterError(
                f"ConfigMap {namespace}/{clients.CONFIG} on {hub.name} is not there, so no client certificate can be issued: "
                "deploy the hub first, or set supernode_mtls to false for a hub that asks for none."
            )
        ca: list[certificates.Issued] = []

        def authority() -> certificates.Issued:
            if not ca:
                stand_in = live is None
                ca.append(
                    certificates.make_ca("made together with the hub", datetime.timedelta(days=1))
                    if stand_in
                    else store.authority(settings)
                )
            return ca[0]

        reasons = {}
        for name, request in requests.items():
            try:
                merged[name], reason = clients.certify(
                    merged[name],
                    request,
                    site=name,
                    settings=settings,
                    ca_certificate=certificate or authority().certificate,
                    ca=authority,
                )
            except ValueError as error:
                raise ClusterError(f"{name}: the request for its client certificate is of no use: {error}.") from error
            if reason:
                reasons[name] = reason
        return reasons

    def _register(self, hub: Cluster, params: dict[str, Any], merged: dict[str, records.Record]) -> int:
        if self.check:
            pretended: dict[str, dict[str, Any]] = {
                key["node_id"]: {} for record in merged.values() for key in record["keys"].values()
            }
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


def _keep(old: records.Record, new: records.Record, seen: records.Record) -> records.Record:
    """The new record, with what another run did meanwhile.

    Args:
        old: the record as it is now.
        new: the record that this run made.
        seen: the record that it made it from.
    """
    kept = {**new, "retired": {**old["retired"], **new["retired"]}}
    # A certificate that a rival issued meanwhile stays: every serial that a site may hold has to be in the ledger.
    lasting = (*access.LASTING, "client") if old.get("client") != seen.get("client") else access.LASTING
    for part in lasting:
        kept.pop(part, None)
        if part in old:
            kept[part] = old[part]
    return kept


def _summary(record: records.Record) -> dict[str, Any]:
    return {
        "nodes": len(records.node_ids(record)),
        "leaving": len(records.leaving(record)),
        "dead": records.dead_keys(record),
        "client_certificate": record.get("client", {}).get("certificate", ""),
    }
