# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An example of each record that outlives a run, in a cluster or in a backup: what this code writes, from fixed input, later releases must read."""

from __future__ import annotations

import copy
import datetime
import hashlib
import io
import tarfile
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from unittest import mock

import pyrage

from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    age_keys,
    archive,
    hub_archive,
    hub_objects,
    leadership,
    restore_mark,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.archive import About
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import RESTORE_CONFIG
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import heal_plan, upgrade_record
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.marks import owners as owner_record
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import (
    ca_state,
    certificate_plan,
    internal_secrets,
)
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import Authority
from ansible_collections.federated.flower.plugins.plugin_utils.site_keys import maker
from ansible_collections.federated.flower.plugins.plugin_utils.sites import bundle_draft as drafts
from ansible_collections.federated.flower.plugins.plugin_utils.sites.bundle_keeper import Keeper
from ansible_collections.federated.flower.plugins.plugin_utils.state import (
    access_records,
    audit_notes,
    audit_trail,
    lease_object,
    partition_numbers,
    records,
    site_indexes,
)
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import (
    ACCEPTANCE,
    BACKUP,
    DATASETS,
    DEPLOYED,
    NODES,
    Ledger,
)
from ansible_collections.federated.flower.tests.unit.hub_objects import live_objects
from ansible_collections.federated.flower.tests.unit.specs import CA

SPACE, FEDERATION = "flower", "study"
TIME = datetime.datetime(2026, 11, 24, 10, tzinfo=datetime.timezone.utc)
NOW = TIME.isoformat()
RUN = {
    "pid": 1,
    "playbook": "federated.flower.site",
    "options": {"limit": "site-a"},
    "who": {"user": "jane", "host": "laptop"},
}
KEYS = [
    {"pool": "cpu", "name": str(number), "fingerprint": f"SHA256:{number}", "public_key": f"ecdsa {number}"}
    for number in range(3)
]
CLIENT = {"serial": "5a", "fingerprint": "SHA256:c", "not_after": NOW, "key": "SHA256:k", "certificate": CA}

Object = dict[str, Any]


class Hub(Cluster):
    """A cluster that has what was written."""

    def __init__(self) -> None:
        self.name, self.objects = "hub", dict[str, Object]()

    def get(self, _version: str, _kind: str, name: str, _namespace: str | None = None) -> Object | None:
        return copy.deepcopy(self.objects.get(name))

    def create(self, obj: Mapping[str, Any]) -> Object:
        self.objects[obj["metadata"]["name"]] = made = {**obj, "metadata": {**obj["metadata"], "resourceVersion": "1"}}
        return made

    replace = create


def stored() -> dict[str, Any]:
    """What it is -> the record, as JSON or bytes."""
    return {**_config_maps(), **_secrets(), **_applied(), **_lease(), **_archive()}


def _config_maps() -> dict[str, Object]:
    hub = Hub()
    _ledger(Ledger(hub, SPACE, FEDERATION))
    audit_trail.Trail(hub, SPACE, FEDERATION).append(_entries())
    upgrade_record.Store(hub, SPACE, FEDERATION).change(lambda known: _upgrade())
    term = leadership.Term(leadership.ACTIVE, 2, "hub", "other", "2026-11-24T10:00:00Z", "uid-1", "uid-2", "uid-3")
    leadership.store(hub, SPACE, FEDERATION, term)
    with (
        mock.patch.object(restore_mark, "remove"),
        restore_mark.marked(hub, SPACE, FEDERATION, "flower-backup-study.tar"),
    ):
        pass
    mark = hub.objects[RESTORE_CONFIG]["data"]
    mark |= {
        key: text.replace(restore_mark.read(hub, SPACE).started, NOW) for key, text in mark.items()
    }  # when the test was run
    return {f"ConfigMap {name}": one for name, one in hub.objects.items()}


