# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Inputs of runs: named after their content, sent once, continued, verified, and never half-done under the final name."""

from __future__ import annotations

import os
import random
import tracemalloc
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import local_inputs, run_inputs, transfer
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_list import TooFull
from ansible_collections.federated.flower.plugins.plugin_utils.flower.run_inputs import Sending
from ansible_collections.federated.flower.plugins.plugin_utils.programs import outputs_program
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.outputs_pod import (
    noise,
    reader_of,
    tree,
    write,
)

MIB = 1024 * 1024


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(run_inputs, "PIECE", MIB)
    monkeypatch.setattr(transfer, "PAUSES", (0, 0, 0))


def sending(root, path, floor="0", said=None):
    return Sending(reader_of(root), local_inputs.load(str(path)), floor, (said if said is not None else []).append)


def written(work):
    """Everything is sent, and has no name yet."""
    work._write(work._compare({})[1], 0)


def inputs_of(root):
    return reader_of(root).list()[2]


@pytest.fixture
def folder(tmp_path):
    wanted = {"model.bin": noise(MIB + 17), "empty": b"", "a/b/c.json": b"{}", "ünicode": b"1", "exact": noise(MIB)}
    for name, data in wanted.items():
        write(tmp_path / "mine" / name, data)
    return tmp_path / "mine"


def test_a_folder_is_sent_once(root, folder):
    work = sending(root, folder)
    assert work.missing() == work.inputs.size and not (root / "inputs").exists(), "looking changes nothing"
    work.send()
    assert work.size == work.inputs.size
    there = root / work.inputs.place
    assert work.inputs.place == f"inputs/{work.inputs.name}"
    assert tree(there) == tree(folder)
    assert [path.name for path in (root / "inputs").iterdir()] == [work.inputs.name], "nothing is left of the work"
    assert not os.access(there / "model.bin", os.W_OK) or os.geteuid() == 0
    assert {path.stat().st_mode & 0o777 for path in there.rglob("*")} == {0o444, 0o555}
    again = sending(root, folder)
    assert again.missing() is None
    again.send()
    assert again.requests == 0


def test_the_name_follows_the_content(tmp_path):
    def name(path, data):
        return local_inputs.load(str(write(tmp_path / path, data))).name

    assert name("a/x", b"1") == name("b/x", b"1")
    assert len({name("a/x", b"1"), name("a/y", b"1"), name("a/x", b"2")}) == 3


@pytest.mark.parametrize("seed", range(2))
def test_a_connection_that_is_cut_is_continued(root, folder, seed):
    chance = random.Random(seed)
    write(folder / "large", noise(2 * MIB))
    said: list[str] = []
    work = sending(root, folder, said=said)
    hub = work.reader.cluster
    hub.send_cuts = [chance.randrange(1, MIB) for _cut in range(3)]
    work.send()
    assert tree(root / work.inputs.place) == tree(folder)
    assert sum("is continued, because hub: the connection was cut." in line for line in said) == 3
    assert work.size <= work.inputs.size + 3 * MIB and hub.sent < work.inputs.size + 3 * MIB + 30 * 64 * 1024, "what was there is not sent again"


def test_it_gives_up_and_continues_the_next_time(root, folder):
    work = sending(root, folder)
    work.reader.cluster.cuts = [0] * 9
    with pytest.raises(FlowerError, match=r"nothing was submitted.*run this again to continue"):
        work.send()
    first = sending(root, folder)
    written(first)
    listed = inputs_of(root)
    assert [(one.whole, one.name) for one in listed] == [(False, first.inputs.name)]
    last = sending(root, folder)
    assert last.missing() == 0
    last.send()
    assert last.size == 0 and [one.whole for one in inputs_of(root)] == [True]


def changed_content(there):
    (there / "exact").chmod(0o644)
    (there / "exact").write_bytes(noise(MIB, 2))


def more_files(there):
    there.chmod(0o755)
    write(there / "foreign")


def a_link(there):
    there.chmod(0o755)
    (there / "link").symlink_to("/etc/passwd")


@pytest.mark.parametrize("change", [changed_content, more_files, a_link])
def test_what_an_app_changed_is_sent_again(root, folder, change):
    work = sending(root, folder)
    work.send()
    change(root / work.inputs.place)
    again = sending(root, folder)
    assert 0 < again.missing() <= again.inputs.size
    again.send()
    assert tree(root / again.inputs.place) == tree(folder)


