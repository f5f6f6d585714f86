# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The outputs of runs, from one volume to another: folders take the place of volumes, and the program that runs in pods is called here."""

from __future__ import annotations

import hashlib
import os

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup.volume_files import Files, batches
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.programs import files_program
from ansible_collections.federated.flower.plugins.plugin_utils.standby import outputs_copy
from ansible_collections.federated.flower.tests.unit.volume_folder import Place, content, written


@pytest.fixture
def volumes(tmp_path, monkeypatch):
    """That of the hub, and that of the standby."""
    made = []
    for name in ("hub", "standby"):
        (tmp_path / name).mkdir()
        made.append(Place(tmp_path / name, monkeypatch))
    return made


def copied(volumes, **more):
    return outputs_copy.copy(*volumes, lambda text: None, **more)


def test_everything_arrives_once(volumes, monkeypatch):
    hub, standby = volumes
    monkeypatch.setattr(batches, "__defaults__", (1000,))
    written(hub, "1/model.npz", os.urandom(3500))
    written(hub, "1/metrics/round-1.json", b"{}")
    written(hub, "1/empty", b"")
    written(hub, "inputs/" + "a" * 64 + "/table.csv", b"1,2")
    written(hub, ".began-1", b"{}")
    done = copied(volumes)
    assert content(standby) == content(hub) and not (standby.folder / ".arriving").exists()
    assert (done.files, done.size, done.removed, done.left, done.changing) == (5, 3507, 0, 0, 0)
    assert (standby.folder / "1/model.npz").stat().st_mtime_ns == 1_700_000_000_123_456_789
    again = copied(volumes)
    assert not again.changed and again.size == 0


def test_what_changed_is_replaced_and_what_is_gone_is_removed(volumes):
    hub, standby = volumes
    written(hub, "1/a", b"old")
    written(hub, "1/b/c", b"gone")
    copied(volumes)
    written(hub, "1/a", b"new", when=1_700_000_001_000_000_000)
    (hub.folder / "1/b/c").unlink()
    (hub.folder / "1/b").rmdir()
    written(hub, "1/b", b"a file in place of a folder")
    done = copied(volumes)
    assert content(standby) == content(hub) and (done.files, done.removed) == (2, 1)


def test_links_are_neither_followed_nor_kept(volumes, tmp_path):
    hub, standby = volumes
    (tmp_path / "secret").write_text("secret")
    written(hub, "1/a", b"x")
    (hub.folder / "1/link").symlink_to(tmp_path / "secret")
    (hub.folder / "2").symlink_to(tmp_path)
    os.mkfifo(hub.folder / "1/pipe")
    (standby.folder / "1").symlink_to(tmp_path)  # a former hub, whose apps left that
    done = copied(volumes)
    assert content(standby) == {"1/a": b"x"} and done.left == 3
    assert (tmp_path / "secret").read_text() == "secret" and not (tmp_path / "a").exists()


def test_a_file_that_shrinks_follows_with_the_next_copy(volumes, monkeypatch):
    hub, standby = volumes
    written(hub, "1/a", b"long enough")
    written(hub, "1/b", b"stays")
    listed = hub.files()
    written(hub, "1/a", b"short")
    monkeypatch.setattr(Place, "files", lambda self: listed if self is hub else Files())
    done = copied(volumes)
    assert content(standby) == {"1/b": b"stays"} and (done.files, done.changing) == (1, 1)


@pytest.mark.parametrize(("times", "there", "changing"), [(1, b"b" * 2500, 0), (9, b"former", 1)])
def test_two_versions_of_a_file_are_never_mixed(volumes, monkeypatch, times, there, changing):
    hub, standby = volumes
    monkeypatch.setattr(batches, "__defaults__", (1000,))
    written(standby, "1/model", b"former")
    written(hub, "1/model", b"a" * 2500)
    ask, versions = Place.ask, iter(b"bcdefghij"[:times])

    def while_an_app_writes(self, action, data=b"", **request):
        answers = ask(self, action, data, **request)
        if action == "pack" and (one := next(versions, None)):
            written(hub, "1/model", bytes([one]) * 2500, when=1_700_000_001_000_000_000 + one)
        return answers

    monkeypatch.setattr(Place, "ask", while_an_app_writes)
    done = copied(volumes)
    assert content(standby) == {"1/model": there} and done.changing == changing


@pytest.mark.parametrize("free", [2**40, 0])
def test_what_replaces_a_checkpoint_is_there_before_it_is_removed(volumes, monkeypatch, free):
    hub, standby = volumes
    for place, number in ((hub, 6), (standby, 5)):
        written(place, f"1/round-{number}.npz", b"weights")
    seen, ask = [], Place.ask

    def watched(self, action, data=b"", **request):
        if action == "room":
            return [{"free": free}]
        if self is standby and action == "unpack":
            seen.append(sorted(content(standby)))
        return ask(self, action, data, **request)

    monkeypatch.setattr(Place, "ask", watched)
    done = copied(volumes)
    assert seen == [["1/round-5.npz"] if free else []], "only where there is no room for both, it goes first"
    assert content(standby) == {"1/round-6.npz": b"weights"} and (done.removed, done.kept) == (1, 0)


def test_a_checkpoint_stays_while_the_next_one_is_being_written(volumes, monkeypatch):
    hub, standby = volumes
    written(hub, "1/round-6.npz", b"half")
    for path in ("1/round-5.npz", "2/old"):
        written(standby, path, b"weights")
    listed = hub.files()
    written(hub, "1/round-6.npz", b"half and more")
    monkeypatch.setattr(Place, "files", lambda self, real=Place.files: listed if self is hub else real(self))
    done = copied(volumes)
    assert content(standby) == {"1/round-5.npz": b"weights"} and (done.changing, done.removed) == (1, 1)


