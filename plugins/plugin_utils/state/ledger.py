# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The ledger in the hub's cluster: ConfigMaps, written with optimistic locking.

One ConfigMap, C(flower-ledger), holds the partition ranges of the whole fleet, so that two concurrent control nodes can never
allocate one number to two sites. One more per site, C(flower-site-SITE), has the records of its keys.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from ..base import foreign_data
from ..base import object_names as names
from ..base.errors import ClusterError
from ..kube.client import Cluster
from ..kube.configmaps import config_map, retry_on_conflict, write
from ..marks import proof
from . import site_indexes
from .partition_numbers import Book, empty_book
from .records import Record, empty_record, record_error

BOOK = names.LEDGER_CONFIG
# Which SuperNodes have which datasets, see C(site_indexes.py); only where a site has some.
DATASETS = names.LEDGER_DATASETS_CONFIG
# Which SuperNodes the sites have, see C(site_indexes.py). Releases that kept lists of packages in it gave it its name.
NODES = names.LEDGER_NODES_CONFIG
# Begins the name of what is known of the bundle of a site.
BUNDLE = "flower-bundle-"
# The result of the last acceptance of each site; and when each was last deployed, and with which Flower.
ACCEPTANCE, DEPLOYED = names.LEDGER_ACCEPTANCE_CONFIG, names.LEDGER_DEPLOYED_CONFIG
# The last backup of the hub: C(at) (ISO 8601), C(archive), C(bytes), C(opened), C(keys), names of the Secrets with keys of CAs that any had.
BACKUP = names.LEDGER_BACKUP_CONFIG
SITE_LABEL = "federated.flower/site"
COMPONENT = "ledger"
_KEY = "ledger.json"
_COMPONENT_LABEL = "app.kubernetes.io/component"
# Identity of a hub that has none yet: no site can be its own.
NEW = "new"
# The ConfigMap of the gateway's files on sites, and its annotation that notes the hub's identity, for the case that the book is lost.
NOTED_ON, NOTE = "superlink-clients", "federated.flower/hub"
_ALL = "site.yml for the whole fleet"


class _Part(NamedTuple):
    """The content of a ConfigMap: the remedy for one that cannot be read, what is wrong with it (a sentence; empty for a good one), and an empty one."""

    remedy: str
    error_of: Callable[[Any], str] = lambda _content: ""
    empty: Mapping[str, Any] = {}


_AGAIN = "delete it and run {}: it is recreated"
_PARTS = {
    BOOK: _Part(
        f"restore it from a backup, or delete it and run {_ALL}: partitions, denials and revocations are restored "
        "from the sites' records and the gateway's files",
        empty=empty_book(),
    ),
    DATASETS: _Part(_AGAIN.format(_ALL), site_indexes.dataset_index_error),
    NODES: _Part(_AGAIN.format(_ALL), site_indexes.node_index_error),
    DEPLOYED: _Part(_AGAIN.format(_ALL), site_indexes.site_index_error),
    ACCEPTANCE: _Part(_AGAIN.format("verify.yml"), site_indexes.site_index_error),
    BACKUP: _Part(_AGAIN.format("backup.yml")),
    BUNDLE: _Part(
        "restore it from a backup, or delete it and run site.yml: the site gets a first bundle again, and replies to it",
        lambda state: "" if isinstance(state, dict) and isinstance(state.get("version"), int) else "it names no version",
    ),
}


def _record(site: str) -> _Part:
    return _Part(
        "restore it from a backup, or delete it and run site.yml: the site's SuperNodes get new keys, and its denials and "
        "revocations are restored from the gateway's files",
        lambda record: record_error(record, site),
        empty_record(site),
    )


class LedgerError(ClusterError):
    """The ledger cannot be read or written. The text has the reason and the remedy."""


