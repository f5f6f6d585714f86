# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import base64
import contextlib
import datetime
import hashlib
import io
import json
import re
import sqlite3
import subprocess
import threading
import types

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    archive,
    database,
    hub_archive,
    hub_objects,
    volume_pod,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.archive import About
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.programs import database_program
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.backup.two_hubs import Kept
from ansible_collections.federated.flower.tests.unit.rows import each_row

LABELS = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "scenario"}
OURS = [{"manager": "federated.flower", "operation": "Apply"}]


@pytest.fixture
def volume(tmp_path, monkeypatch):
    """A volume with a database that is in use."""
    path = str(tmp_path / "state.db")
    for name, value in (("DATABASE", path), ("COPIES", {use: f"{path}.{use}" for use in database_program.COPIES}), ("PART", f"{path}.restore")):
        monkeypatch.setattr(database_program, name, value)
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute("PRAGMA journal_mode=WAL")
        database.execute("CREATE TABLE node (id INTEGER, name TEXT)")
        database.executemany("INSERT INTO node VALUES (?, ?)", [(one, "x" * 100) for one in range(1000)])
        database.commit()
        yield tmp_path


def test_a_hub_whose_ledger_is_lost_is_no_backup():
    """Its identity is also noted elsewhere: archives without a ledger would replace those that have it."""
    hub = Kept("hub")
    hub.put_hub()
    assert hub_archive.about(hub, "flower", "flower").hub
    del hub.objects["ConfigMap", "flower-ledger"]
    with pytest.raises(ClusterError, match="its ledger or its publication is missing"):
        hub_archive.about(hub, "flower", "flower")


def test_what_a_site_beside_the_hub_has_of_its_network_is_not_the_hubs():
    """A standby may be a site, too: a copy would delete the key of its link."""
    labels = {**LABELS, "app.kubernetes.io/name": "skupper"}
    item = {"kind": "Secret", "metadata": {"name": "flower-hub", "namespace": "flower", "labels": labels, "managedFields": OURS}}
    assert not hub_objects.of_hub(item, "scenario")
    assert hub_objects.of_hub({**item, "metadata": {**item["metadata"], "labels": LABELS}}, "scenario")


def sent(facts):
    pieces = []
    for offset in range(0, facts["size"], 7000):
        pieces.append(base64.b64decode(database_program.send({"offset": offset, "size": 7000})["data"]))
    return b"".join(pieces)


def received(data, monkeypatch):
    for offset in range(0, len(data), 9000):
        piece = data[offset : offset + 9000]
        monkeypatch.setattr(database_program.sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(piece)))
        database_program.receive({"offset": offset, "size": len(piece)})


def moved(volume):
    """The volume is emptied."""
    for path in volume.iterdir():
        path.unlink()


def test_the_database_comes_back_as_it_was_copied(volume, monkeypatch):
    facts = database_program.copy({})
    data = sent(facts)
    assert hashlib.sha256(data).hexdigest() == facts["sha256"]
    database_program.end({})
    assert not list(volume.glob("*.backup*"))
    moved(volume)
    assert database_program.look(facts) == {"done": False}
    received(data, monkeypatch)
    assert database_program.finish(facts) == {}
    assert database_program.finish(facts) == {"done": True}, "its answer was lost"
    assert database_program.look(facts) == {"done": True}
    assert [path.name for path in volume.iterdir()] == ["state.db"]
    with contextlib.closing(sqlite3.connect(volume / "state.db")) as database:
        assert database.execute("SELECT count(*) FROM node").fetchone() == (1000,)


def test_what_arrived_wrong_is_not_put_in_place(volume, monkeypatch):
    facts = database_program.copy({})
    data = bytearray(sent(facts))
    data[5000] ^= 1
    moved(volume)
    received(bytes(data), monkeypatch)
    assert "did not arrive" in database_program.finish(facts)["fault"]
    damaged = bytes(4096) + bytes(data[4096:])
    received(damaged, monkeypatch)
    facts["sha256"] = hashlib.sha256(damaged).hexdigest()
    assert "damaged" in database_program.finish(facts)["fault"]
    assert not (volume / "state.db").exists()


