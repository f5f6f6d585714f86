# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a backup refuses before anything is copied, also in check mode, and what a restore says of a hub that is not empty."""

from __future__ import annotations

import json
import types
from types import SimpleNamespace

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.action import superlink_backup
from ansible_collections.federated.flower.plugins.plugin_utils.backup import archive, database, hub_archive
from ansible_collections.federated.flower.plugins.plugin_utils.backup.archive import About
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.spec.hub_spec import HubSpec
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.backup.two_hubs import Kept

OWNER, OTHER = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
GIB = 2**30


@pytest.fixture
def free(monkeypatch):
    """Bytes in the folder of the archives, of a hub with a database of 1 GiB."""
    seen = {"free": 4 * GIB, "total": 9 * GIB}
    monkeypatch.setattr(hub_archive, "about", lambda *_arguments: About("flower", "id", "20261124T010000Z", "1.0.0", "1.41.0"))
    monkeypatch.setattr(superlink_backup.namespaces, "resolve_ca_namespace", lambda *_arguments: "flower-ca")
    monkeypatch.setattr(database.Volume, "ask", lambda _volume, _action: {"size": GIB})
    monkeypatch.setattr(hub_archive.shutil, "disk_usage", lambda _folder: types.SimpleNamespace(**seen))
    return seen


def act(tmp_path, *, check=True, hub=None, variables=(), **given):
    action = object.__new__(superlink_backup.ActionModule)
    action.inventory_host = "hub"
    action._inventory = lambda *_arguments: b""
    action._task = SimpleNamespace(check_mode=check, no_log=False)
    action.connect = lambda: hub or Kept("hub")
    action.say = lambda _text: None
    params = {"namespace": "flower", "ca_namespace": "flower-ca", "federation": "flower", "directory": str(tmp_path), **given}
    return action.execute(action._checked(action.ARGS, action.SPEC, {"recipients": [str(OWNER.to_public())], **params}, ""), dict.fromkeys(variables))


@pytest.mark.parametrize("check", [True, False])
def test_too_little_room_is_told_before_the_disk_is_full(tmp_path, free, check):
    assert "would write" in act(tmp_path)["msg"]
    free["free"] = GIB // 2
    with pytest.raises(ClusterError, match=r"flower_backup_directory: the archive needs 1\.0 GiB, and 512 MiB are free"):
        act(tmp_path, check=check)
    free.update(free=0, total=0)
    assert "would write" in act(tmp_path)["msg"], "a file system that tells nothing"


@pytest.mark.parametrize("check", [True, False])
def test_a_key_of_someone_else_is_told_before_hours_are_spent(tmp_path, free, check):
    assert "would write" in act(tmp_path, identity=str(OWNER))["msg"]
    with pytest.raises(ClusterError, match="flower_backup_identity does not open"):
        act(tmp_path, check=check, identity=str(OTHER))


def test_a_backup_with_outputs_is_refused_and_the_other_ways_are_named(tmp_path, free):
    with pytest.raises(ClusterError, match=r"hub: flower_backup_outputs was removed: a backup and a standby have no outputs .* federated\.flower\.outputs"):
        act(tmp_path, variables=["flower_backup_outputs", "flower_namespace"])


def test_archives_with_a_key_that_is_lost_stay(tmp_path, free, monkeypatch):
    """The CA is not asked every day: its Secret may be gone for weeks, and the archives that have it are removed one by one."""
    hub = Kept("hub")
    for day in (1, 2, 3):
        about = About("flower", "id", f"202611{day:02}T010000Z", "1.0.0", "1.41.0")
        archive.write(tmp_path, about, [], [OWNER.to_public()])
    path = tmp_path / about.file_name
    found = ["flower-ca", "flower-client-ca"]
    monkeypatch.setattr(hub_archive, "write", lambda *_arguments: (path, 1, 1, found))
    monkeypatch.setattr(hub_archive, "about", lambda *_arguments: about)
    assert len(act(tmp_path, check=False, keep=2, hub=hub)["removed"]) == 1
    found.remove("flower-ca")
    for _night in range(2):
        with pytest.raises(ClusterError, match="which lacks flower-ca: .* delete the ConfigMap flower/flower-backup, and run again"):
            act(tmp_path, check=False, keep=1, hub=hub)
    assert len(list(tmp_path.glob("*.tar"))) == 2
    assert json.loads(hub.objects["ConfigMap", "flower-backup"]["data"]["ledger.json"])["archive"] == path.name
    del hub.objects["ConfigMap", "flower-backup"]
    assert len(act(tmp_path, check=False, keep=1, hub=hub)["removed"]) == 1


