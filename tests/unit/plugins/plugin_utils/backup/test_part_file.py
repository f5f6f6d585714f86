# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a backup that was killed has left is removed by the next one; what is being written stays."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import archive_writer, part_file
from ansible_collections.federated.flower.plugins.plugin_utils.backup.about import About
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError

ABOUT = About("heart", "hub-1", "20261124T000000Z", "1.0.0", "1.41.0")
OTHER = "flower-backup-heart-20261123T000000Z.tar"


def write(folder: Path) -> Path:
    return archive_writer.write(folder, ABOUT, [], [pyrage.x25519.Identity.generate().to_public()])


def test_what_was_left_behind_is_removed(tmp_path: Path) -> None:
    for name in (OTHER, ABOUT.file_name):
        part_file.path_of(tmp_path / name).write_bytes(b"half of it")
    path = write(tmp_path)
    assert sorted(os.listdir(tmp_path)) == [path.name, f"{path.name}.sha256"]


def test_what_is_being_written_stays(tmp_path: Path) -> None:
    with part_file.writing(tmp_path / OTHER) as file:
        file.write(b"half of it")
        file.flush()
        write(tmp_path)
        assert part_file.path_of(tmp_path / OTHER).read_bytes() == b"half of it"
        with pytest.raises(ClusterError, match="is being written by another process"), part_file.writing(tmp_path / OTHER):
            pass
        assert part_file.path_of(tmp_path / OTHER).exists()
    assert not part_file.path_of(tmp_path / OTHER).exists()


def test_files_of_others_stay(tmp_path: Path) -> None:
    kept = [
        ".flower-backup-lung-20261123T000000Z.tar.part", ".flower-backup-heart-2-20261123T000000Z.tar.part", ".flower-backup-heart-today.tar.part",
        ".notes.part", f"{OTHER}.part", f".{OTHER}",
    ]  # fmt: skip
    for name in kept:
        (tmp_path / name).write_text("mine")
    (tmp_path / "file").write_text("mine")
    part_file.path_of(tmp_path / OTHER).symlink_to(tmp_path / "file")
    part_file.remove_abandoned(tmp_path, "heart")
    assert sorted(os.listdir(tmp_path)) == sorted([*kept, "file", part_file.path_of(tmp_path / OTHER).name])


def test_without_locks_nothing_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on some shared filesystems: whether another control node writes it is not known."""

    def refuse(_descriptor: int, _operation: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(part_file.fcntl, "flock", refuse)
    part_file.path_of(tmp_path / OTHER).write_bytes(b"half of it")
    path = write(tmp_path)
    assert sorted(os.listdir(tmp_path)) == sorted([f".{OTHER}.part", path.name, f"{path.name}.sha256"])


@pytest.mark.parametrize("kind", ["of another user", "with a second name", "a pipe"])
def test_a_file_that_another_user_left_is_not_written_to(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    part = part_file.path_of(tmp_path / OTHER)
    if kind == "a pipe":
        os.mkfifo(part)
    else:
        part.write_bytes(b"theirs")
    if kind == "with a second name":
        os.link(part, tmp_path / "second")
    if kind == "of another user":
        monkeypatch.setattr(part_file.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises((ClusterError, OSError)), part_file.writing(tmp_path / OTHER):
        pytest.fail("it was opened")
    assert kind == "a pipe" or part.read_bytes() == b"theirs"
