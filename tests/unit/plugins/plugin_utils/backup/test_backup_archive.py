# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import dataclasses
import io
import json
import os
import tarfile

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import age_keys, archive
from ansible_collections.federated.flower.plugins.plugin_utils.backup.archive import About, Member, foreign, member_of
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError

ABOUT = About("heart", "hub-1", "20261123T201500Z", "1.0.0", "1.41.0")
SECRET = b"the key of the CA " * 7
DATABASE = os.urandom(300_000)
OWNER = pyrage.x25519.Identity.generate()


def contents():
    return [member_of("hub/secrets.json", SECRET), member_of("state.db", DATABASE)]


def to_owner(folder, members=None):
    return archive.write(
        folder, ABOUT, contents() if members is None else members, age_keys.recipients_of([str(OWNER.to_public())])
    )


def opened(path):
    found = {}
    about = archive.read(path, OWNER, lambda name, size, data: found.update({name: data.read()}))
    return about, found


def test_round_trip(tmp_path):
    path = to_owner(tmp_path)
    assert opened(path) == (ABOUT, {"hub/secrets.json": SECRET, "state.db": DATABASE})
    assert archive.head(path) == ABOUT and archive.checksum_error(path) == ""
    assert path.stat().st_mode & 0o777 == 0o600
    assert SECRET not in path.read_bytes()
    assert sorted(os.listdir(tmp_path)) == [path.name, f"{path.name}.sha256"]


def test_the_key_of_another_person_does_not_open_it(tmp_path):
    path = to_owner(tmp_path)
    with pytest.raises(ClusterError, match="cannot be opened"):
        archive.read(path, pyrage.x25519.Identity.generate())


@pytest.mark.parametrize("share", [0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 0.96])
def test_a_changed_byte_is_found(tmp_path, share):
    path = to_owner(tmp_path)
    with tarfile.open(path) as outer:
        part = outer.getmember("archive.age")
    content = bytearray(path.read_bytes())
    content[part.offset_data + int(part.size * share)] ^= 1
    path.write_bytes(content)
    assert "damaged" in archive.checksum_error(path)
    with pytest.raises(ClusterError, match=r"cannot be opened"):
        archive.read(path, OWNER)


@pytest.mark.parametrize("share", [0.0, 0.002, 0.01, 0.2, 0.6, 0.95])
def test_a_truncated_archive_is_found(tmp_path, share):
    path = to_owner(tmp_path)
    content = path.read_bytes()
    path.write_bytes(content[: int(len(content) * share)])
    assert archive.checksum_error(path)
    with pytest.raises(ClusterError, match=r"cannot be (opened|read)|truncated"):
        archive.read(path, OWNER)


@pytest.mark.parametrize("size", range(57_344, 65_536, 1024))
def test_the_last_piece_is_proven_too(tmp_path, size):
    """Of some of these sizes age's last piece is padding of the tar only, which no member and no manifest covers."""
    path = to_owner(tmp_path, members=[member_of("state.db", bytes(size))])
    with tarfile.open(path) as outer:
        part = outer.getmember("archive.age")
    content = bytearray(path.read_bytes())
    content[part.offset_data + part.size - 1] ^= 1
    path.write_bytes(content)
    with pytest.raises(ClusterError, match="cannot be opened"):
        archive.read(path, OWNER)


def repack(path, about):
    """The archive with another head outside."""
    with tarfile.open(path) as outer:
        parts = [(one.name, outer.extractfile(one).read()) for one in outer.getmembers()]
    with tarfile.open(path, "w") as outer:
        for name, content in parts:
            content = json.dumps(about).encode() if name == "about.json" else content
            head = tarfile.TarInfo(name)
            head.size = len(content)
            outer.addfile(head, io.BytesIO(content))


def test_a_head_that_was_exchanged_is_found(tmp_path):
    path = to_owner(tmp_path)
    repack(path, dataclasses.replace(ABOUT, federation="lung").as_data())
    assert archive.head(path).federation == "lung"
    with pytest.raises(ClusterError, match="about.json is not the one that was written"):
        archive.read(path, OWNER)


