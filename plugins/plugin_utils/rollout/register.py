# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tell the SuperLink the sites' public keys, all in one exec, and give sites their client certificates."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..flower.cli import FlowerCLI, FlowerError
from ..hub import clients
from ..hub.client_store import ClientStore
from ..kube.client import Cluster
from ..ledger import access, records
from ..ledger.store import Ledger
from ..pki import certificates as pki
from ..reach.site import KeysMade, Run

# flwr 1.41: a key that was registered once, also one that was unregistered since.
_IN_USE = "[code: 23]"


@dataclass
class Registered:
    """Outcome of C(register).

    Attributes:
        changed: sites whose record changed.
        dead: site -> fingerprints of keys that Flower takes no more.
        certificates: site -> its client certificate, PEM; empty for a site that needs none.
        msg: a sentence.
    """

    changed: set[str] = field(default_factory=set)
    dead: dict[str, list[str]] = field(default_factory=dict)
    certificates: dict[str, str] = field(default_factory=dict)
    msg: str = ""


class Registry:
    """Ledger and SuperLink of one federation.

    Args:
        run: the run.
        hub: a connection to its cluster.
        namespace: the SuperLink's.
        federation: the federation's name.
        seconds: how long the SuperLink may take to start.
    """

    def __init__(self, run: Run, hub: Cluster, namespace: str, federation: str, seconds: int) -> None:
        self.run, self.hub, self.namespace, self.federation, self.seconds = run, hub, namespace, federation, seconds
        self.ledger = Ledger(hub, namespace, federation, check=run.check)

    def register(self, sites: Mapping[str, KeysMade], regions: Mapping[str, str | None]) -> Registered:
        """Bring ledger and SuperLink to the keys that the sites hold.

        Args:
            sites: site -> its keys.
            regions: site -> its region.

        Raises:
            ClusterError: the SuperLink refuses a key, or a certificate cannot be issued.
        """
        known = self.ledger.read_records()
        merged = {
            name: records.merge_keys(known.get(name) or records.empty_record(name), site.keys, regions.get(name))
            for name, site in sites.items()
        }
        # Before the keys: what Flower has taken must get into the ledger, so nothing may fail in between.
        issued = self._certify(sites, merged)
        registered = self._register(merged)
        final = dict(merged)
        changed = [name for name in merged if merged[name] != known.get(name, records.empty_record(name))]
        for name in changed:
            # The record was merged from what this run saw; a rival's write in between is merged once more.
            def change(old: records.Record, name: str = name) -> records.Record:
                final[name] = keep(old, merged[name], known.get(name, {}))
                return final[name]

            self.ledger.change_record(name, change)
            if name in issued:
                self.run.note(name, certificates=access.certificate_facts(final[name], "issued"))
        if registered:
            # The gateway is to know whose the new keys are.
            self._store().bring()
        check = self.run.check
        return Registered(
            set(changed),
            {name: records.dead_keys(record) for name, record in final.items()},
            {name: record.get("client", {}).get("certificate", "") for name, record in final.items()},
            f"{registered} keys {'to register' if check else 'registered'}, "
            f"{len(issued)} client certificates {'to issue' if check else 'issued'}, {len(merged)} sites",
        )

    def _store(self) -> ClientStore:
        return ClientStore(self.hub, self.namespace, self.ledger, note=self.run.note, check=self.run.check)

    def _certify(self, sites: Mapping[str, KeysMade], merged: dict[str, records.Record]) -> dict[str, str]:
        """Give each site that asks for one a good client certificate; says for which it is new, and why."""
        requests = {name: site.client_request for name, site in sites.items() if site.client_request}
        if not requests:
            return {}
        store = self._store()
        live = store.read()
        if live is not None:
            settings, certificate = store.settings(live), live["data"]["ca.crt"]
        elif self.run.check:
            settings, certificate = clients.Settings(self.federation, self.namespace, "", 90), ""
        else:
            raise ClusterError(
                f"ConfigMap {self.namespace}/{clients.CONFIG} on {self.hub.name} is not there, so no client certificate can be issued: "
                "deploy the hub first, or set supernode_mtls to false for a hub that asks for none."
            )
        ca: list[pki.Issued] = []

        def authority() -> pki.Issued:
            if not ca:
                stand_in = live is None
                ca.append(
                    pki.make_ca("made together with the hub", datetime.timedelta(days=1))
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

    def _register(self, merged: dict[str, records.Record]) -> int:
        if self.run.check:
            pretended: dict[str, dict[str, Any]] = {
                key["node_id"]: {} for record in merged.values() for key in record["keys"].values()
            }
            return sum(len(records.unregistered(record, pretended)) for record in merged.values())
        cli = FlowerCLI(self.hub, self.namespace)
        cli.wait_for_superlink(self.seconds)
        nodes = cli.nodes()
        for record in merged.values():
            records.mark_dead(record, nodes)
        todo = [(name, key) for name, record in merged.items() for key in records.unregistered(record, nodes)]
        answers = cli.register([merged[name]["keys"][key]["public_key"] for name, key in todo])
        for (name, fingerprint), answer in zip(todo, answers):
            key = merged[name]["keys"][fingerprint]
            if answer.ok:
                key["node_id"] = str(answer.data["node-id"])
                self.run.note(name, keys=[records.public_facts(fingerprint, key, "registered")])
            elif _IN_USE in answer.message:
                # Registered by a run that ended before it could write the ledger: the id is lost, so is the key.
                key["dead"] = True
            else:
                raise FlowerError(
                    f"the SuperLink on {self.hub.name} refused the key {fingerprint} of {name} "
                    f"(pool {key['pool']}, {key['name']}): {answer.message}"
                )
        return len(todo)


def keep(old: records.Record, new: records.Record, seen: records.Record) -> records.Record:
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