def test_locked_folders_are_opened(volumes):
    """Inputs are locked by the collection, and apps lock what they like. The programs' user owns both; root would not notice."""
    hub, standby = volumes
    for path in ("inputs/a/x", "inputs/a/y", "inputs/b/z"):
        written(standby, path, b"old")
    written(hub, "inputs/a/x", b"new", when=1_700_000_001_000_000_000)
    for path in ("inputs/a/x", "inputs/a/y", "inputs/b/z", "inputs/a", "inputs/b", "inputs"):
        (standby.folder / path).chmod(0o555)
    done = copied(volumes)
    assert content(standby) == {"inputs/a/x": b"new"} and (done.removed, done.kept) == (2, 0)
    assert (standby.folder / "inputs/a").stat().st_mode & 0o700 == 0o700


def test_what_cannot_be_removed_is_said(volumes, monkeypatch):
    _hub, standby = volumes
    written(standby, "1/a", b"x")

    def refuse(*_arguments, **_more):
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(files_program.os, "unlink", refuse)
        done = copied(volumes)
    assert (done.removed, done.kept, done.changed) == (1, 1, False) and "1 that cannot be removed" in done.words


def test_a_request_that_is_repeated_has_the_same_effect(volumes):
    _hub, standby = volumes
    first, last = b"x" * 10, b"y" * 5

    def unpack(data, offset):
        pieces = [["1/a", offset, len(data), 15, 7]]
        return standby.ask("unpack", data, pieces=pieces, sha256=hashlib.sha256(data).hexdigest())

    for data, offset in ((first, 0), (first, 0), (last, 10), (last, 10)):
        assert unpack(data, offset) == [{}]
    assert content(standby) == {"1/a": first + last}
    with pytest.raises(ClusterError, match="is missing"):
        standby.ask("unpack", last, pieces=[["1/b", 10, 5, 15, 7]], sha256=hashlib.sha256(last).hexdigest())


def test_what_arrives_damaged_is_not_written(volumes):
    _hub, standby = volumes
    with pytest.raises(ClusterError, match="did not arrive"):
        standby.ask("unpack", b"y", pieces=[["1/a", 0, 1, 1, 7]], sha256=hashlib.sha256(b"x").hexdigest())
    assert content(standby) == {}


@pytest.mark.parametrize("path", ["../x", "/x", "a//b", "a/./b", ""])
def test_a_path_that_leads_somewhere_else_is_refused(volumes, path):
    with pytest.raises(ValueError, match="not a path"):
        volumes[1].ask("unpack", b"", pieces=[[path, 0, 0, 0, 7]], sha256=hashlib.sha256(b"").hexdigest())


def test_what_is_passed_over(volumes):
    hub, standby = volumes
    for path in (".deleted-1-x/a", "lost+found/a", ".snapshot/daily.0/1/model", ".arriving/a", "1/lost+found"):
        written(hub, path, b"x")
    copied(volumes)
    assert content(standby) == {"1/lost+found": b"x"}


def test_there_is_a_limit(volumes, monkeypatch):
    monkeypatch.setattr(files_program, "MOST", 2)
    for name in "abc":
        written(volumes[0], name, b"")
    with pytest.raises(ClusterError, match="more than 2 files"):
        copied(volumes)


def test_what_others_have_on_a_claim_of_the_user_stays(volumes):
    """Without the mend, the first copy emptied a share that the standby's superlink_outputs_claim is on."""
    hub, standby = volumes
    run, gone = "13164552291825540154", "9915798441516665790"
    written(hub, f"{run}/model.npz", b"weights")
    written(hub, "latest/model.npz", b"weights")
    ours = [f"{gone}/model.npz", f".began-{gone}", "inputs/" + "a" * 64 + "/table.csv", "latest/former.npz"]
    theirs = ["README", "2024/scans.csv", "thesis/chapter-1.tex", ".began-2024"]
    for path in [*ours, *theirs]:
        written(standby, path, b"former")
    (standby.folder / "thesis/link").symlink_to("chapter-1.tex")
    done = copied(volumes, shared=True)
    assert sorted(content(standby)) == sorted([f"{run}/model.npz", "latest/model.npz", *theirs, "thesis/link"])
    assert (done.removed, done.foreign) == (4, 5) and "5 on the standby's own claim that no run has written stay" in done.words
    assert not copied(volumes, shared=True).changed


def test_two_claims_with_one_storage_lose_nothing(tmp_path, monkeypatch):
    """An export that both clusters mount: what an app wrote after the hub's files were listed was removed, as if it were gone."""
    hub, standby = (Place(tmp_path, monkeypatch) for _end in range(2))
    run = "13164552291825540154"
    written(hub, f"{run}/round-1.npz", b"weights")
    files = Place.files

    def while_an_app_writes(self):
        found = files(self)
        written(hub, f"{run}/round-2.npz", b"weights")
        return found

    monkeypatch.setattr(Place, "files", while_an_app_writes)
    copied([hub, standby])
    assert sorted(content(hub)) == [f"{run}/round-1.npz"], "so it is asked first whether the two are one"
    written(hub, f"{run}/round-2.npz", b"weights")
    done = copied([hub, standby], shared=True)
    assert done.same and not done.changed and "same storage" in done.words
    assert sorted(content(hub)) == [f"{run}/round-1.npz", f"{run}/round-2.npz"]
