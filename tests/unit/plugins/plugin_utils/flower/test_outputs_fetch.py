# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Fetching outputs: complete, verified, continued, and never half-done under the final name."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import random
import tracemalloc

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import outputs_fetch, transfer
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_fetch import Fetching
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_list import parse_contents
from ansible_collections.federated.flower.plugins.plugin_utils.kube.streams import ExecResult
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.outputs_pod import (
    noise,
    reader_of,
    tree,
    write,
)

MIB = 1024 * 1024
RUN = "13164552291825540154"


@pytest.fixture
def home(tmp_path):
    return tmp_path / "home"


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch):
    monkeypatch.setattr(transfer, "PAUSES", (0, 0, 0, 0, 0))


def fetching(reader, home, run=RUN, said=None):
    return Fetching(reader, run, home, (said if said is not None else []).append)


def fetch(reader, home, run=RUN, **facts):
    work = fetching(reader, home, run)
    work.fetch(facts)
    return work


def test_everything_comes_home_with_a_list(root, home):
    wanted = {"model.bin": noise(3 * MIB + 17), "empty": b"", "rounds/1/metrics.json": b"{}", "ünicode": b"1"}
    for name, data in wanted.items():
        write(root / RUN / name, data)
    found = fetch(reader_of(root), home, app="me/app 1.0.0", fab_hash="abc", sites=["site-a"])
    assert found.changed and found.attempts == 1 and found.target == home / RUN
    there = tree(home / RUN)
    manifest = json.loads(there.pop("flower-outputs.json"))
    assert there == wanted
    assert manifest["files"] == {
        name: {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()} for name, data in wanted.items()
    }
    assert (manifest["run_id"], manifest["app"], manifest["sites"]) == (RUN, "me/app 1.0.0", ["site-a"])
    assert [path.name for path in home.iterdir()] == [RUN], "nothing is left of the work"


def test_a_second_time_nothing_changes(root, home):
    write(root / RUN / "model", noise(MIB))
    first = fetch(reader_of(root), home)
    before = {path: path.stat().st_mtime_ns for path in home.rglob("*")}
    again = fetch(reader_of(root), home)
    assert not again.changed and again.listed == first.listed and again.received == 0
    assert {path: path.stat().st_mtime_ns for path in home.rglob("*")} == before