def site_name_error(site: str) -> str:
    """Why a site of this name cannot have a record; empty when it can.

    Source of the rule: its name is part of the name of a ConfigMap (RFC 1123) and the value of a label (63 characters).
    """
    if len(site) <= 63 and re.fullmatch(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", site):
        return ""
    return (
        f"the inventory name {site!r} cannot be the name of a site: at most 63 of a-z, 0-9, '-' and '.', with a letter or digit at "
        "both ends. Rename the host in the inventory."
    )


class Ledger:
    """The ledger of one federation.

    Args:
        check: True keeps every write in memory.
    """

    def __init__(self, cluster: Cluster, namespace: str, federation: str, *, check: bool = False) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self.federation = federation
        self.check = check

    def read_book(self) -> Book:
        """Read the partition ranges."""
        return self.read(BOOK)

    def identity(self) -> str:
        """Identity of the hub; C(NEW) where there is none yet, empty where the ledger is older than identities."""
        item = self._get(BOOK)
        return self.noted_identity() or NEW if item is None else str(self._parse(item, _PARTS[BOOK]).get("id", ""))

    def noted_identity(self) -> str:
        """Identity of the hub as it is noted beside the book; empty where it is not."""
        item = self._get(NOTED_ON) or {"metadata": {}}
        return (item["metadata"].get("annotations") or {}).get(NOTE, "")

    def change_book(self, change: Callable[[Book], Book]) -> bool:
        """Change the partition ranges; returns whether they differ now.

        Args:
            change: old ranges -> new ranges. Called again with fresh ones when another controller was faster.
        """
        return self.change(BOOK, change)

    def read_records(self) -> dict[str, Record]:
        """Read all sites' records, by site.

        Raises:
            LedgerError: some cannot be read.
        """
        records, faults = self.read_sites()
        if faults:
            raise LedgerError("; ".join(faults.values()))
        return records

    def read_sites(self) -> tuple[dict[str, Record], dict[str, str]]:
        """Read all sites' records, by site; and for sites whose record cannot be read, what to do."""
        found = self.cluster.list("v1", "ConfigMap", self.namespace, labels=f"{_COMPONENT_LABEL}={COMPONENT},{SITE_LABEL}")
        records, faults = {}, {}
        for item in found:
            site = item["metadata"]["labels"][SITE_LABEL]
            try:
                records[site] = self._parse(item, _record(site))
            except LedgerError as error:
                faults[site] = error.message
        return records, faults

    def read_record(self, site: str) -> Record | None:
        """Read one site's record; None where there is none.

        Raises:
            LedgerError: it cannot be read.
        """
        item = self._get(f"flower-site-{site}")
        return None if item is None else self._parse(item, _record(site))

    def read_denial(self, site: str) -> dict[str, Any]:
        """The denial of a site, also of one that left; empty when it is admitted or not known."""
        record = self.read_record(site) or {}
        return record.get("access") or (self.read_book().get("denied") or {}).get(site) or {}

    def change_record(self, site: str, change: Callable[[Record], Record]) -> bool:
        """Change one site's record, as C(change_book) does for the ranges."""
        return self.change(f"flower-site-{site}", change, _record(site), {SITE_LABEL: site})

    def read(self, name: str, part: _Part | None = None) -> dict[str, Any]:
        """Read C(DATASETS), C(NODES), C(ACCEPTANCE), C(DEPLOYED) or C(BACKUP). It needs the right to read this one ConfigMap only."""
        return self._parse(self._get(name), part or _PARTS[name])

    def change(self, name: str, change: Callable[[Any], Any], part: _Part | None = None, labels: Mapping[str, str] | None = None) -> bool:
        """Change one of these, as C(change_book) does for the ranges."""
        part = part or _PARTS[name]

        def attempt() -> bool:
            item = self._get(name)
            old = self._parse(item, part)
            new = change(old)
            data = {_KEY: json.dumps(new, sort_keys=True)}
            wanted_item = config_map(self.federation, self.namespace, name, data, application="flower-ledger", component=COMPONENT, labels=labels)
            found = {} if item is None else item["metadata"].get("labels") or {}
            # Records are listed by these labels: without them, a site that is there would have none.
            wanted = {label: wanted_item["metadata"]["labels"][label] for label in (_COMPONENT_LABEL, *(labels or ()))}
            if new == old and (item is None or found == {**found, **wanted}):
                return False
            if self.check:
                return True
            if item is not None:
                wanted_item = {**item, "metadata": {**item["metadata"], "labels": {**found, **wanted}}, "data": data}
            write(self.cluster, wanted_item)
            return True

        return retry_on_conflict(f"ConfigMap {self.namespace}/{name} on {self.cluster.name}", attempt)

    def read_bundle(self, site: str) -> dict[str, Any]:
        """Read what is known of the bundle of a site that gives no access, see C(sites/bundle_keeper.py); empty when there is none."""
        return self.read(f"{BUNDLE}{site}", _PARTS[BUNDLE])

    def change_bundle(self, site: str, change: Callable[[dict[str, Any]], dict[str, Any]]) -> bool:
        """Change it."""
        return self.change(f"{BUNDLE}{site}", change, _PARTS[BUNDLE])

    def delete_record(self, site: str, seen: Record) -> bool:
        """Forget a site's record, and its bundle. A ConfigMap of someone else that has the name of the bundle stays.

        Args:
            seen: its record as it was read; its SuperNodes are unregistered.

        Returns:
            Whether there was a record.

        Raises:
            LedgerError: the record says something else now, so it has keys that would be lost; or this federation did not create it.
                Nothing is deleted.
        """
        name = f"flower-site-{site}"

        def attempt() -> bool:
            item = self._get(name)
            if item is not None:
                self._refuse_to_delete(item, site, seen)
            bundle = self._get(f"{BUNDLE}{site}")
            for one in (bundle if bundle is not None and proof.may_delete(bundle, self.federation) else None, item):
                if one is not None and not self.check:  # exactly what was read: otherwise there is a Conflict
                    meta = one["metadata"]
                    self.cluster.delete(
                        "v1", "ConfigMap", meta["name"], self.namespace, uid=meta["uid"], version=meta["resourceVersion"], propagation="Background"
                    )
            return item is not None

        return retry_on_conflict(f"ConfigMap {self.namespace}/{name} on {self.cluster.name}", attempt)

    def _refuse_to_delete(self, item: Mapping[str, Any], site: str, seen: Record) -> None:
        what = f"{self._place(item)}, the record of {site},"
        if not proof.belongs(item, self.federation):
            raise LedgerError(f"{what} {proof.holder(item)}: it was not deleted. Delete it manually if it is not needed")
        if not proof.has_written(item):
            raise LedgerError(
                f"{what} was written only by others (metadata.managedFields): it was not deleted. Delete it manually if the site has left"
            )
        if self._parse(item, _record(site)) != seen:
            raise LedgerError(f"{what} was changed by another run in the meantime. Run again when that is complete")

    def _get(self, name: str) -> dict[str, Any] | None:
        return self.cluster.get("v1", "ConfigMap", name, self.namespace)

    def _place(self, item: Mapping[str, Any]) -> str:
        return f"ConfigMap {self.namespace}/{item['metadata']['name']} on {self.cluster.name}"

    def _parse(self, item: Mapping[str, Any] | None, part: _Part) -> dict[str, Any]:
        text = item["data"].get(_KEY) if item and item.get("data") else None
        if item is None or text is None:
            return copy.deepcopy(dict(part.empty))
        try:
            content: dict[str, Any] = foreign_data.read_json(text)
            wrong = part.error_of(content)
        except ValueError as error:
            wrong = f"it is not JSON ({error})"
        if wrong:
            raise LedgerError(f"{self._place(item)} cannot be used: {wrong}; {part.remedy}")
        return content
