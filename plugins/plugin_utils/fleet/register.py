# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Register the sites' public keys at the SuperLink, all in one exec, and issue client certificates for sites."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..flower.cli import FlowerCLI
from ..kube.client import Cluster
from ..pki import certificates as pki
from ..rotation import clients
from ..rotation.client_store import ClientStore
from ..sites.site import KeyResult, Run
from ..state import access_records, key_claims, records
from ..state.ledger import Ledger
from .outcome import Outcomes
from .recreate_superlink_pod import Rescue

# flwr 1.41: a key that was registered once, also one that was unregistered since.
_IN_USE = "[code: 23]"


@dataclass
class Registered:
    """Outcome of C(register).

    Attributes:
        changed: sites whose record changed.
        dead: site -> fingerprints of keys that Flower takes no more.
        certificates: site -> its client certificate, PEM; empty for a site that needs none.
        restart: sites with a SuperNode that runs with another key than the one that is registered.
        issued: sites whose certificate is a new one.
    """

    changed: set[str] = field(default_factory=set)
    dead: dict[str, list[str]] = field(default_factory=dict)
    certificates: dict[str, str] = field(default_factory=dict)
    restart: set[str] = field(default_factory=set)
    issued: set[str] = field(default_factory=set)


class Registry:
    """Ledger and SuperLink of one federation, on the hub with the inventory name C(host). C(seconds): how long the SuperLink may take to start."""

    def __init__(self, run: Run, hub: Cluster, host: str, namespace: str, federation: str, seconds: int) -> None:
        self.run, self.hub, self.host = run, hub, host
        self.namespace, self.federation, self.seconds = namespace, federation, seconds
        self.ledger = Ledger(hub, namespace, federation, check=run.check)

    def register(
        self,
        sites: Mapping[str, KeyResult],
        outcomes: Outcomes,
        regions: Mapping[str, str | None],
        without_range: Mapping[str, Sequence[str]],
        claiming: Collection[str] = (),
        places: Mapping[str, tuple[str, str]] | None = None,
        locations: Mapping[str, str] | None = None,
    ) -> Registered:
        """Update ledger and SuperLink to the keys that the sites have. A site whose keys are refused fails.

        Args:
            sites: site -> its keys.
            without_range: site -> its pools that do not count across the fleet.
            claiming: sites that take over what another one deployed. Where they have its keys, they need new ones: these are dead, and
                nothing is done for the site.
            places: site -> how its objects are delivered, and in which namespace, for the day on which it is forgotten or moves.
            locations: site -> its location as Flower takes it, if it has one.

        Raises:
            ClusterError: the SuperLink refuses a key, or a certificate cannot be issued.
        """
        known, unreadable = self.ledger.read_sites()
        taken = {name: claimed_keys for name in claiming if (claimed_keys := key_claims.keys_of_others(name, sites[name].keys, known))}
        sites = {name: site for name, site in sites.items() if name not in taken}
        claimed = {name: site.keys for name, site in sites.items() if name not in unreadable}
        refused = {name: unreadable[name] for name in sites if name in unreadable} | key_claims.claim_errors(claimed, known)
        for name, fault in refused.items():
            outcomes.fail(name, fault)
        merged = {
            name: records.merge_keys(
                known.get(name) or records.empty_record(name),
                site.keys,
                regions.get(name),
                without_range.get(name, ()),
                *(places or {}).get(name, ()),
            )
            for name, site in sites.items()
            if name not in refused
        }
        # Before the keys: what Flower has taken must get into the ledger, so nothing may fail in between.
        issued = self._certify(sites, merged, outcomes)
        registered, nodes = self._register(merged, outcomes, locations or {})
        final = dict(merged)
        changed = [name for name in merged if merged[name] != known.get(name, records.empty_record(name))]
        for name in changed:

            def change(old: records.Record, name: str = name) -> records.Record:
                """Merged with what another run wrote meanwhile."""
                final[name] = records.merged(old, merged[name], known.get(name, {}))
                return final[name]

            try:
                self.ledger.change_record(name, change)
            except ClusterError as error:
                outcomes.fail(name, error.message)
            if name in issued:
                self.run.note(name, certificates=access_records.certificate_facts(final[name], "issued"))
        if registered:
            # The gateway needs the owners of the new keys.
            self.client_store().publish_and_load()
        check = self.run.check
        return Registered(
            changed=set(changed),
            dead=taken | {name: records.dead_keys(record) for name, record in final.items()},
            certificates={name: record.get("client", {}).get("certificate", "") for name, record in final.items()},
            restart={
                name
                for name, record in final.items()
                if (records.leaving(record) if check else records.runs_with_another_key(record, nodes, claiming=name in claiming))
            },
            issued=set(issued),
        )

    def client_store(self) -> ClientStore:
        """The gateway's files on sites; what is changed in them is recorded for the hub."""

        def note(site: str | None = None, **facts: Iterable[Any]) -> None:
            self.run.note(site or self.host, **facts)

        return ClientStore(self.hub, self.namespace, self.ledger, note=note, check=self.run.check)

    def _certify(self, sites: Mapping[str, KeyResult], merged: dict[str, records.Record], outcomes: Outcomes) -> dict[str, str]:
        """Issue a valid client certificate for each site that requests one; returns for which it is new, and why."""
        requests = {name: site.client_request for name, site in sites.items() if site.client_request and name in merged}
        if not requests:
            return {}
        store = self.client_store()
        live = store.read()
        if live is not None:
            settings, certificate = store.settings(live), live["data"]["ca.crt"]
        elif self.run.check:
            settings, certificate = clients.Settings(self.federation, self.namespace, "", 90), ""
        else:
            raise ClusterError(
                f"ConfigMap {self.namespace}/{clients.CONFIG} on {self.hub.name} does not exist, so no client certificate can be issued: "
                "deploy the hub first, or set supernode_mtls to false for a hub that requests none."
            )
        ca: list[pki.Issued] = []

        def authority() -> pki.Issued:
            if not ca:
                ca.append(clients.placeholder_ca() if live is None else store.authority(settings))
            return ca[0]

        reasons = {}
        for name, request in requests.items():
            try:
                present = certificate or authority().certificate
                merged[name], reason = clients.certify(merged[name], request, site=name, settings=settings, ca_certificate=present, ca=authority)
            except pki.UNREADABLE as error:
                outcomes.fail(name, f"the request for its client certificate cannot be used: {error}.")
                del merged[name]
                continue
            if reason:
                reasons[name] = reason
        return reasons

    def _register(self, merged: dict[str, records.Record], outcomes: Outcomes, locations: Mapping[str, str]) -> tuple[int, dict[str, dict[str, Any]]]:
        """Register what is new; returns how many keys that were, and the state at Flower of the nodes that existed before."""
        if self.run.check:
            pretended: dict[str, dict[str, Any]] = {key["node_id"]: {} for record in merged.values() for key in record["keys"].values()}
            return sum(len(records.unregistered(record, pretended)) for record in merged.values()), {}
        cli = FlowerCLI(self.hub, self.namespace)
        Rescue(self.run, self.hub, self.host, self.federation).wait(cli, self.seconds)
        nodes = cli.nodes()
        for record in merged.values():
            records.mark_dead(record, nodes)
        todo = [(name, key) for name, record in merged.items() for key in records.unregistered(record, nodes)]
        for name, count in Counter(name for name, key in todo if merged[name]["keys"][key]["node_id"]).items():
            words = (
                f"the SuperLink does not know {count} of its SuperNodes any more, and they are registered again: its database is new, or "
                "older than the ledger. If that was not intended, earlier runs are only in a backup (federated.flower.restore)"
            )
            outcomes[name].warnings.append(named_hosts(name, words))
        keys = [merged[name]["keys"][key] for name, key in todo]
        described = [(f"{name}/{key['pool']}/{key['name']}", locations.get(name, "")) for (name, _fingerprint), key in zip(todo, keys)]
        answers = cli.register([key["public_key"] for key in keys], described)
        for (name, fingerprint), answer in zip(todo, answers):
            key = merged[name]["keys"][fingerprint]
            if answer.ok:
                key["node_id"] = str(answer.data["node-id"])
                self.run.note(name, keys=[records.public_facts(fingerprint, key, "registered")])
            elif _IN_USE in answer.message:
                # Registered by a run that ended before it could write the ledger, or the record is lost: the id is lost, so is the key.
                key.update(dead=True, node_id=None)
            else:
                words = f"refused the key {fingerprint} (pool {key['pool']}, {key['name']}): {answer.message}"
                outcomes.fail(name, f"the SuperLink on {self.hub.name} {words}")
        return len(todo), nodes
