# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses
import errno
import os
from pathlib import Path

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import archive
from ansible_collections.federated.flower.plugins.plugin_utils.backup.archive import About
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError

ABOUT = About("heart", "hub-1", "20261101T000000Z", "1.0.0", "1.41.0")


def about_of(day, **changed):
    return dataclasses.replace(ABOUT, made=f"202611{day:02}T000000Z", **changed)


def made(folder, day, **changed):
    recipients = [pyrage.x25519.Identity.generate().to_public()]
    return archive.write(folder, about_of(day, **changed), [], recipients)


def test_the_newest_ones_stay(tmp_path):
    paths = [made(tmp_path, day) for day in (3, 1, 2)]
    gone = archive.surplus(tmp_path, about_of(3), 2)
    assert gone == [paths[1]]
    archive.remove(gone)
    assert sorted(os.listdir(tmp_path)) == sorted(
        name for path in (paths[0], paths[2]) for name in (path.name, f"{path.name}.sha256")
    )
    assert archive.surplus(tmp_path, about_of(3), 2) == []


def test_what_is_not_proven_to_be_ours_stays(tmp_path):
    newest = made(tmp_path, 30)
    made(tmp_path, 1, hub="hub-2")
    made(tmp_path, 2, federation="lung")
    made(tmp_path, 3, federation="heart-20261101")
    made(tmp_path, 4).rename(tmp_path / "flower-backup-heart-20261105T000000Z.tar")
    (tmp_path / "flower-backup-heart-20261106T000000Z.tar").write_bytes(b"someone's file")
    (tmp_path / "flower-backup-heart-20261107T000000Z.tar").symlink_to(newest)
    (tmp_path / "flower-backup-heart-20261108T000000Z.tar").mkdir()
    (tmp_path / "notes.txt").write_text("mine")
    assert archive.surplus(tmp_path, about_of(30), 1) == []


def test_the_one_that_was_just_written_stays(tmp_path):
    """The clock was wrong once."""
    ahead, old, written = (made(tmp_path, day) for day in (30, 2, 3))
    assert archive.surplus(tmp_path, about_of(3), 1) == [old]
    assert ahead.exists() and written.exists()


def test_what_the_storage_keeps_does_not_spoil_the_backup(tmp_path, monkeypatch):
    """As storage that lets nobody delete archives for a time."""
    first, second = (made(tmp_path, day) for day in (1, 2))
    unlink = Path.unlink

    def kept(path, missing_ok=False):
        if path == first:
            raise PermissionError(errno.EPERM, os.strerror(errno.EPERM), str(path))
        unlink(path, missing_ok=missing_ok)

    monkeypatch.setattr(Path, "unlink", kept)
    assert archive.remove([first, second, tmp_path / "gone"]) == {first: "Operation not permitted"}
    assert first.exists() and not second.exists()


def test_what_a_killed_process_left_is_removed_a_day_later(tmp_path):
    ours, fresh = (tmp_path / f".flower-backup-heart-202611{day:02}T000000Z.tar.part" for day in (23, 24))
    others = [
        tmp_path / name
        for name in (".flower-backup-lung-20261123T000000Z.tar.part", ".flower-backup-heart-2-20261123T000000Z.tar.part", ".flower-backup-x.part")
    ]
    for path in (ours, fresh, *others):
        path.write_text("half of it")
        os.utime(path, (0, 0) if path != fresh else None)
    path = made(tmp_path, 1)
    assert sorted(tmp_path.iterdir()) == sorted([fresh, *others, path, path.with_name(f"{path.name}.sha256")])


def test_a_file_in_the_place_of_one_that_is_written_stays(tmp_path):
    part = tmp_path / f".{ABOUT.file_name}.part"
    part.write_text("theirs")
    with pytest.raises(ClusterError, match="or is being written"):
        made(tmp_path, 1)
    assert part.read_text() == "theirs"
