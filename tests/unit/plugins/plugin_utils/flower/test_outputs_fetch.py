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

from ansible_collections.federated.flower.plugins.plugin_utils.flower import outputs_fetch, outputs_staging
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_fetch import Changed, Fetching
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_frames import Frames
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import checked
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unreachable
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
    monkeypatch.setattr(outputs_fetch, "PAUSES", (0, 0, 0, 0, 0))


def fetching(reader, home, run=RUN, said=None):
    return Fetching(reader, run, reader.contents(run), home, (said if said is not None else []).append)


def fetch(reader, home, run=RUN, **facts):
    return fetching(reader, home, run).fetch(facts)


def test_everything_comes_home_with_a_list(root, home):
    wanted = {"model.bin": noise(3 * MIB + 17), "empty": b"", "rounds/1/metrics.json": b"{}", "ünicode": b"1"}
    for name, data in wanted.items():
        write(root / RUN / name, data)
    found = fetch(reader_of(root), home, app="me/app 1.0.0", fab_hash="abc", sites=["site-a"])
    assert found.changed and found.attempts == 1 and found.path == str(home / RUN)
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
    assert not again.changed and again.sha256 == first.sha256 and again.received == 0
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
    reader.cluster.cuts = [chance.randrange(1, max(total // 3, 2)) for _cut in range(3)]
    found = work.fetch({})
    assert found.attempts == 4
    there = tree(home / RUN)
    del there["flower-outputs.json"]
    assert there == wanted
    assert found.received <= total + 4 * 256 * 1024, "what was there is not sent again"


def test_what_was_fetched_before_an_interruption_is_continued(root, home, monkeypatch):
    write(root / RUN / "a", noise(MIB))
    write(root / RUN / "b", noise(2 * MIB, 2))
    reader = reader_of(root)
    work = fetching(reader, home)
    reader.cluster.cuts = [MIB + MIB // 2 + 1000, 0, 0, 0, 0, 0]
    with pytest.raises(FlowerError, match=r"1 of 2 files are there, .*run this again to continue"):
        work.fetch({})
    assert not (home / RUN).exists() and (home / f".{RUN}.part").is_dir()
    found = fetch(reader_of(root), home)
    assert found.received < 2 * MIB
    assert (home / RUN / "a").read_bytes() == noise(MIB) and (home / RUN / "b").read_bytes() == noise(2 * MIB, 2)


def test_a_beginning_of_something_else_is_not_continued(root, home):
    write(root / RUN / "a", noise(MIB))
    reader = reader_of(root)
    work = fetching(reader, home)
    with work.staging.taken():
        work.staging.partial_of("a").write_bytes(noise(MIB // 2, 9))
        write(work.staging.files / "gone", b"of an earlier attempt")
        write(work.staging.files / "old/gone", b"of an earlier attempt")
    found = work.fetch({})
    assert found.received == MIB
    assert set(tree(home / RUN)) == {"a", "flower-outputs.json"}
    assert not (home / RUN / "old").exists()


def test_a_verified_file_that_changed_on_the_hub_is_fetched_again(root, home):
    write(root / RUN / "a", noise(MIB))
    write(root / RUN / "b", noise(MIB, 2))
    reader = reader_of(root)
    reader.cluster.cuts = []
    work = fetching(reader, home)
    reader.cluster.cuts = [MIB + 1000, 0, 0, 0, 0, 0]
    with pytest.raises(FlowerError):
        work.fetch({})
    write(root / RUN / "a", noise(MIB, 3))
    fetch(reader_of(root), home)
    assert (home / RUN / "a").read_bytes() == noise(MIB, 3)


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
    with pytest.raises(FlowerError, match=f"{words}.*Move it away, or choose another directory"):
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
    with pytest.raises(FlowerError, match="exists and is not what the outputs are now"):
        fetch(reader_of(root), home)


def test_what_appears_meanwhile_stays(root, home, monkeypatch):
    write(root / RUN / "a", b"12345")
    work = fetching(reader_of(root), home)
    finish = work.staging.finish
    monkeypatch.setattr(work.staging, "finish", lambda facts: (write(home / RUN / "mine"), finish(facts)))
    with pytest.raises(FlowerError, match="it appeared while they were fetched"):
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
        monkeypatch.setattr(outputs_staging.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(FlowerError, match=why):
        fetch(reader_of(root), home)
    assert list(elsewhere.iterdir()) == [] and not (home / RUN).exists()


def test_a_folder_that_is_exchanged_meanwhile_leads_nowhere_else(root, home):
    """As in a folder without the sticky bit, where everyone may rename everything."""
    write(root / RUN / "sub/authorized_keys", b"key")
    work = fetching(reader_of(root), home)
    elsewhere = home.parent / "elsewhere"
    elsewhere.mkdir()
    room = work.staging.refuse_too_little_room

    def exchange(sizes):
        room(sizes)
        work.staging.folder.rename(home / "aside")
        (work.staging.folder / "files").mkdir(parents=True)
        (work.staging.folder / "partial").mkdir()
        (work.staging.folder / "files/sub").symlink_to(elsewhere)

    work.staging.refuse_too_little_room = exchange
    work.fetch({})
    assert list(elsewhere.iterdir()) == [] and (home / RUN / "sub/authorized_keys").read_bytes() == b"key"


def test_errors_name_folders_as_people_know_them(root, home, monkeypatch):
    write(root / RUN / "a", b"1")
    work = fetching(reader_of(root), home)

    def full(*_args, **_more):
        raise OSError(errno.EIO, "Input/output error", str(work.staging.files / "a"))

    monkeypatch.setattr(work.staging, "begin", lambda *_args: None)
    with pytest.raises(FlowerError) as failure, work.staging.taken(), work.staging.faults("write a"):
        full()
    assert failure.value.message == f"cannot write a in {home}: Input/output error"
    assert work.staging.files == home / f".{RUN}.part/files", "no number of an open folder is left"


def test_two_at_once_do_not_mix(root, home):
    write(root / RUN / "a")
    work = fetching(reader_of(root), home)
    with work.staging.taken(), pytest.raises(FlowerError, match="another process is fetching"):
        fetch(reader_of(root), home)
    write(root / "7/a", b"7")
    assert fetch(reader_of(root), home, "7").changed and fetch(reader_of(root), home).changed
    assert ((home / "7/a").read_bytes(), (home / RUN / "a").read_bytes()) == (b"7", b"x")


def test_files_that_are_still_written_are_an_error(root, home):
    path = write(root / RUN / "a", noise(MIB))
    work = fetching(reader_of(root), home)
    write(path, noise(MIB + 1))
    with pytest.raises(Changed, match="a of run .* its size has changed. Something is still writing"):
        work.fetch({})
    path.unlink()
    with pytest.raises(Changed, match="a of run .*No such file"):
        work.fetch({})
    path.symlink_to("/etc/passwd")
    with pytest.raises(Changed):
        work.fetch({})
    assert not (home / RUN).exists()


class FullDisk:
    """A file system with so much room, in the place of C(os.write)."""

    def __init__(self, room: int) -> None:
        self.room = room
        self.write = os.write

    def __call__(self, file: int, data: bytes) -> int:
        if len(data) > self.room:
            raise OSError(errno.ENOSPC, "No space left on device")
        self.room -= len(data)
        return self.write(file, data)


def test_a_full_disk_of_the_control_node(root, home, monkeypatch):
    write(root / RUN / "a", noise(2 * MIB))
    with monkeypatch.context() as patched:
        patched.setattr(outputs_fetch.os, "write", FullDisk(MIB))
        with pytest.raises(
            FlowerError, match=r"the disk of the control node is full: cannot write a in .*make room and run this again"
        ):
            fetch(reader_of(root), home)
    assert not (home / RUN).exists()
    assert fetch(reader_of(root), home).received < 2 * MIB
    assert (home / RUN / "a").read_bytes() == noise(2 * MIB)


def test_too_little_room_is_noticed_before(root, home, monkeypatch):
    write(root / RUN / "a", noise(MIB))
    real = os.statvfs

    def small(path):
        seen = real(path)
        return os.statvfs_result((seen[0], 4096, seen[2], seen[3], 300, *seen[5:]))

    monkeypatch.setattr(outputs_staging.os, "statvfs", small)
    reader = reader_of(root)
    work = fetching(reader, home)
    with pytest.raises(FlowerError, match=r"too little room .*1.0 MiB are to be fetched, 1.2 MiB are free"):
        work.fetch({})
    assert reader.cluster.connections == 1, "only the list was read"


@pytest.mark.parametrize(
    "files",
    [
        [["../evil", 1]], [["/etc/passwd", 1]], [["a/../../b", 1]], [["a//b", 1]], [["", 1]], [["./a", 1]], [["a\0b", 1]],
        [["a", 1], ["a", 1]], [["a", 1], ["a/b", 1]], [["a", -1]], [["a", "1"]], [[7, 1]],
    ],
)  # fmt: skip
def test_paths_that_lead_elsewhere_are_refused(files):
    with pytest.raises(FlowerError, match="reader of outputs on hub named .*Nothing was fetched"):
        checked([{"files": files, "left_out": []}], "hub")


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("a" * 256, "too long"), ("/".join(["abcdefgh" * 20] * 30), "too long"), ("a/" * 40 + "b", "within"), ("\udcff", "not UTF-8"),
        ("a\u202eb", "control"), ("a\x1b[31m", "control"),
    ],
)  # fmt: skip
def test_names_that_are_not_written(path, why):
    found = checked([{"files": [[path, 1]], "left_out": []}], "hub")
    assert not found.sizes
    assert len(found.left_out) == 1
    name, reason = next(iter(found.left_out.items()))
    assert why in reason and len(name) <= 200 and "\x1b" not in name


def test_frames_are_cut_out_of_any_pieces():
    def frame(kind, data):
        return kind + len(data).to_bytes(4, "big") + data

    stream = b"".join((frame(b"J", b'{"a": 1}'), frame(b"D", b"data"), frame(b"J", b'{"done": true}'), b".\n"))
    for size in (1, 3, 7, 1000):
        frames = Frames("hub")
        pieces = [stream[start : start + size] for start in range(0, len(stream), size)]
        assert [one for piece in pieces for one in frames.feed(piece)] == [{"a": 1}, b"data", {"done": True}]
        assert frames.done


@pytest.mark.parametrize(
    "data", [b"X\0\0\0\1a", b"D\xff\xff\xff\xff", b"J\0\0\0\2[]", b"J\0\0\0\1{", b"Traceback (most"]
)
def test_what_is_no_frame_counts_as_lost(data):
    with pytest.raises(Unreachable, match="lost on the way"):
        list(Frames("hub").feed(data))


class Liar:
    """Sends frames that do not fit together."""

    name = "hub"

    def __init__(self, cluster, frames):
        self.cluster, self.frames = cluster, frames

    def exec(self, *args, on_stdout=None, **more):
        if on_stdout is None:
            return self.cluster.exec(*args, **more)
        for kind, data in self.frames:
            on_stdout(kind + len(data).to_bytes(4, "big") + data)
        raise Unreachable("hub: the connection was cut.")


@pytest.mark.parametrize(
    "frames",
    [
        [(b"D", b"data without a file")],
        [(b"J", b'{"file": 0, "start": 3, "size": 5}')],
        [(b"J", b'{"file": 4, "start": 0, "size": 5}')],
        [(b"J", b'{"file": 0, "start": 0, "size": 5}'), (b"D", b"123456")],
        [
            (b"J", b'{"file": 0, "start": 0, "size": 5}'),
            (b"D", b"12345"),
            (b"J", b'{"end": 0, "sha256": "0", "same": true}'),
        ],
        [(b"J", b'{"file": 0, "start": 0, "size": 5}'), (b"J", b'{"end": 0}')],
        [(b"J", b'{"file": [], "start": 0}')],
        [(b"J", b'{"done": true}')],
    ],
)
def test_frames_that_do_not_fit_never_make_outputs(root, home, frames):
    write(root / RUN / "a", b"12345")
    reader = reader_of(root)
    work = fetching(reader, home)
    reader.cluster = Liar(reader.cluster, frames)
    with pytest.raises(FlowerError, match="could not be fetched completely"):
        work.fetch({})
    assert not (home / RUN).exists()


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
    found = work.fetch({})
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.size == size and peak < 16 * MIB
    assert 0 < reader.cluster.peak < 64 * 1024, "KiB of the program"
