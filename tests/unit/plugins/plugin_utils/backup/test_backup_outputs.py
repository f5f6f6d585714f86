# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Outputs of runs, from a volume into an archive and onto another volume: folders take the place of volumes."""

from __future__ import annotations

import io
import json
import os
import subprocess
import tarfile
import types

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import (
    archive_writer,
    hub_archive,
    output_choice,
    output_members,
    output_restore,
)
from ansible_collections.federated.flower.plugins.plugin_utils.backup.about import About
from ansible_collections.federated.flower.plugins.plugin_utils.backup.output_choice import Choice
from ansible_collections.federated.flower.plugins.plugin_utils.backup.volume_files import Files, batches
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.programs import files_program
from ansible_collections.federated.flower.tests.unit.volume_folder import Place, content, written

ALL = Choice(True)
KEY = pyrage.x25519.Identity.generate()


@pytest.fixture
def volumes(tmp_path, monkeypatch):
    """That of the hub, and that of the one that gets the backup. Pieces are small."""
    monkeypatch.setattr(batches, "__defaults__", (1000,))
    monkeypatch.setattr(output_restore, "PIECE", 700)
    made = []
    for name in ("hub", "emptied"):
        (tmp_path / name).mkdir()
        made.append(Place(tmp_path / name, monkeypatch))
    return made


def archived(place, tmp_path, choice=ALL, during=lambda path: None):
    """An archive with outputs; C(during) is called before each of them is asked for."""
    chosen = output_choice.chosen(place.files(), choice, "hub")

    def members():
        yield archive_writer.member_of(hub_archive.HUB, hub_archive.described("flower", "ca", {"size": 3, "sha256": ""}, []))
        yield archive_writer.member_of(hub_archive.DATABASE, b"abc")
        for member in output_members.Outputs(place, chosen, lambda text: None).members():
            during(member.name)
            yield member

    about = About("flower", "hub-1", "20261124T010000Z", "0.1.0", "1.41.0")
    (tmp_path / "archives").mkdir(exist_ok=True)
    return archive_writer.write(tmp_path / "archives", about, members(), [KEY.to_public()]), chosen


def restored(place, path):
    return output_restore.put(place, path, KEY, hub_archive.proven(path, KEY).outputs, lambda text: None)


def fill(hub):
    """Outputs of two runs, and what is none."""
    written(hub, "11/model.npz", os.urandom(3500))
    written(hub, "11/metrics/round-1.json", b"{}")
    written(hub, "11/Modell für Zürich.bin", os.urandom(10), when=-5_000_000_001)
    written(hub, "11/empty", b"")
    written(hub, "12/empty", b"")
    written(hub, ".began-12", b"{}")
    none = {"inputs/" + "a" * 64 + "/table.csv": b"1,2", "stray": b"x", ".began-x": b"", "notes/a": b""}
    for path, data in none.items():
        written(hub, path, data)
    return none


@pytest.mark.parametrize(("value", "choice"), [
    (False, Choice(False)), (None, Choice(False)), ("", Choice(False)), ("no", Choice(False)), ([], Choice(False)),
    (True, ALL), ("True", ALL), ("yes", ALL), (1, ALL),
    (8234567890123456789, Choice(True, ("8234567890123456789",))), ("11, 12,11", Choice(True, ("11", "12"))), ([11, "12"], Choice(True, ("11", "12"))),
])  # fmt: skip
def test_what_is_asked_for(value, choice):
    assert output_choice.choice_of(value) == choice


@pytest.mark.parametrize("value", ["all", "11;12", "../x", ["11", "true"], {"a": 1}, -3])
def test_what_cannot_be_asked_for(value):
    with pytest.raises(ClusterError, match="flower_backup_outputs: .*neither true"):
        output_choice.choice_of(value)


