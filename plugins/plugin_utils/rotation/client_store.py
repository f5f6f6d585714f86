# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Reading and writing what C(clients) plans, in the hub cluster. The ConfigMap is written here and nowhere else.

It is written with optimistic locking, and the ledger is read after it: who writes an older view of the ledger, and
so would undo a denial, loses the race and reads both again.
"""

from __future__ import annotations

import datetime
from collections.abc import Callable, Collection
from typing import Any

from ..apply import redacted_diff
from ..apply.order import Id
from ..apply.redacted_diff import Mask
from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..kube import stuck_pods
from ..kube.client import Cluster
from ..kube.configmaps import retry_on_conflict, write
from ..marks import proof
from ..pki import certificates
from ..state import access_records, partition_numbers
from ..state.audit_notes import of_objects
from ..state.ledger import Ledger
from ..state.partition_numbers import Book
from ..state.records import Record
from . import clients, clocks

# How long dead keys of sites that left are kept.
_REMEMBERED = datetime.timedelta(days=180)


class ClientStore:
    """The gateway's files on sites. C(note) records a change for the audit trail, right after it (C(ClusterAction.note)).

    Attributes:
        diff: what was changed, for Ansible's --diff.
        objects: the same in the format of apply.
        warnings: messages for the user.
    """

    def __init__(self, cluster: Cluster, namespace: str, ledger: Ledger, *, note: Callable[..., None], check: bool = False) -> None:
        self.cluster, self.namespace, self.ledger, self.note, self.check = cluster, namespace, ledger, note, check
        self.diff: list[dict[str, str]] = []
        self.objects: list[dict[str, str]] = []
        self.warnings: list[str] = []

    def read(self) -> dict[str, Any] | None:
        """The live ConfigMap."""
        return self.cluster.get("v1", "ConfigMap", clients.CONFIG, self.namespace)

    def settings(self, live: dict[str, Any]) -> clients.Settings:
        """Settings of the hub.

        Raises:
            ClusterError: someone else wrote the ConfigMap.
        """
        try:
            live["data"]["ca.crt"].encode("ascii")
            return clients.settings_of(live)
        except (KeyError, ValueError) as error:
            raise ClusterError(
                f"ConfigMap {self.namespace}/{clients.CONFIG} on {self.cluster.name} is damaged: it has no {error}. Run "
                "federated.flower.site for the hub: it recreates it."
            ) from error

    def authority(self, settings: clients.Settings) -> certificates.Issued:
        """The CA with its key, to sign with it now.

        Raises:
            ClusterError: it is not there; or the clock of the control node is ahead.
        """
        ca = clients.client_ca_of(self.cluster.get("v1", "Secret", clients.CA, settings.ca_namespace))
        if ca is None:
            raise ClusterError(
                f"the CA of the client certificates, Secret {settings.ca_namespace}/{clients.CA} on {self.cluster.name}, does "
                "not exist. Restore it from a backup, or run federated.flower.site for the whole fleet: it creates a new one, and all "
                "sites get new certificates."
            )
        clocks.require_clock(self.cluster)
        return ca

    def publish(
        self,
        settings: clients.Settings | None = None,
        ca: certificates.Issued | None = None,
        foreseen: tuple[Book, dict[str, Record]] | None = None,
        admitted: Collection[str] = (),
    ) -> bool:
        """Write the ConfigMap as the ledger wants it; returns whether it differed.

        Args:
            settings: settings of the hub; by default those of the live ConfigMap. Without either, no
                gateway requests client certificates, and nothing is done.
            ca: the CA; read when it is needed by default.
            foreseen: the future book and records, for check mode, in which the ledger does not have them.
            admitted: sites that are no longer denied, and may have no record.
        """
        what = f"ConfigMap {self.namespace}/{clients.CONFIG} on {self.cluster.name}"

        def attempt() -> bool:
            live = self.read()
            if settings is None and live is None:
                return False
            found = settings or self.settings(live or {})
            known = clients.Known(*foreseen) if foreseen else self._known(live, admitted)
            signer = self.authority(found) if ca is None and clients.needs_ca(live, known) else ca
            try:
                wanted = clients.config_map(found, known, live, signer)
            except ValueError as error:
                raise ClusterError(f"{what}: {error}.") from error
            if wanted["data"]["crl.pem"] != ((live or {}).get("data") or {}).get("crl.pem"):
                clocks.require_clock(self.cluster)
            differs = live is None or not _same(live, wanted)
            if differs:
                self._put(live, wanted)
            if not self.check:
                self._prune(known, wanted["data"]["ca.crt"])
            return differs

        return retry_on_conflict(what, attempt)

    def _known(self, live: dict[str, Any] | None, admitted: Collection[str]) -> clients.Known:
        """The ledger's content, with entries that it lost and the gateway's files still have."""
        book = self.ledger.read_book()
        known = clients.Known(book, *self.ledger.read_sites())
        found = clients.missing_in_ledger(live, known)
        found = access_records.MissingInLedger(tuple(site for site in found.denied if site not in admitted), found.revoked)
        if not found:
            return known
        now = known.now.isoformat(timespec="seconds")
        self.ledger.change_book(lambda old: access_records.restored(old, found, now))
        for site in found.denied:
            self.note(site, access=[{"change": "still denied", "reason": "the ledger had lost it"}])
        words = [f"{len(found.revoked or {})} revocations", *(f"the denial of {site}" for site in found.denied)]
        self.warnings.append(f"the ledger had lost {', '.join(words)}: restored from the gateway's files")
        return clients.Known(access_records.restored(book, found, now), known.records, known.unreadable, known.now)

    def _prune(self, known: clients.Known, certificate: str) -> None:
        """Drop from the ledger what no longer matters, once the gateway's files are without it."""
        present = known.present(certificate)
        long_ago = (known.now - _REMEMBERED).isoformat()

        def prune(book: Book) -> Book:
            return partition_numbers.without_left(access_records.pruned(book, present), long_ago)

        if prune(dict(known.book)) != known.book:
            self.ledger.change_book(prune)
        for site, record in known.records.items():
            if access_records.pruned(record, present) != record:
                self.ledger.change_record(site, lambda old: access_records.pruned(old, present))

    def _put(self, live: dict[str, Any] | None, wanted: dict[str, Any]) -> None:
        """Write the ConfigMap, and record it."""
        if not self.check:
            written = wanted
            if live is not None:
                parts = {part: {**(live["metadata"].get(part) or {}), **wanted["metadata"][part]} for part in ("labels", "annotations")}
                written = {**live, "metadata": {**live["metadata"], **parts}, "data": wanted["data"]}
            write(self.cluster, written)
        which = Id("", "ConfigMap", self.namespace, clients.CONFIG)
        self.diff = [redacted_diff.diff_entry(which, live, wanted, Mask())]
        change = "created" if live is None else "changed"
        self.objects = [{"apiVersion": "v1", "kind": which.kind, "namespace": which.namespace, "name": which.name, "change": change}]
        self.note(objects=of_objects(self.objects))

    def load_now(self) -> None:
        """Load the changed files into the gateway now; it reloads automatically."""
        if not self.check:
            stuck_pods.touch_pods(self.cluster, self.namespace, proof.pods_query(self.ledger.federation, SUPERLINK))

    def publish_and_load(self) -> bool:
        """Write the ConfigMap from the ledger and load it into the gateway; returns whether it differed."""
        differed = self.publish()
        if differed:
            self.load_now()
        return differed


def _same(live: dict[str, Any], wanted: dict[str, Any]) -> bool:
    parts = all(
        wanted["metadata"][part].items() <= (live["metadata"].get(part) or {}).items()
        for part in ("labels", "annotations")
    )
    return parts and live.get("data") == wanted["data"]