def test_a_restore_writes_nothing_to_the_audit_trail_before_it_has_restored_that(superlink_spec, monkeypatch):
    """An entry would begin another trail, beside which that of the archive is refused: also by every further attempt."""
    noted, spec = [], HubSpec.parse(superlink_spec(namespace="flower"))
    proven = SimpleNamespace(about=SimpleNamespace(file_name="a.tar"), content={"objects": [], "database": {"size": 1}}, outputs=0)
    monkeypatch.setattr(superlink_backup, "given_spec", lambda *_arguments: spec)
    namespaces = [{"kind": "Namespace", "name": "flower", "change": "created"}]
    monkeypatch.setattr(superlink_backup, "apply_objects", lambda *_arguments, **_more: SimpleNamespace(objects=namespaces))
    monkeypatch.setattr(superlink_backup.cluster_platform, "known", lambda _hub, platform: platform)
    monkeypatch.setattr(superlink_backup.namespaces, "resolve_ca_namespace", lambda *_arguments: "flower-ca")
    monkeypatch.setattr(superlink_backup.serving, "require", lambda *_arguments, **_more: [])
    monkeypatch.setattr(superlink_backup.hub_archive, "proven", lambda *_arguments: proven)
    monkeypatch.setattr(superlink_backup.hub_archive, "errors", lambda *_arguments: [])
    monkeypatch.setattr(superlink_backup.hub_objects, "missing", lambda *_arguments: [])
    monkeypatch.setattr(superlink_backup.ActionModule, "_refuse_hub", lambda *_arguments: False)

    def attempt(restore):
        monkeypatch.setattr(superlink_backup.hub_objects, "restore", restore)
        action = object.__new__(superlink_backup.ActionModule)
        action.inventory_host, action.connect = "hub", lambda: Kept("hub")
        action._task, action.note = SimpleNamespace(check_mode=False), lambda **facts: noted.append(facts)
        action.params = {"state": "restored", "archive": "a.tar", "identity": str(OWNER), "sha256": "", "ca_namespace": "flower-ca", "wait_timeout": 1}
        assert action.make_lease_namespace(Kept("hub"))
        return action._restore(action.params)

    def refused(*_arguments, **_more):
        raise ClusterError("the volume claim exceeds a quota")

    with pytest.raises(ClusterError, match="quota"):
        attempt(refused)
    assert noted == []
    done = [{"kind": "Secret", "namespace": "flower", "name": "flower-ca", "change": "created"}]
    assert attempt(lambda *_arguments, **_more: SimpleNamespace(objects=done, database=True))["changed"]
    assert len(noted) == 2 and len(list(noted[0]["objects"])) == 2


@pytest.mark.parametrize("has_claim", [True, False])
def test_that_emptying_a_hub_deletes_its_outputs_is_said(superlink_spec, monkeypatch, has_claim):
    monkeypatch.setattr(superlink_backup, "inspect_namespace", lambda *_arguments, **_more: None)
    hub = Kept("hub")
    hub.put_hub()
    if not has_claim:
        del hub.objects["PersistentVolumeClaim", "superlink-outputs"]
    spec = HubSpec.parse(superlink_spec(namespace="flower"))
    with pytest.raises(ClusterError, match="delete the hub's namespaces first") as caught:
        superlink_backup.ActionModule._refuse_hub(hub, spec, "flower-ca", "a.tar")
    assert ("the outputs of runs, which backups do not contain. Fetch them first" in caught.value.message) is has_claim