def test_outputs_come_back_as_they_were(volumes, tmp_path):
    hub, emptied = volumes
    none = fill(hub)
    path, chosen = archived(hub, tmp_path)
    assert chosen.words.startswith("6 files of outputs of 2 runs") and not chosen.left_out
    done = restored(emptied, path)
    assert content(emptied) == {name: data for name, data in content(hub).items() if name not in none}
    times = [(place.folder / "11" / name).stat().st_mtime_ns for place in volumes for name in ("model.npz", "Modell für Zürich.bin")]
    assert times[:2] == times[2:]
    assert (done.files, done.there, done.kept) == (6, 0, [])
    again = restored(emptied, path)
    assert (again.files, again.there, again.kept) == (0, 6, [])
    assert not (emptied.folder / files_program.STAGING).exists()


def test_outputs_of_some_runs(volumes, tmp_path):
    hub, emptied = volumes
    fill(hub)
    path, chosen = archived(hub, tmp_path, Choice(True, ("12",)))
    restored(emptied, path)
    assert set(content(emptied)) == {"12/empty", ".began-12"} and chosen.runs == ["12"]
    with pytest.raises(ClusterError, match="run 13 has no outputs on hub"):
        archived(hub, tmp_path, Choice(True, ("12", "13")))


def test_people_read_them_with_tar(volumes, tmp_path):
    hub, _emptied = volumes
    fill(hub)
    path, _chosen = archived(hub, tmp_path)
    said = subprocess.run(["tar", "-xOf", path, "archive.age"], capture_output=True, check=True).stdout
    with tarfile.open(fileobj=io.BytesIO(pyrage.decrypt(said, [KEY]))) as inner:
        assert inner.extractfile("outputs/11/model.npz").read() == (hub.folder / "11/model.npz").read_bytes()
        assert inner.getmember("outputs/11/model.npz").mtime == 1_700_000_000


@pytest.mark.parametrize("change", ["grows", "shrinks", "goes"])
def test_a_file_that_changes_meanwhile_is_left_out(volumes, tmp_path, change):
    hub, emptied = volumes
    for name in "abc":
        written(hub, f"11/{name}", b"x" * 3000)

    def during(name):
        if name != "outputs/11/b":
            return
        if change == "goes":
            (hub.folder / "11/b").unlink()
        else:
            written(hub, "11/b", b"x" * (5000 if change == "grows" else 100), when=1_800_000_000_000_000_000)

    path, chosen = archived(hub, tmp_path, during=during)
    assert chosen.left_out == {"11/b": output_members.CHANGED}
    restored(emptied, path)
    assert set(content(emptied)) == {"11/a", "11/c"}


def test_what_cannot_be_in_it_is_told(volumes, tmp_path):
    hub, emptied = volumes
    written(hub, "11/good", b"x")
    written(hub, "11/line\nfeed", b"x")
    (hub.folder / "11/link").symlink_to("/etc/passwd")
    os.mkfifo(hub.folder / "11/pipe")
    path, chosen = archived(hub, tmp_path)
    assert set(chosen.left_out) == {"11/line?feed", "11/link", "11/pipe"}
    restored(emptied, path)
    assert set(content(emptied)) == {"11/good"}


def test_what_is_on_the_volume_stays(volumes, tmp_path):
    hub, emptied = volumes
    for name in ("same", "touched", "other", "longer", "link", "folder", "below/a", "new"):
        written(hub, f"11/{name}", b"of the backup")
    path, _chosen = archived(hub, tmp_path)
    written(emptied, "11/same", b"of the backup")
    written(emptied, "11/touched", b"of the backup", when=5)
    written(emptied, "11/other", b"of the volume", when=5)
    written(emptied, "11/longer", b"of the volume, longer")
    written(emptied, "11/folder/x", b"")
    written(emptied, "11/below", b"")
    (emptied.folder / "11/link").symlink_to("same")
    before = content(emptied)
    done = restored(emptied, path)
    assert done.kept == ["11/below/a", "11/folder", "11/link", "11/longer", "11/other"]
    assert (done.files, done.there) == (1, 2) and "5 not written" in done.words
    assert content(emptied) == before | {"11/new": b"of the backup"}
    assert (emptied.folder / "11/link").is_symlink()


