# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the reader of outputs sees, sends and deletes, of folders that apps may have filled with anything."""

from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.programs import outputs_program as program
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.outputs_pod import reader_of, write


def test_runs_are_folders_with_numbers(root):
    write(root / "7/model.bin", b"12345")
    write(root / "12/a/b/c.txt", b"1")
    write(root / "lost+found/x")
    write(root / "9")
    (root / "8").symlink_to(root / "7")
    room, stored, inputs = reader_of(root).list()
    assert [(one.name, one.files, one.size) for one in stored] == [("7", 1, 5), ("12", 1, 1)]
    assert inputs == [] and room.size >= room.free > 0 and room.floor == 512 * 2**20


def test_nothing_but_regular_files_is_taken(root, tmp_path, monkeypatch):
    secret = write(tmp_path / "secret", b"secret")
    write(root / "7/good")
    (root / "7/link").symlink_to(secret)
    (root / "7/folder").symlink_to(tmp_path)
    os.mkfifo(root / "7/pipe")
    monkeypatch.chdir(root / "7")  # the address of a socket is short
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("socket")
    found = reader_of(root).contents("7")
    assert found.sizes == {"good": 1}
    assert {path: why.removeprefix("it is ") for path, why in found.left_out.items()} == {
        "link": "a symbolic link", "folder": "a symbolic link", "pipe": "a named pipe", "socket": "a socket",
    }  # fmt: skip


def test_the_list_of_files_has_a_limit(root, monkeypatch):
    for name in "abc":
        write(root / "7" / (name * 100))
    for limit, most, words in ((250, 9, "or 250 characters"), (1000, 2, "more than 2 files")):
        monkeypatch.setattr(program, "LONGEST", limit)
        monkeypatch.setattr(program, "MOST", most)
        found = list(walked(root, "7"))
        assert [why == "" for _path, _seen, why in found] == [True, True, False] and words in found[-1][2]


def walked(root, run):
    """What the program finds."""
    top = os.open(root, os.O_RDONLY)
    yield from program.walk(program.opened(top, run))
    os.close(top)


def test_links_are_not_followed_when_a_file_is_opened(root, tmp_path):
    write(tmp_path / "secret/file", b"secret")
    (root / "7").mkdir()
    (root / "7/inside").symlink_to(tmp_path / "secret")
    (root / "7/file").symlink_to(tmp_path / "secret/file")
    os.mkfifo(root / "7/pipe")
    top = os.open(root, os.O_RDONLY)
    for path in ("inside/file", "file"):
        with pytest.raises(OSError):
            program.opened(top, f"7/{path}", program._FILE)
    with os.fdopen(program.opened(top, "7/pipe", program._FILE), "rb") as pipe:
        assert not program.is_same(pipe.fileno(), 0, os.fstat(pipe.fileno()).st_mtime_ns)
    os.close(top)


def test_names_that_are_hard_to_write_are_left_out(root):
    for name in (b"\xff\xfe", b"new\nline", b"back\\slash", b"\xe2\x80\xaegnp.exe"):
        write(Path(os.fsdecode(os.fsencode(root / "7") + b"/" + name)))
    write(root / "7/fine ünicode.txt")
    write(root / "7/flower-outputs.json")
    found = reader_of(root).contents("7")
    assert set(found.files) == {"fine ünicode.txt"}
    assert len(found.left_out) == 5 and not any("\n" in path for path in found.left_out)


@pytest.mark.parametrize("run", ["..", "../etc", "7/..", "", "٧"])
def test_a_run_is_a_number(root, run):
    with pytest.raises(ClusterError, match="ended with code 1"):
        reader_of(root).delete([run])


def test_delete(root, tmp_path):
    outside = write(tmp_path / "outside/file")
    write(root / "7/a/b/c")
    (root / "7/link").symlink_to(outside)
    (root / "7/dir").symlink_to(outside.parent)
    os.mkfifo(root / "7/pipe")
    write(root / "8/x")
    reader = reader_of(root)
    assert reader.delete(["7", "9"]) == {}
    assert sorted(path.name for path in root.iterdir()) == ["8"]
    assert outside.exists()
    assert reader.delete(["7"]) == {}, "a second time it is gone already"


def test_what_was_handed_to_a_run_since_it_was_listed_is_not_deleted(root):
    write(root / "7/x")
    write(root / "9/x")
    reader = reader_of(root)
    used = {one.name: one.used for one in reader.list()[1]}
    assert reader.use("7") and not reader.use("8")
    assert reader.delete(["7", "9"], used=used) == {"7": "it was handed to another run meanwhile"}
    assert (root / "7/x").exists() and not (root / "9").exists()
    used = {one.name: one.used for one in reader.list()[1]}
    assert reader.delete(["7"], used=used) == {} and not (root / "7").exists()


def test_delete_what_is_read_only_and_deep(root):
    write(root / "7/a/b/c")
    for path in (root / "7/a/b", root / "7/a", root / "7"):
        path.chmod(0o500)
    here = os.open(root, os.O_RDONLY)
    os.mkdir("8", dir_fd=here)
    inner = os.open("8", os.O_RDONLY, dir_fd=here)
    for _level in range(1500):  # deeper than a path can name, and than Python recurses
        os.mkdir("d", dir_fd=inner)
        below = os.open("d", os.O_RDONLY, dir_fd=inner)
        os.close(inner)
        inner = below
    os.close(inner)
    os.close(here)
    assert reader_of(root).delete(["7", "8"]) == {}
    assert list(root.iterdir()) == []


def test_what_was_deleted_in_part_is_no_run_and_goes_with_the_next(root):
    write(root / ".deleted-7-0/left")
    write(root / "8/x")
    reader = reader_of(root)
    assert [one.name for one in reader.list()[1]] == ["8"]
    assert reader.delete(["9"]) == {}
    assert sorted(path.name for path in root.iterdir()) == ["8"]


def test_an_entry_that_cannot_be_deleted_does_not_keep_others(root, monkeypatch):
    """For example one of a user that the pod had before."""
    write(root / ".deleted-1-0/foreign")
    for run in ("2", "3"):
        write(root / run / "x")
    unlink = os.unlink

    def refuse(path, **given):
        if path in ("foreign", "locked"):
            raise PermissionError(errno.EACCES, "Permission denied", path)
        unlink(path, **given)

    monkeypatch.setattr(program.os, "unlink", refuse)
    here = os.open(root, os.O_RDONLY)
    assert list(program.deleted(here, {"runs": ["2"], "inputs": [], "used": {}})) == [{"name": "2", "fault": ""}]
    assert sorted(path.name for path in root.iterdir()) == [".deleted-1-0", "3"]
    write(root / "4/locked")
    first, second = program.deleted(here, {"runs": ["4", "3"], "inputs": [], "used": {}})
    assert first == {"name": "4", "fault": "Permission denied: locked"} and second == {"name": "3", "fault": ""}
    os.close(here)