@pytest.mark.parametrize(("schema", "words"), [(0, "older"), (2, "newer"), ("1", "no schema"), (None, "no schema")])
def test_another_schema_is_refused_before_it_is_opened(tmp_path, schema, words):
    path = to_owner(tmp_path)
    repack(path, {**ABOUT.as_data(), "schema": schema})
    with pytest.raises(ClusterError, match=words):
        archive.read(path, OWNER)


def test_archives_of_others_are_foreign():
    assert foreign(ABOUT, "heart", "hub-1", "x") == "" and foreign(ABOUT, "heart", "", "x") == ""
    assert "of the federation heart, not of lung" in foreign(ABOUT, "lung", "hub-1", "x")
    assert "another hub" in foreign(ABOUT, "heart", "hub-2", "x")


def test_any_other_file_is_refused(tmp_path):
    path = tmp_path / "notes.tar"
    path.write_bytes(b"just text " * 500)
    with pytest.raises(ClusterError, match="cannot be read as a backup"):
        archive.head(path)
    with tarfile.open(path, "w") as other:
        other.add(__file__, "notes.txt")
    with pytest.raises(ClusterError, match="not a backup of this collection"):
        archive.head(path)


@pytest.mark.parametrize(
    "member",
    [
        Member("state.db", 10_000, io.BytesIO(b"x" * 50)),
        member_of("../up", b""),
        member_of("/etc/x", b""),
        member_of("manifest.json", b""),
    ],
)
def test_a_backup_that_fails_leaves_nothing(tmp_path, member):
    with pytest.raises(ClusterError, match=r"ended after 50 of 10000|cannot be a member"):
        to_owner(tmp_path, members=[member_of("first", SECRET), member])
    assert os.listdir(tmp_path) == []


def test_an_archive_is_not_overwritten(tmp_path):
    content = to_owner(tmp_path).read_bytes()
    with pytest.raises(ClusterError, match="exists already"):
        to_owner(tmp_path)
    assert (tmp_path / ABOUT.file_name).read_bytes() == content


def test_a_member_need_not_be_read(tmp_path):
    assert archive.read(to_owner(tmp_path), OWNER) == ABOUT


def test_what_takes_the_members_may_fail(tmp_path):
    def full(name, size, data):
        raise ClusterError("the volume is full")

    with pytest.raises(ClusterError, match="the volume is full"):
        archive.read(to_owner(tmp_path), OWNER, full)


def test_a_key_is_needed_and_is_not_shown():
    with pytest.raises(ClusterError, match="set one public key"):
        age_keys.recipients_of([])
    secret, public = str(OWNER), str(OWNER.to_public())
    for wrong, call in (
        (secret, lambda: age_keys.recipients_of([public, secret])),
        (public, lambda: age_keys.identity_of(public)),
        ("/etc/flower/backup.key", lambda: age_keys.identity_of("/etc/flower/backup.key")),
    ):
        with pytest.raises(ClusterError, match=r"is not a (public|private) key") as caught:
            call()
        assert wrong not in str(caught.value)
    with pytest.raises(ClusterError, match=r"flower_backup_identity .* not its path"):
        age_keys.identity_of("/etc/flower/backup.key")
    assert str(age_keys.identity_of(f"{secret}\n")) == secret


def test_a_key_that_would_not_open_the_archive_is_refused():
    other = pyrage.x25519.Identity.generate()
    recipients = age_keys.recipients_of([str(other.to_public()), f" {OWNER.to_public()} "])
    age_keys.require_recipient(OWNER, recipients)
    with pytest.raises(ClusterError, match="does not open what is encrypted for flower_backup_recipients") as caught:
        age_keys.require_recipient(OWNER, recipients[:1])
    assert str(OWNER) not in caught.value.message and str(OWNER.to_public()) in caught.value.message