def test_an_interrupted_restore_is_completed(volumes, tmp_path, monkeypatch):
    hub, emptied = volumes
    for name in "abcd":
        written(hub, f"11/{name}", os.urandom(1500))
    path, _chosen = archived(hub, tmp_path)
    asked = Place.ask

    def broken(self, action, data=b"", **request):
        if action == "unpack" and any(piece[0] == "11/c" for piece in request["pieces"]):
            raise ClusterError("the connection broke")
        return asked(self, action, data, **request)

    with monkeypatch.context() as patch:
        patch.setattr(Place, "ask", broken)
        with pytest.raises(ClusterError, match="broke"):
            restored(emptied, path)
    there = len(content(emptied))
    done = restored(emptied, path)
    assert content(emptied) == content(hub) and done.files + done.there == 4 and done.there >= 1 and there >= 1


def test_no_room(volumes, tmp_path, monkeypatch):
    hub, emptied = volumes
    written(hub, "11/a", b"x" * 5000)
    path, _chosen = archived(hub, tmp_path)
    monkeypatch.setattr(files_program.os, "fstatvfs", lambda root: types.SimpleNamespace(f_bavail=1, f_frsize=4096))
    with pytest.raises(ClusterError, match="superlink_outputs_size"):
        restored(emptied, path)
    assert content(emptied) == {}


def test_a_connection_that_breaks_leaves_no_archive(volumes, tmp_path, monkeypatch):
    hub, _emptied = volumes
    written(hub, "11/a", b"x" * 5000)
    asked = Place.ask

    def broken(self, action, data=b"", **request):
        if action == "pack":
            raise ClusterError("the connection broke")
        return asked(self, action, data, **request)

    monkeypatch.setattr(Place, "ask", broken)
    with pytest.raises(ClusterError, match="broke"):
        archived(hub, tmp_path)
    assert list((tmp_path / "archives").iterdir()) == []


@pytest.mark.parametrize("index", [b"[]", b"{}", b'{"files": {"11/a": [2, 7, ""]}}', b'{"files": {"11/b": [1, 7, ""]}}', b'{"files": {"11/a": 7}}', None])
def test_a_list_that_is_not_of_these_members(tmp_path, index):
    made = [
        archive_writer.member_of(hub_archive.HUB, hub_archive.described("flower", "ca", {"size": 3, "sha256": ""}, [])),
        archive_writer.member_of(hub_archive.DATABASE, b"abc"),
        archive_writer.member_of("outputs/11/a", b"x"),
        *([archive_writer.member_of(output_members.INDEX, index)] if index else []),
    ]
    path = archive_writer.write(tmp_path, About("flower", "hub-1", "20261124T010000Z", "0.1.0", "1.41.0"), made, [KEY.to_public()])
    with pytest.raises(ClusterError, match="contradicts itself about the outputs"):
        hub_archive.proven(path, KEY)


@pytest.mark.parametrize("name", ["outputs/../x", "outputs//x", "outputs/", "outputs/a\nb", "outputs/./a"])
def test_names_that_no_member_has(name):
    assert not archive_writer.is_member_name(name) and archive_writer.is_member_name("outputs/11/Modell für Zürich.bin")


def test_more_names_than_an_archive_lists(monkeypatch):
    monkeypatch.setattr(output_choice, "LONGEST", 1000)
    found = Files(known={f"11/{number}": (1, 1) for number in range(10)})
    with pytest.raises(ClusterError, match="10 files of outputs"):
        output_choice.chosen(found, ALL, "hub")


def test_little_is_in_memory(volumes, tmp_path):
    """No request has more than a batch."""
    hub, emptied = volumes
    written(hub, "11/large", os.urandom(20_000))
    path, _chosen = archived(hub, tmp_path)
    restored(emptied, path)
    packed = [sum(piece[2] for piece in request["pieces"]) for action, request in hub.asked if action == "pack"]
    unpacked = [sum(piece[2] for piece in request["pieces"]) for action, request in emptied.asked if action == "unpack"]
    assert max(packed) <= 1000 and max(unpacked) <= 700 and sum(packed) == sum(unpacked) == 20_000
    assert json.loads(json.dumps(list(content(emptied)))) == ["11/large"]