@pytest.mark.parametrize("seed", range(5))
def test_a_connection_that_is_cut_is_continued(root, home, seed):
    chance = random.Random(seed)
    wanted = {f"{number}.bin": noise(chance.randrange(0, 3 * MIB), number) for number in range(4)}
    for name, data in wanted.items():
        write(root / RUN / name, data)
    reader = reader_of(root)
    work = fetching(reader, home)
    total = sum(map(len, wanted.values()))
    reader.cluster.cuts = [10, None, *(chance.randrange(1, max(total // 3, 2)) for _cut in range(3))]  # the list with hashes is cut as well
    work.fetch({})
    assert work.attempts == 4
    there = tree(home / RUN)
    del there["flower-outputs.json"]
    assert there == wanted
    assert work.received == total, "what was there is not sent again"


def test_what_was_fetched_before_an_interruption_is_continued(root, home, monkeypatch):
    write(root / RUN / "a", noise(MIB))
    write(root / RUN / "b", noise(2 * MIB, 2))
    reader = reader_of(root)
    work = fetching(reader, home)
    reader.cluster.cuts = [None, MIB + MIB // 2, 0, 0, 0, 0, 0, 0]
    with pytest.raises(FlowerError, match=r"1 of 2 files are there, .*run this again to continue"):
        work.fetch({})
    assert not (home / RUN).exists() and (home / f".{RUN}.part").is_dir()
    found = fetch(reader_of(root), home)
    assert found.received == 3 * MIB // 2
    assert (home / RUN / "a").read_bytes() == noise(MIB) and (home / RUN / "b").read_bytes() == noise(2 * MIB, 2)


def test_what_is_there_and_is_not_the_same_is_read_anew(root, home):
    write(root / RUN / "a", noise(MIB))
    write(root / RUN / "b", noise(MIB, 2))
    staged = home / f".{RUN}.part/files"
    for name, data in {"a": noise(MIB // 2, 9), "b": noise(MIB, 3), "gone": b"1", "old/gone": b"1", "a.d/x": b"1"}.items():
        write(staged / name, data)
    write(staged / "flower-outputs.json")
    for folder in (home / f".{RUN}.part", staged):
        folder.chmod(0o700)
    found = fetch(reader_of(root), home)
    assert found.received == 5 * MIB // 2 and found.attempts == 2
    there = tree(home / RUN)
    assert set(there) == {"a", "b", "flower-outputs.json"} and (there["a"], there["b"]) == (noise(MIB), noise(MIB, 2))
    assert sorted(path.name for path in (home / RUN).iterdir()) == ["a", "b", "flower-outputs.json"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda folder: write(folder / "a", b"other"), "a has other content"),
        (lambda folder: write(folder / "a", b"longer than before"), "a has another size"),
        (lambda folder: write(folder / "mine"), "it has mine, which is not among the outputs"),
        (lambda folder: (folder / "a").unlink(), "a is missing in it"),
        (lambda folder: (folder / "flower-outputs.json").unlink(), "it was created by something else"),
    ],
)
def test_nothing_is_overwritten(root, home, change, words):
    write(root / RUN / "a", b"12345")
    fetch(reader_of(root), home)
    change(home / RUN)
    before = tree(home)
    with pytest.raises(FlowerError, match=f"{words}.*Move it, or choose another directory"):
        fetch(reader_of(root), home)
    assert tree(home) == before


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_what_has_the_name_already_stays(root, home, kind):
    write(root / RUN / "a", b"12345")
    home.mkdir()
    if kind == "file":
        (home / RUN).write_text("mine")
    elif kind == "link":
        (home / RUN).symlink_to("nowhere")
    else:
        write(home / RUN / "mine")
    with pytest.raises(FlowerError, match="exists and differs from the current outputs"):
        fetch(reader_of(root), home)


def test_what_appears_meanwhile_stays(root, home, monkeypatch):
    write(root / RUN / "a", b"12345")
    work = fetching(reader_of(root), home)
    finish = work._finish
    monkeypatch.setattr(work, "_finish", lambda facts: (write(home / RUN / "mine"), finish(facts)))
    with pytest.raises(FlowerError, match="it was created while they were fetched"):
        work.fetch({})
    assert set(tree(home / RUN)) == {"mine"}


def planted(home, kind):
    """What someone else has left where the outputs of a run are put together; a folder elsewhere that is of the user who fetches."""
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    part = home / f".{RUN}.part"
    place = {"files": part / "files", "partial": part / "partial", "below": part / "files/a", "deep": part / "files/a/b", "unknown": part / "else"}.get(kind)
    if kind == "all":
        home.mkdir()
        part.symlink_to(elsewhere)
    elif place is not None:
        place.parent.mkdir(parents=True)
        place.symlink_to(elsewhere)
    else:
        (part / "files").mkdir(parents=True)
    for folder, mode in ((home, 0o1777), (part, 0o700)) if kind != "all" else ():
        folder.chmod(mode)
    if kind in ("group", "world"):
        part.chmod({"group": 0o770, "world": 0o707}[kind])
    return elsewhere


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("all", "cannot make folders"),
        ("files", "has a symbolic link, files,"),
        ("partial", "has a symbolic link, partial,"),
        ("below", "has a symbolic link, files/a,"),
        ("deep", "has a symbolic link, files/a/b,"),
        ("unknown", "has a symbolic link, else,"),
        ("group", "can be written to by other users"),
        ("world", "can be written to by other users"),
        ("owner", "belongs to another user"),
    ],
)
def test_a_folder_that_others_prepared_is_refused(root, home, monkeypatch, kind, why):
    write(root / RUN / "a/b/authorized_keys", b"key")
    elsewhere = planted(home, kind)
    if kind == "owner":
        monkeypatch.setattr(outputs_fetch.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(FlowerError, match=why):
        fetch(reader_of(root), home)
    assert list(elsewhere.iterdir()) == [] and not (home / RUN).exists()


def test_a_folder_that_is_exchanged_meanwhile_leads_nowhere_else(root, home):
    """As in a folder without the sticky bit, where everyone may rename everything."""
    write(root / RUN / "sub/authorized_keys", b"key")
    work = fetching(reader_of(root), home)
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    clear = work._remove_stale

    def exchange():
        clear()
        work.folder.rename(home / "aside")
        (work.folder / "files").mkdir(parents=True)
        (work.folder / "files/sub").symlink_to(elsewhere)

    work._remove_stale = exchange
    work.fetch({})
    assert list(elsewhere.iterdir()) == [] and (home / RUN / "sub/authorized_keys").read_bytes() == b"key"


def test_errors_name_folders_as_people_know_them(root, home):
    work = fetching(reader_of(write(root / RUN / "a").parents[1]), home)
    with pytest.raises(FlowerError) as failure, work._staging(), work._faults("write a"):
        raise OSError(errno.EIO, "Input/output error", str(work.files / "a"))
    assert failure.value.message == f"cannot write a in {home}: Input/output error"
    assert work.files == home / f".{RUN}.part/files", "no number of an open folder is left"


def test_two_at_once_do_not_mix(root, home):
    write(root / RUN / "a")
    work = fetching(reader_of(root), home)
    with work._staging(), pytest.raises(FlowerError, match="another process is fetching"):
        fetch(reader_of(root), home)
    write(root / "7/a", b"7")
    assert fetch(reader_of(root), home, "7").changed and fetch(reader_of(root), home).changed
    assert ((home / "7/a").read_bytes(), (home / RUN / "a").read_bytes()) == (b"7", b"x")


def test_names_that_are_the_same_for_the_file_system_are_an_error(root, home, monkeypatch):
    write(root / RUN / "a")
    monkeypatch.setattr(outputs_fetch, "_files_below", lambda _folder: set())
    with pytest.raises(FlowerError, match="two files of the run have the same name a"):
        fetch(reader_of(root), home)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda path: write(path, noise(MIB, 2)), "a: it was changed"),
        (lambda path: write(path, b"short"), "a: it was changed"),
        (lambda path: path.unlink(), "a: No such file"),
        (lambda path: (path.unlink(), path.symlink_to("/etc/passwd")), "a: "),
        (lambda path: (path.unlink(), os.mkfifo(path)), "a: it was changed"),
        (lambda path: (path.parent.rename(root_of(path) / "aside"), path.parent.symlink_to(root_of(path) / "aside")), "a: "),
    ],
)
def test_a_file_that_changes_after_it_was_hashed_is_an_error(root, home, change, why):
    path = write(root / RUN / "a", noise(MIB))
    work = fetching(reader_of(root), home)
    read = work._read
    work._read = lambda offsets: (change(path), read(offsets))
    with pytest.raises(FlowerError, match=f"{why}.*Something is still writing"):
        work.fetch({})
    assert not (home / RUN).exists()


def root_of(path):
    return path.parents[1]


def test_a_full_disk_of_the_control_node(root, home, monkeypatch):
    write(root / RUN / "a", noise(2 * MIB))

    class Full:
        """A file on a disk with room for a MiB."""

        def __init__(self, path, *_mode, **_options):
            self.file = open(path, "ab", buffering=0)  # noqa: SIM115

        def __enter__(self):
            return self

        def __exit__(self, *_error):
            self.file.close()

        def write(self, data):
            if self.file.tell() + len(data) > MIB:
                raise OSError(errno.ENOSPC, "No space left on device")
            return self.file.write(data)

    with monkeypatch.context() as patched:
        patched.setattr(outputs_fetch, "open", Full, raising=False)
        with pytest.raises(FlowerError, match=r"the disk of the control node is full: cannot write a in .*free space and run this again"):
            fetch(reader_of(root), home)
    assert not (home / RUN).exists()
    assert fetch(reader_of(root), home).received == MIB
    assert (home / RUN / "a").read_bytes() == noise(2 * MIB)


def test_too_little_room_is_noticed_before(root, home, monkeypatch):
    write(root / RUN / "a", noise(MIB))
    real = os.statvfs

    def small(path):
        seen = real(path)
        return os.statvfs_result((seen[0], 4096, seen[2], seen[3], 300, *seen[5:]))

    monkeypatch.setattr(outputs_fetch.os, "statvfs", small)
    reader = reader_of(root)
    work = fetching(reader, home)
    with pytest.raises(FlowerError, match=r"too little free space .*1.0 MiB are to be fetched, 1.2 MiB are free"):
        work.fetch({})
    assert reader.cluster.connections == 1, "only the list was read"


HEAD = {"room": {"size": 1, "free": 1}, "began": {}}


@pytest.mark.parametrize(
    "files",
    [
        [["../evil", 1]], [["/etc/passwd", 1]], [["a/../../b", 1]], [["a//b", 1]], [["", 1]], [["./a", 1]], [["a\0b", 1]],
        [["a", 1], ["a", 1]], [["a", 1], ["a/b", 1]], [["a", -1]], [["a", "1"]], [[7, 1]],
    ],
)  # fmt: skip
def test_paths_that_lead_elsewhere_are_refused(files):
    with pytest.raises(FlowerError, match="reader of outputs on hub named .*Nothing was fetched"):
        parse_contents([HEAD, *({"file": [*one, 1, ""]} for one in files)], "hub")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a" * 256, "too long"), ("/".join(["abcdefgh" * 20] * 30), "too long"), ("a/" * 40 + "b", "within"), ("\udcff", "not UTF-8"),
        ("a\u202eb", "control"), ("a\x1b[31m", "control"),
    ],
)  # fmt: skip
def test_names_that_are_not_written(path, why):
    found = parse_contents([HEAD, {"file": [path, 1, 1, ""]}], "hub")
    assert not found.files
    assert len(found.left_out) == 1
    name, reason = next(iter(found.left_out.items()))
    assert why in reason and len(name) <= 200 and "\x1b" not in name