def test_a_long_copy_gives_signs_of_life(volume, monkeypatch, capsys):
    """Load balancers before API servers cut connections that are silent for a minute."""
    copy = database_program.copy

    signs_seen = threading.Semaphore(0)

    def said(*words, **options):
        print(*words, **options)
        signs_seen.release()

    def slow(request):
        assert all(signs_seen.acquire(timeout=60) for _sign in range(4))
        return copy(request)

    monkeypatch.setattr(database_program, "print", said, raising=False)
    monkeypatch.setattr(database_program, "ALIVE", 0.01)
    monkeypatch.setitem(database_program.ACTIONS, "copy", slow)
    monkeypatch.setattr(database_program.sys, "stdin", types.SimpleNamespace(buffer=io.BytesIO(b'{"action": "copy"}\n')))
    before = threading.active_count()
    database_program.main()
    *signs, answer = capsys.readouterr().out.splitlines()
    assert len(signs) > 3 and not any(signs) and json.loads(answer)["size"]
    assert threading.active_count() == before


@pytest.mark.parametrize("lost", ["copy", "copy end"])
def test_a_copy_whose_answer_is_lost_does_not_stay_on_the_volume(volume, monkeypatch, lost):
    def ask(_volume, action, *, seconds=0, data=b"", **request):
        found = database_program.ACTIONS[action]({"action": action, **request})
        if action in lost:
            raise ClusterError(f"the answer to {action} was lost")
        return found

    monkeypatch.setattr(database.Volume, "ask", ask)
    with pytest.raises(ClusterError, match="answer to copy"), database.Copy(database.Volume(None, "flower", "superlink-0")):
        pass
    assert not list(volume.glob("*.backup*"))


def test_another_database_is_not_replaced(volume):
    assert "another database" in database_program.look({"size": 1, "sha256": "0"})["fault"]


def test_no_room_and_no_database(volume, monkeypatch):
    full = types.SimpleNamespace(f_bavail=1, f_frsize=4096)
    monkeypatch.setattr(database_program.os, "statvfs", lambda path: full)
    assert "4096 are free" in database_program.copy({})["fault"]
    moved(volume)
    assert "in memory" in database_program.copy({})["fault"]


def test_the_room_is_measured(volume, monkeypatch):
    monkeypatch.setattr(database_program.os, "statvfs", lambda path: types.SimpleNamespace(f_bavail=10, f_frsize=100))
    (volume / "state.db.backup").write_bytes(bytes(50))  # of a run that was killed; the next copy overwrites it
    found = database_program.measure({})
    assert found["free"] == 1050 and found["size"] >= (volume / "state.db").stat().st_size


@pytest.mark.parametrize(("arrived", "free", "fault"), [(0, 3000, True), (0, 4000, False), (4000, 0, False), (3000, 500, True), (9000, 0, False)])
def test_what_a_killed_run_left_behind_takes_no_room(volume, monkeypatch, arrived, free, fault):
    monkeypatch.setattr(database_program, "SPARE", 0)
    monkeypatch.setattr(database_program.os, "statvfs", lambda path: types.SimpleNamespace(f_bavail=free, f_frsize=1))
    (volume / "state.db.restore").write_bytes(bytes(arrived))
    for name in ("state.db.backup", "state.db.standby", "state.db.standby-wal"):
        (volume / name).write_bytes(b"half")
    assert ("fault" in database_program.look({"size": 4000, "sha256": "0", "replace": True})) is fault
    assert sorted(path.name for path in volume.glob("state.db.*")) == ["state.db.restore"]


def item(**meta):
    kept = {"name": "flower-ledger", "namespace": "hub", "labels": LABELS, "managedFields": OURS, **meta}
    return {"kind": "ConfigMap", "metadata": {**kept, "uid": "1", "resourceVersion": "2"}, "data": {"a": "b"}}


def test_only_the_hubs_own_objects_are_taken():
    assert hub_objects.of_hub(item(), "scenario")
    assert not hub_objects.of_hub(item(), "other")
    assert hub_objects.of_hub(item(managedFields=[{"manager": "kubectl"}]), "scenario"), "a CA key that someone has put back is used, too"
    assert not hub_objects.of_hub(item(labels={"app.kubernetes.io/instance": "scenario"}), "scenario")
    site = {**LABELS, "app.kubernetes.io/name": "supernode"}
    assert not hub_objects.of_hub(item(labels=site), "scenario")
    assert not hub_objects.of_hub(item(labels={**LABELS, "applyset.kubernetes.io/id": "x"}), "scenario")


