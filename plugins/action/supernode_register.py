# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_register): tell the SuperLink the sites' public keys, all in one exec."""

from __future__ import annotations

import datetime
import time
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.hub import clients
from ansible_collections.federated.flower.plugins.plugin_utils.hub.client_store import ClientStore
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access, claims, records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates

# flwr 1.41: a key that was registered once, also one that was unregistered since.
_IN_USE = "[code: 23]"
# Seconds in which a controller that registered a key writes its node id.
_RIVAL = 3.0


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
        """Bring ledger and SuperLink to the keys that the sites hold. What one site has done wrong concerns that site only."""
        sites = {site["site"]: site for site in params["sites"] if site.get("site")}
        with self.connect(params["hub"]) as hub:
            ledger = Ledger(hub, params["hub_namespace"], params["federation"], check=self.check)
            known, unreadable = ledger.read_sites()
            claimed = {name: site["keys"] for name, site in sites.items() if name not in unreadable}
            self._in_use: dict[str, list[str]] = {}
            self._faults = {name: unreadable[name] for name in sites if name in unreadable} | claims.refused(
                claimed, known
            )
            merged = {
                name: records.merge_keys(
                    known.get(name) or records.empty_record(name), site["keys"], site.get("region")
                )
                for name, site in sites.items()
                if name not in self._faults
            }
            # Before the keys: what Flower has taken must get into the ledger, so nothing may fail in between.
            issued = self._certify(hub, params, ledger, sites, merged)
            registered, nodes = self._register(hub, params, merged)
            final = dict(merged)
            changed = [name for name in merged if merged[name] != known.get(name, records.empty_record(name))]
            for name in changed:
                final[name] = self._write(ledger, name, merged[name], known.get(name, {}))
                if name in issued:
                    self.note(name, certificates=access.certificate_facts(final[name], "issued"))
            if self._in_use:
                final.update(self._reread(ledger))
            if registered:
                # The gateway is to know whose the new keys are.
                ClientStore(hub, params["hub_namespace"], ledger, note=self.note, check=self.check).bring()
        return {
            "changed": bool(changed),
            "registered": registered,
            "issued": issued,
            "sites": {name: self._summary(name, final.get(name), nodes) for name in sites},
            "msg": (
                f"{registered} keys {'to register' if self.check else 'registered'}, "
                f"{len(issued)} client certificates {'to issue' if self.check else 'issued'}, {len(merged)} sites"
            ),
        }

    def _write(self, ledger: Ledger, name: str, record: records.Record, seen: records.Record) -> records.Record:
        """Write a record, merged with what a rival wrote in between; returns what is in the ledger now."""
        written = record

        def change(old: records.Record) -> records.Record:
            nonlocal written
            written = records.merged(old, record, seen)
            return written

        try:
            ledger.change_record(name, change)
        except ClusterError as error:
            self._faults[name] = error.message
        return written

    def _reread(self, ledger: Ledger) -> dict[str, records.Record]:
        """Records once a rival that has just registered the same keys has written their node ids, if there is one."""
        deadline = time.monotonic() + _RIVAL
        while True:
            found = ledger.read_sites()[0]
            rivals = {
                name: found[name]
                for name, keys in self._in_use.items()
                if name in found and all(found[name]["keys"].get(key, {}).get("node_id") for key in keys)
            }
            if len(rivals) == len(self._in_use) or time.monotonic() >= deadline:
                return rivals
            time.sleep(0.5)  # until the rival has written, or the deadline

    def _certify(
        self,
        hub: Cluster,
        params: dict[str, Any],
        ledger: Ledger,
        sites: dict[str, dict[str, Any]],
        merged: dict[str, records.Record],
    ) -> dict[str, str]:
        """Give each site that asks for one a good client certificate; says for which it is new, and why."""
        requests = {
            name: site["client_request"]
            for name, site in sites.items()
            if site.get("client_request") and name in merged
        }
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
                self._faults[name] = f"the request for its client certificate cannot be used: {error}."
                del merged[name]
                continue
            if reason:
                reasons[name] = reason
        return reasons

    def _register(
        self, hub: Cluster, params: dict[str, Any], merged: dict[str, records.Record]
    ) -> tuple[int, dict[str, dict[str, Any]]]:
        """Register what is new; returns how many keys that were, and what Flower says of the nodes that there were before."""
        if self.check:
            pretended: dict[str, dict[str, Any]] = {
                key["node_id"]: {} for record in merged.values() for key in record["keys"].values()
            }
            return sum(len(records.unregistered(record, pretended)) for record in merged.values()), {}
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
                # Registered by a run that ended before it could write the ledger, or the record is lost: the id is lost, so is the key.
                key.update(dead=True, node_id=None)
                self._in_use.setdefault(name, []).append(fingerprint)
            else:
                self._faults[name] = (
                    f"the SuperLink on {hub.name} refused the key {fingerprint} (pool {key['pool']}, {key['name']}): {answer.message}"
                )
        return len(todo), nodes

    def _summary(self, name: str, record: records.Record | None, nodes: dict[str, dict[str, Any]]) -> dict[str, Any]:
        fault = self._faults.get(name, "")
        if record is None:
            return {"nodes": 0, "leaving": 0, "dead": [], "client_certificate": "", "restart": False, "fault": fault}
        leaving = records.leaving(record)
        return {
            "nodes": len(records.node_ids(record)),
            "leaving": len(leaving),
            "dead": records.dead_keys(record),
            "client_certificate": record.get("client", {}).get("certificate", ""),
            "restart": bool(leaving) if self.check else records.runs_with_another_key(record, nodes),
            "fault": fault,
        }
