# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Writing an archive: a tar that is encrypted while its members arrive, so that no plain text reaches the disk.

    about.json     C(About), readable without a key: retention and people need it
    archive.age    a tar with the members, and at its end manifest.json: C(About) again, and sizes and SHA-256 of the members

The head outside is compared with the one inside when the archive is opened. Beside the archive is its SHA-256, in the format of
sha256sum: it detects damage without a key. Opening it detects changes to
the archive. An archive that is written from scratch by someone who knows the public key is not detected: age does not sign.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
import tarfile
import threading
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, Any, BinaryIO

from ..base.errors import ClusterError
from ..base.plain_data import canonical
from . import age_keys, part_file
from .about import About

ABOUT, PAYLOAD, MANIFEST = "about.json", "archive.age", "manifest.json"
SUM = ".sha256"
_MEMBER = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]*(/[A-Za-z0-9][-A-Za-z0-9_.]*)*")


@dataclasses.dataclass(frozen=True)
class Member:
    """A file of the archive: C(data) gives exactly C(size) bytes."""

    name: str
    size: int
    data: BinaryIO


def member_of(name: str, content: bytes) -> Member:
    """A member that is in memory."""
    return Member(name, len(content), io.BytesIO(content))


def is_member_name(name: str) -> bool:
    """Whether a member can have this name: a relative path that stays below its folder."""
    return name != MANIFEST and _MEMBER.fullmatch(name) is not None


def write(folder: Path, about: About, members: Iterable[Member], recipients: Sequence[Any]) -> Path:
    """Write an archive and its checksum; the folder has both, or neither under the archive's name.

    What a process that was killed has left of another archive of the federation is removed before.

    Args:
        folder: exists.
        members: each is read to its end before the next one is asked for.
        recipients: as C(age_keys.recipients_of) returns them.

    Returns:
        The archive.

    Raises:
        ClusterError: a member is shorter than it said or has a name that cannot be, the archive exists, or the disk is full.
    """
    target = folder / about.file_name
    if target.exists():
        raise ClusterError(f"{target} exists already: it is not overwritten. Run again a second later")
    try:
        part_file.remove_abandoned(folder, about.federation)
        with part_file.writing(target) as file:
            _outer(file, about, members, recipients)
            file.flush()
            os.fsync(file.fileno())
            file.seek(0)
            digest = hashlib.file_digest(file, "sha256").hexdigest()
            (folder / f"{target.name}{SUM}").write_text(f"{digest}  {target.name}\n", encoding="ascii")
            part_file.path_of(target).rename(target)
    except OSError as error:
        (folder / f"{target.name}{SUM}").unlink(missing_ok=True)
        raise ClusterError(f"{target} cannot be written: {error}. Correct it and run again") from error
    return target


def _outer(file: IO[bytes], about: About, members: Iterable[Member], recipients: Sequence[Any]) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as outer:
        _add(outer, ABOUT, canonical(about.as_data()).encode("ascii"))
        # The size is known when everything is written: its header is written twice. GNU numbers have one length up to any size.
        head, start = tarfile.TarInfo(PAYLOAD), outer.offset
        head.mode = 0o600
        file.write(head.tobuf(tarfile.GNU_FORMAT))
        _encrypt(file, about, members, recipients)
        end = file.tell()
        head.size = end - start - tarfile.BLOCKSIZE
        file.write(bytes(-head.size % tarfile.BLOCKSIZE))
        outer.offset = file.tell()
        file.seek(start)
        file.write(head.tobuf(tarfile.GNU_FORMAT))
        file.seek(outer.offset)


def _encrypt(file: IO[bytes], about: About, members: Iterable[Member], recipients: Sequence[Any]) -> None:
    """The library reads a pipe in a thread, since it pulls what a tar pushes."""
    reading, writing = os.pipe()
    faults: list[Exception] = []

    def work() -> None:
        with os.fdopen(reading, "rb") as plain:
            try:
                age_keys.pyrage.encrypt_io(plain, file, list(recipients))
            except (OSError, age_keys.pyrage.EncryptError) as error:
                faults.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    try:
        with os.fdopen(writing, "wb") as plain:
            _inner(plain, about, members)
    except BrokenPipeError:
        thread.join()
        if not faults:
            raise
    finally:
        thread.join()
    if faults:
        raise OSError(str(faults[0])) from faults[0]


def _inner(plain: BinaryIO, about: About, members: Iterable[Member]) -> None:
    listed: dict[str, Any] = {}
    with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as inner:
        for member in members:
            if not is_member_name(member.name) or member.name in listed:
                raise ClusterError(f"{member.name!r} cannot be a member of a backup, or is in it twice")
            counted = _Counted(member.data)
            head = tarfile.TarInfo(member.name)
            head.size, head.mode = member.size, 0o600
            try:
                inner.addfile(head, counted)
            except OSError as error:
                if counted.size < member.size:
                    raise ClusterError(
                        f"{member.name} ended after {counted.size} of {member.size} bytes: run the backup again"
                    ) from error
                raise
            listed[member.name] = {"size": member.size, "sha256": counted.digest.hexdigest()}
        _add(inner, MANIFEST, canonical({"about": about.as_data(), "members": listed}).encode("ascii"))


class _Counted(io.RawIOBase):
    def __init__(self, data: BinaryIO) -> None:
        self.data = data
        self.size = 0
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece = self.data.read(size)
        self.size += len(piece)
        self.digest.update(piece)
        return piece


def _add(tar: tarfile.TarFile, name: str, content: bytes) -> None:
    head = tarfile.TarInfo(name)
    head.size, head.mode = len(content), 0o600
    tar.addfile(head, io.BytesIO(content))