class Liar:
    """A hub whose answers to C(read) are others."""

    name = "hub"

    def __init__(self, cluster, data, rc=0):
        self.cluster, self.data, self.rc, self.asked = cluster, data, rc, 0

    def exec(self, *args, stdin, on_stdout, **more):
        if json.loads(stdin.splitlines()[1])["do"] != "read":
            return self.cluster.exec(*args, stdin=stdin, on_stdout=on_stdout, **more)
        self.asked += 1
        on_stdout(self.data)
        return ExecResult(b"", b"Traceback\x1b[2J", self.rc)


@pytest.mark.parametrize(
    ("data", "rc", "words"),
    [
        (b"", 0, "a part was lost in transit"),
        (b"123", 0, "a part was lost in transit"),
        (b"12346.\n", 0, "a part was lost in transit"),
        (b"1" * 10_000, 0, "sent more than was requested"),
        (b"", 1, r"ended with code 1: Traceback\?\[2J"),
    ],
)
def test_bytes_that_do_not_fit_never_make_outputs(root, home, data, rc, words):
    write(root / RUN / "a", b"12345")
    reader = reader_of(root)
    work = fetching(reader, home)
    reader.cluster = Liar(reader.cluster, data, rc)
    with pytest.raises(FlowerError, match=f"could not be fetched completely: .*{words}"):
        work.fetch({})
    assert not (home / RUN).exists() and reader.cluster.asked <= 8
    assert all(len(found) <= 5 for found in tree(home).values())


def test_memory_does_not_depend_on_the_size(root, home):
    size = 96 * MIB
    with open(root / "big", "wb") as stream:
        for number in range(size // MIB):
            stream.write(noise(MIB, number))
    (root / RUN).mkdir()
    (root / "big").rename(root / RUN / "big")
    reader = reader_of(root)
    work = fetching(reader, home)
    tracemalloc.start()
    work.fetch({})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert work.listed["big"]["size"] == size and peak < 16 * MIB
    assert 0 < reader.cluster.peak < 64 * 1024, "KiB of the program"