def test_what_is_handed_over_with_them_is_marked_with_each_piece(root, folder):
    write(root / "7/model")
    work = Sending(reader_of(root), local_inputs.load(str(folder)), "0", [].append, "7")
    mark = root / ".used-7"
    assert work.missing() and not mark.exists(), "looking changes nothing"
    asked, ask = [], work.reader.ask

    def watched(request, *given, **more):
        answer = ask(request, *given, **more)
        asked.append((request["do"], mark.stat().st_mtime > 10**9))
        os.utime(mark, (0, 0))
        return answer

    work.reader.ask = watched
    work.send()
    assert len(asked) > 3 and {what for what, _marked in asked} == {"files", "write", "finish"} and all(marked for _what, marked in asked)


def test_a_file_that_changes_while_it_is_sent(root, folder):
    for data in (noise(MIB, 4), b"", noise(2 * MIB, 5)):
        work = sending(root, folder)
        write(folder / "exact", data)
        with pytest.raises(FlowerError, match=r"nothing was submitted, because .*exact is changed while it is sent"):
            work.send()
    assert not any(one.whole for one in inputs_of(root))


def test_no_room(root, folder):
    with pytest.raises(
        TooFull, match=r"too little free space for the inputs .*superlink_outputs_min_free.*flower_outputs=prune"
    ):
        sending(root, folder, floor="1000Ti").send()
    with pytest.raises(TooFull):
        sending(root, folder, floor="1000Ti").missing()


def test_what_others_write_meanwhile_does_not_take_the_room_of_runs(root, folder):
    write(root / "7/checkpoint")
    work = sending(root, folder)
    work._write({"empty": 0}, 0)
    with pytest.raises(TooFull, match=r"became full while .*superlink_outputs_min_free.*is deleted there"):
        work._write(work._compare({})[1], 2**60)  # as if others had written since
    assert list((root / "inputs").iterdir()) == [] and (root / "7/checkpoint").exists()


def test_others_that_fill_the_volume_do_not_keep_what_is_there_from_being_used(root, folder):
    sending(root, folder).send()
    again = sending(root, folder, floor="1000Ti")
    again.send()
    assert again.requests == 0


@pytest.mark.parametrize("step", ["write", "finish"])
def test_another_sender_of_the_same_finishes_meanwhile(root, folder, step):
    work, others = sending(root, folder), [sending(root, folder)]
    ask = work.reader.ask

    def watched(request, *given, **more):
        if request["do"] == step and others:
            others.pop().send()
        return ask(request, *given, **more)

    work.reader.ask = watched
    work.send()
    assert tree(root / work.inputs.place) == tree(folder)
    assert [path.name for path in (root / "inputs").iterdir()] == [work.inputs.name]


def test_inputs_that_are_deleted_while_they_are_sent_are_sent_again(root, folder):
    work = sending(root, folder)
    ask, gone = work.reader.ask, [1]

    def watched(request, *given, **more):
        if request["do"] == "finish" and gone.pop():
            gone.append(0)
            reader_of(root).delete([], [work.inputs.name])
        return ask(request, *given, **more)

    work.reader.ask = watched
    work.send()
    assert tree(root / work.inputs.place) == tree(folder) and work.size == 2 * work.inputs.size


def test_inputs_are_no_run_and_can_be_deleted(root, folder):
    write(root / "7/model")
    work = sending(root, folder)
    work.send()
    reader = reader_of(root)
    _room, runs, (found,) = reader.list()
    assert [one.name for one in runs] == ["7"]
    assert (found.name, found.files, found.size, found.whole) == (work.inputs.name, 5, work.inputs.size, True)
    assert reader.delete([], [found.name, "0" * 64]) == {}
    assert inputs_of(root) == [] and (root / "7/model").exists() and list((root / "inputs").iterdir()) == []
    assert reader_of(root / "7").delete([], [found.name]) == {}, "without the folder there is nothing to delete"


def test_inputs_that_were_handed_to_a_run_since_the_list_was_made_stay(root, folder):
    work = sending(root, folder)
    work.send()
    reader = reader_of(root)
    (found,) = inputs_of(root)
    os.utime(root / "inputs" / found.name, (found.used + 1, found.used + 1))  # as the offer for a run does
    refused = {found.name: "it was handed to another run meanwhile"}
    assert reader.delete([], [found.name], {found.name: found.used}) == refused and len(inputs_of(root)) == 1
    assert reader.delete([], [found.name], {found.name: found.used + 1}) == {} and inputs_of(root) == []


@pytest.mark.parametrize("name", ["..", "", "A" * 64, "1" * 63])
def test_inputs_have_a_name_that_is_a_hash(root, name):
    with pytest.raises(ClusterError, match="ended with code 1"):
        reader_of(root).delete([], [name])


def test_memory(root, tmp_path):
    file = write(tmp_path / "large", noise(12 * MIB))
    work = sending(root, file)
    tracemalloc.start()
    work.send()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * MIB, "a few pieces, not the file"