def _ledger(ledger: Ledger) -> None:
    book = partition_numbers.allocate(partition_numbers.identified(partition_numbers.empty_book(), "id-1"), {"site-a": {"cpu": 2}}, partitions=4).book
    record = records.merge_keys(records.empty_record("site-a"), KEYS, "eu", ["all"], "direct", SPACE)
    for key in record["keys"].values():
        key["node_id"] = "123"
    record = records.merge_keys(records.retire(record, ["SHA256:2"], NOW), KEYS[:1], "eu", ["all"], "direct", SPACE)
    record = access_records.with_client(record, CLIENT, new_key=True)
    record = access_records.with_client(record, {**CLIENT, "serial": "5b"}, new_key=False)
    left = access_records.revoke_superseded(access_records.with_client(record, {**CLIENT, "serial": "5c"}, new_key=True), NOW)
    record = heal_plan.with_restart(access_records.deny(left, "audit", NOW, "a run"), ["123"], NOW)
    book = partition_numbers.forget(access_records.with_revoked_sites(book, {"site-b": record}, NOW), {"site-b": ["SHA256:9"]}, NOW)
    ledger.change_book(lambda old: access_records.deny_absent(book, "site-c", "audit", NOW))
    ledger.change_record("site-a", lambda old: record)
    by_hand = {"site-a": site_indexes.Files(2, 1)}
    ledger.change(
        DATASETS, lambda old: site_indexes.updated_datasets(old, {"site-a": {"cpu": ["scans"]}}, {"site-a": record}, by_hand=by_hand)
    )
    ledger.change(NODES, lambda old: site_indexes.updated_nodes(old, {"site-a": record}))
    ledger.change(
        ACCEPTANCE, lambda old: site_indexes.updated_sites(old, {"site-a": {"at": NOW, "score": 96, "accepted": True, "reasons": ["x"]}})
    )
    ledger.change(DEPLOYED, lambda old: site_indexes.updated_sites(old, {"site-a": {"at": NOW, "version": "1.42.0"}}))
    ledger.change(BACKUP, lambda old: {"at": NOW, "archive": "flower-backup-study.tar", "bytes": 1, "opened": True, "keys": ["flower-ca"]})
    _bundle(ledger)


def _bundle(ledger: Ledger) -> None:
    """What the hub knows of a bundle, but for what a version has of the time and at random."""
    ca = certificates.make_ca("study client CA", datetime.timedelta(days=1))
    store = mock.Mock(**{"read.return_value": {"data": {"ca.crt": CA}}, "authority.return_value": ca})
    facts = {"site": "site-a", "federation": FEDERATION, "namespace": "lab", "makes_namespace": True}
    made = drafts.Draft(
        facts,
        request={"pools": []},
        hub="id-1",
        serving={"cpu": {"0": "SHA256:0"}},
        restarts={"cpu": 1},
        marks={"a": "b"},
        leaving=True,
    )
    with tempfile.TemporaryDirectory() as folder, mock.patch("secrets.token_hex", return_value="nonce"):
        Keeper("site-a", ledger, store, check=False).bring(made, folder)
    ledger.change_bundle(
        "site-a", lambda state: {**state, **dict.fromkeys(("written", "sums", "signature"), "of this version")}
    )


def _entries() -> list[audit_notes.Content]:
    def note(site: str, **facts: Any) -> audit_notes.Note:
        return {"at": NOW, "site": site, **facts}

    objects = audit_notes.of_objects(
        [{"kind": "Secret", "namespace": SPACE, "name": "key", "change": "created", "sha256": "1"}]
    )
    made = [
        note("site-a", facts={"objects": objects, "words": ["x"]}),
        note("site-b", facts={"words": ["y"]}),
        note("site-b", failed="why"),
    ]
    entry = audit_notes.compose(made, RUN, time=NOW, kubernetes="system:admin")
    assert entry is not None
    entry["interrupted"] = NOW  # of earlier releases
    return [entry, *({**one, "id": "2"} for one in audit_notes.in_parts(entry, 500))]


def _upgrade() -> upgrade_record.Record:
    def what(version: str) -> Object:
        return {
            "version": version,
            "workloads": [{"name": "superlink", "pool": None, "images": {"superlink": f"flwr:{version}"}}],
        }

    live, new = what("1.41.0"), what("1.42.0")
    return upgrade_record.begin(
        {}, NOW, [["site-a"]], (live, new), {"site-a": (live, new), "site-b": (new, new)}, hub_begun=False
    )