def test_the_audit_trail_may_have_grown():
    labels = {**LABELS, "app.kubernetes.io/component": "audit"}
    log, longer, other = ({**item(name="flower-audit-00001", labels=labels), "data": {"log": text}} for text in ("a", "a b", "b"))
    assert hub_objects.continues(longer, log) and not hub_objects.continues(other, log)
    plain = {**item(), "data": {"a": "b c"}}
    assert not hub_objects.continues(plain, item())


def test_node_ports_are_kept():
    ports = [{"port": 443, "nodePort": 30443}]
    service = {**item(name="superlink"), "kind": "Service", "spec": {"type": "NodePort", "clusterIP": "10.0.0.1", "ports": ports}}
    assert hub_objects.of_hub(service, "scenario") and not hub_objects.is_applied(service)
    assert hub_objects.stored(service)["spec"] == {"type": "NodePort", "ports": ports}
    inner = {**service, "spec": {"type": "ClusterIP", "ports": [{"port": 443}]}}
    assert not hub_objects.of_hub(inner, "scenario")


def test_what_the_api_server_adds_is_not_stored():
    assert hub_objects.stored(item()) == {
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"},
        "metadata": {"name": "flower-ledger", "namespace": "hub", "labels": LABELS},
    }  # fmt: skip
    assert hub_objects.is_applied(item()) and not hub_objects.is_applied(item(managedFields=[]))


@each_row(("change", "words"), [
    ({"kind": "ClusterRole"}, "besides"),
    ({"metadata": {"name": "x", "namespace": "kube-system", "labels": LABELS}}, "other namespaces"),
    ({"metadata": {"name": "x", "namespace": "hub", "labels": {}}}, "not of the federation"),
])  # fmt: skip
def test_objects_that_a_restore_must_not_write(change, words):
    good = hub_objects.stored(item())
    assert hub_objects.fault([{"object": good, "applied": True}], ["hub"], "scenario") == ""
    assert words in hub_objects.fault([{"object": {**good, **change}, "applied": True}], ["hub"], "scenario")


def test_archives_that_do_not_fit(superlink_spec, tmp_path):
    spec = HubSpec.parse(superlink_spec())
    about = About(spec.federation, "hub-1", "20261124T010000Z", "0.1.0", spec.version)
    empty = {"namespace": spec.namespace, "ca_namespace": "ca", "database": {"size": 1000}, "objects": []}

    def faults(about=about, content=None, ca="ca", identity=""):
        return " ".join(hub_archive.errors(tmp_path, hub_archive.Proven(about, content or empty), spec, ca, identity))

    assert faults() == "" and faults(identity="hub-1") == ""
    assert "another hub" in faults(identity="hub-2")
    assert "flower_ca_namespace" in faults(ca="other")
    newer = About("other", "hub-1", "20261124T010000Z", "0.1.0", "99.0.0")
    assert "set flower_version to 99.0.0 or newer" in faults(newer) and "federation other" in faults(newer)
    assert "needs 10.0 GiB, and its volume would have 10Gi: set superlink_storage_size" in faults(content={**empty, "database": {"size": 10 * 2**30}})


def test_the_inventory_as_it_is_in_effect():
    known = {
        "hub": {"flower_namespace": "flower", "superlink_size": "1Gi", "ansible_user": "x", "flower_backup_identity": "AGE-SECRET-KEY-1", "__site_x": 1},
        "site-a": {"supernode_pools": [{"name": "cpu", "since": datetime.date(2026, 1, 1)}], "flower_api_key": ValueError("of a vault, with its secret")},
    }

    class Variables(dict):
        def __getitem__(self, name):
            if isinstance(found := super().__getitem__(name), Exception):
                raise found
            return found

    groups = {"all": ["hub", "site-a"], "region_eu": ["site-a"], "flower_sites": ["site-a"]}
    text = hub_archive.host_variables(known, groups, lambda host: Variables(known[host]), {"python": "3.11"})
    assert json.loads(text) == {
        "hosts": {
            "hub": {"groups": [], "variables": {"flower_namespace": "flower", "superlink_size": "1Gi"}},
            "site-a": {
                "groups": ["flower_sites", "region_eu"],
                "variables": {"supernode_pools": [{"name": "cpu", "since": "2026-01-01"}]},
                "not_known": {"flower_api_key": "ValueError"},
            },
        },
        "versions": {"python": "3.11"},
    }