def test_there_are_signs_of_life_while_files_are_hashed(root, folder, monkeypatch, capsys):
    monkeypatch.setattr(outputs_program, "_BEAT", 1)
    home = os.open(folder, os.O_RDONLY)
    outputs_program.sha256(home, "model.bin", 2 * MIB)
    os.close(home)
    assert capsys.readouterr().out == "\n" * 5, "one for each quarter of a MiB"
    work, heard, silences = sending(root, folder), [], []
    run = work.reader.cluster.exec
    work.reader.cluster.exec = lambda *given, silence, **more: silences.append(silence) or run(*given, **more)
    work.reader.inputs(work.inputs.name, work.inputs.size, lambda: heard.append(1), {})
    assert heard and silences == [90]


def test_what_takes_long_says_so(root, folder, monkeypatch):
    said: list[str] = []
    monkeypatch.setattr(transfer, "STEADY", 0.0)
    given = local_inputs.load(str(folder), said.append)
    assert said[-1] == f"inputs {folder}: their SHA-256 are computed, since 0 s"
    work = Sending(reader_of(root), given, "0", said.append)
    work.missing()
    assert said[-1] == f"inputs {folder}: the hub compares them, since 0 s"
    work.send()
    assert any(line.endswith(" sent, of 2.0 MiB in all") for line in said)


def test_what_cannot_be_sent(tmp_path):
    for path, words in (
        (tmp_path / "nothing", "does not exist"),
        (tmp_path, "has no files"),
        (Path("/dev/null"), "neither"),
    ):
        with pytest.raises(FlowerError, match=words):
            local_inputs.load(str(path))
    write(tmp_path / "one/back\\slash")
    with pytest.raises(FlowerError, match="backslashes"):
        local_inputs.load(str(tmp_path / "one"))
    write(tmp_path / "two/x")
    (tmp_path / "two/folder").symlink_to(tmp_path / "one")
    with pytest.raises(FlowerError, match="symbolic link to a folder"):
        local_inputs.load(str(tmp_path / "two"))
    (tmp_path / "two/folder").unlink()
    os.mkfifo(tmp_path / "two/pipe")
    with pytest.raises(FlowerError, match="not a regular file"):
        local_inputs.load(str(tmp_path / "two"))


def test_hidden_files_are_not_sent_by_accident(root, tmp_path):
    mine = tmp_path / "mine"
    write(mine / "model.bin")
    for name in (".git/config", ".git/a/b", ".env", "data/.cache/.token"):
        write(mine / name)
    with pytest.raises(FlowerError, match=r"hidden files or folders, .*: \.env, \.git, data/\.cache\. Remove them"):
        local_inputs.load(str(mine))
    for number in range(5):
        write(mine / f".{number}")
    with pytest.raises(FlowerError, match=r"\.4 and 3 more\. Remove"):
        local_inputs.load(str(mine))
    assert local_inputs.load(str(mine / ".env")).place.endswith("/.env"), "named by the user"


def test_as_deep_as_the_hub_reads(root, tmp_path):
    most = outputs_program.DEEPEST - 1
    write(tmp_path / "in" / "/".join("d" * most) / "x")
    work = sending(root, tmp_path / "in")
    work.send()
    assert tree(root / work.inputs.place) == tree(tmp_path / "in")
    write(tmp_path / "in" / "/".join("d" * (most + 1)) / "x")
    with pytest.raises(FlowerError, match=f"it is in a folder within {outputs_program.DEEPEST} others"):
        local_inputs.load(str(tmp_path / "in"))


def test_as_many_as_the_hub_reads(root, tmp_path, monkeypatch):
    names = ["a/1", "a/2", "b/c/3", "4"]  # and the folders a, b, b/c
    for name in names:
        write(tmp_path / "in" / name)
    monkeypatch.setattr(local_inputs, "MOST", 7)
    monkeypatch.setattr(local_inputs, "LONGEST", 17)
    assert sorted(local_inputs.load(str(tmp_path / "in")).files) == sorted(names)
    monkeypatch.setattr(local_inputs, "LONGEST", 16)
    with pytest.raises(FlowerError, match="or 16 characters in their names; pack them"):
        local_inputs.load(str(tmp_path / "in"))
    monkeypatch.setattr(local_inputs, "MOST", 6)
    with pytest.raises(FlowerError, match="more than 6 files and folders, or"):
        local_inputs.load(str(tmp_path / "in"))


def test_a_link_to_a_file_is_its_content(root, tmp_path):
    write(tmp_path / "blob", b"blob")
    (tmp_path / "in").mkdir()
    (tmp_path / "in/model").symlink_to(tmp_path / "blob")
    write(tmp_path / "in/flower-outputs.json", b"{}")
    work = sending(root, tmp_path / "in")
    work.send()
    assert tree(root / work.inputs.place) == {"model": b"blob", "flower-outputs.json": b"{}"}