def _secrets() -> dict[str, Object]:
    """Of each Secret with what was made at random, the names of its entries."""
    hub = certificate_plan.Wanted(
        FEDERATION, SPACE, "flower-ca", ["hub"], datetime.timedelta(days=90), datetime.timedelta(days=3650)
    )
    plan = internal_secrets.plan(hub, live_objects())
    pools = [{"name": "cpu", "names": ["0", "1"], "offset": 3}]
    asked = {
        "federation": FEDERATION,
        "namespace": "lab",
        "pools": pools,
        "dead": [],
        "client": "site-a",
        "listener": "site-a.lab",
        "renew": {},
        "drop": {},
    }
    site = maker.decide(
        {**asked, "owner": {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1-2-3"}}, {}
    )
    found = {
        f"Secret {one['metadata']['name']}": {**one, "data": sorted(one["data"])}
        for one in [*plan.secrets, *site.writes]
    }
    return {**found, "Secret of a CA that is rotated": _rotated()}


def _rotated() -> Object:
    first, second = certificates.Issued("first", "first key"), certificates.Issued("second", "second key")
    adding = ca_state.begin(ca_state.State(Authority(first)), second, TIME)
    states = [adding, ca_state.switch(adding, TIME), ca_state.drop(ca_state.switch(adding, TIME))]
    return {one.phase: {"data": one.authority.entries(), "annotations": one.notes()} for one in states}


def _applied() -> dict[str, Object]:
    kinds = [("", "ConfigMap"), ("apps", "StatefulSet")]
    parent = applyset.parent_object(
        "supernode", SPACE, kinds, ["other"], owner_record.deployment_notes(FEDERATION, "site-a", "id-1")
    )
    return {
        "ConfigMap applyset-supernode": parent,
        "member of an ApplySet": applyset.with_label({"metadata": {}}, applyset.set_id("supernode", SPACE)),
    }


def _lease() -> dict[str, Object]:
    lease = lease_object.taken(None, SPACE, FEDERATION, lease_object.identity(RUN, "run"), TIME)
    return {"Lease": lease_object.renewed(lease, TIME + datetime.timedelta(seconds=10))}


def _archive() -> dict[str, Any]:
    """An archive of a hub: its own layout, and what it encrypts."""
    owner = pyrage.x25519.Identity.generate()
    item = {
        "kind": "Secret",
        "metadata": {"name": "flower-ca", "namespace": "flower-ca", "labels": {}, "uid": "1"},
        "type": "Opaque",
        "data": {"a": "b"},
    }
    objects = [{"object": hub_objects.stored(item), "applied": True}]
    described = hub_archive.described(SPACE, "flower-ca", {"size": 2, "sha256": "1"}, objects)
    members = {hub_archive.HUB: described, hub_archive.DATABASE: b"db", hub_archive.INVENTORY: b"{}"}
    about = About(FEDERATION, "id-1", "20261124T100000Z", "1.0.0", "1.42.0")
    with tempfile.TemporaryDirectory() as folder:
        listed = [archive.member_of(name, data) for name, data in members.items()]
        path = archive.write(Path(folder), about, listed, age_keys.recipients_of([str(owner.to_public())]))
        data = path.read_bytes()
        beside = (
            path.with_name(f"{path.name}.sha256")
            .read_text(encoding="ascii")
            .replace(hashlib.sha256(data).hexdigest(), "its SHA-256")
        )
    outer = _unpacked(data)
    inner = _unpacked(pyrage.decrypt(outer["archive.age"], [owner]))
    outer["archive.age"] = b""
    shown = {"file": path.name, "beside": beside, "members": {name: text.decode() for name, text in outer.items()}}
    return {"backup, outside": shown, "backup, inside": {name: text.decode() for name, text in inner.items()}}


def _unpacked(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as tar:
        return {one.name: tar.extractfile(one).read() for one in tar}