@pytest.mark.parametrize("members", [["hub.json", "state.db"], ["hub.json", "inventory.json", "state.db"], ["hub.json", "other", "state.db"], ["hub.json"]])
def test_members_of_an_archive(tmp_path, members):
    key = pyrage.x25519.Identity.generate()
    about = About("flower", "hub-1", "20261124T010000Z", "0.1.0", "1.41.0")
    content = {"hub.json": hub_archive.described("flower", "ca", {"size": 3, "sha256": ""}, [])}
    made = [archive.member_of(name, content.get(name, b"abc")) for name in members]
    path = archive.write(tmp_path, about, made, [key.to_public()])
    if {"hub.json", "state.db"} <= set(members) and "other" not in members:
        assert hub_archive.proven(path, key).content["namespace"] == "flower"
    else:
        with pytest.raises(ClusterError, match="its members are"):
            hub_archive.proven(path, key)


def test_outputs_in_an_archive_of_an_earlier_release_are_not_restored(tmp_path, monkeypatch):
    """They have the names that apps chose. The rest of the archive is restored, and how to extract them is said."""
    key = pyrage.x25519.Identity.generate()
    about = About("flower", "hub-1", "20261124T010000Z", "0.1.0", "1.41.0")
    content = hub_archive.described("flower", "ca", {"size": 3, "sha256": ""}, [])
    members = {"hub.json": content, "state.db": b"abc", "outputs/11/Modell für Zürich.bin": b"model", "outputs/11/empty": b"", "outputs.json": b"{}"}
    made = [archive.member_of(name, data) for name, data in members.items()]
    with pytest.raises(ClusterError, match="cannot be a member of a backup"):
        archive.write(tmp_path, about, made, [key.to_public()])
    with monkeypatch.context() as patch:
        patch.setattr(archive, "_MEMBER", re.compile(".*"))
        path = archive.write(tmp_path, about, [archive.member_of(name, data) for name, data in members.items()], [key.to_public()])
    proven = hub_archive.proven(path, key)
    assert (proven.content["namespace"], proven.outputs) == ("flower", 2)
    words = hub_archive.outputs_warning(path, proven.outputs)
    assert "has 2 files of outputs of runs, which are not restored" in words and f"tar -xOf {path} archive.age | age -d -i KEY | tar -x outputs" in words
    payload = tmp_path / "payload.age"
    payload.write_bytes(subprocess.run(["tar", "-xOf", path, "archive.age"], capture_output=True, check=True).stdout)
    subprocess.run(["tar", "-x", "-C", tmp_path, "outputs"], input=pyrage.decrypt(payload.read_bytes(), [key]), check=True)
    assert (tmp_path / "outputs" / "11" / "Modell für Zürich.bin").read_bytes() == b"model"


def test_only_the_archive_that_is_meant_is_opened(tmp_path):
    """Whoever knows the public key can put another one into its place, with its checksum."""
    key = pyrage.x25519.Identity.generate()
    about = About("flower", "hub-1", "20261124T010000Z", "0.1.0", "1.41.0")

    def made(folder, namespace):
        folder.mkdir()
        content = hub_archive.described(namespace, "ca", {"size": 3, "sha256": ""}, [])
        members = [archive.member_of("hub.json", content), archive.member_of("state.db", b"abc")]
        return archive.write(folder, about, members, [key.to_public()])

    meant, forged = made(tmp_path / "meant", "flower"), made(tmp_path / "forged", "flower")
    wanted = hashlib.sha256(meant.read_bytes()).hexdigest()
    assert hub_archive.proven(forged, key).content["namespace"] == "flower", "nothing of it is wrong"
    assert hub_archive.proven(meant, key, wanted).about == hub_archive.proven(meant, key, wanted.upper()).about == about
    meant.with_name(f"{meant.name}.sha256").unlink()
    assert hub_archive.proven(meant, key, wanted).about == about
    for other in (wanted[:-1], "0" * 64, f"{wanted}  {meant.name}"):
        with pytest.raises(ClusterError, match=r"has the SHA-256 .*was given .flower_restore_sha256.. Choose another backup"):
            hub_archive.proven(meant, key, other)
    with pytest.raises(ClusterError, match="has the SHA-256 "):
        hub_archive.proven(forged, key, wanted)


def test_the_pod_has_the_volume_and_no_rights(superlink_spec):
    spec = HubSpec.parse(superlink_spec())
    body = volume_pod.pod(spec)["spec"]
    assert body["automountServiceAccountToken"] is False and body["serviceAccountName"] == "default"
    assert body["volumes"][0]["persistentVolumeClaim"] == {"claimName": volume_pod.claim(spec, "a")["metadata"]["name"]}
    assert body["containers"][0]["securityContext"]["readOnlyRootFilesystem"]


def test_only_a_claim_of_the_same_restore_is_written_to(superlink_spec):
    spec = HubSpec.parse(superlink_spec())
    assert volume_pod.claim_fault(None, "a") == "" == volume_pod.claim_fault(volume_pod.claim(spec, "a"), "a")
    assert "not replaced" in volume_pod.claim_fault(volume_pod.claim(spec, "b"), "a")


def test_a_standbys_database_is_replaced_with_all_that_lies_beside_it(volume, monkeypatch):
    """A former hub has a log of its own beside its database; with another database, it would be applied to that one."""
    facts = database_program.copy({"use": "standby"}) | {"replace": True}
    data = b"".join(base64.b64decode(database_program.send({"use": "standby", "offset": at, "size": 7000})["data"]) for at in range(0, facts["size"], 7000))
    database_program.end({"use": "standby"})
    with contextlib.closing(sqlite3.connect(volume / "state.db")) as database:
        database.execute("DELETE FROM node")
        database.commit()
        assert (volume / "state.db-wal").stat().st_size
        assert database_program.look(facts) == {"done": False}
        received(data, monkeypatch)
        assert database_program.finish(facts) == {}
        assert [path.name for path in volume.iterdir()] == ["state.db"]
    with contextlib.closing(sqlite3.connect(volume / "state.db")) as database:
        assert database.execute("SELECT count(*) FROM node").fetchone() == (1000,)


def test_a_stopped_hubs_database_is_copied_with_its_log(volume, tmp_path_factory):
    """The pod was killed: part of the database is in the log beside it."""
    other = tmp_path_factory.mktemp("killed")
    for path in volume.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    assert (other / "state.db-wal").stat().st_size
    moved(volume)
    for name in ("state.db", "state.db-wal"):
        (volume / name).write_bytes((other / name).read_bytes())
    facts = database_program.copy({"use": "standby"})
    assert "fault" not in facts
    with contextlib.closing(sqlite3.connect(volume / "state.db.standby")) as database:
        assert database.execute("SELECT count(*) FROM node").fetchone() == (1000,)


def test_the_record_of_a_hub_is_in_no_copy():
    assert not hub_objects.of_hub(item(name=hub_objects.TERM), "scenario")


def test_what_policies_of_the_cluster_demand(parsed_hub):
    spec = parsed_hub(pod_labels={"cost-center": "42"}, pod_annotations={"example.com/scan": "no"}, annotations={"example.com/owner": "x"})
    meta = volume_pod.pod(spec)["metadata"]
    assert meta["labels"]["cost-center"] == "42" and meta["labels"]["app.kubernetes.io/name"] == "superlink-restore"
    assert meta["annotations"] == {"example.com/scan": "no", "example.com/owner": "x"}


def test_nobody_is_online_in_a_copy(tmp_path, monkeypatch):
    """A SuperLink that takes over has heard of nobody: who counted as online for another minute would seem to have come back."""
    monkeypatch.setattr(database_program, "DATABASE", str(tmp_path / "state.db"))
    monkeypatch.setattr(database_program, "COPIES", {use: str(tmp_path / use) for use in database_program.COPIES})
    with contextlib.closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as database:
        database.execute("CREATE TABLE node (node_id INTEGER, online_until REAL)")
        database.execute("INSERT INTO node VALUES (1, 99999999999)")
        for use, wanted in (("standby", True), ("backup", False)):
            assert database_program.copy({"use": use})["size"]
            with contextlib.closing(sqlite3.connect(tmp_path / use)) as made:
                ((until,),) = made.execute("SELECT online_until FROM node")
            assert (until < 99999999999) == wanted
        assert database.execute("SELECT online_until FROM node").fetchone() == (99999999999,)
