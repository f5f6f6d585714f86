# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Opening an archive of C(archive_writer). Nothing of it may be used before C(verify) has read it to its end."""

from __future__ import annotations

import hashlib
import os
import tarfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

from ..base import foreign_data
from ..base.errors import ClusterError
from . import age_keys, archive_writer
from .about import About, parse
from .archive_writer import ABOUT, MANIFEST, PAYLOAD, SUM

OUTPUTS = "outputs/"  # archives of earlier releases have files below it, with the names that apps chose
_LONGEST = 256 * 2**20  # bytes of the manifest, which lists them
_SMALL = 16 * 1024 * 1024
_PIECE = 1024 * 1024

#: Takes a member: its name, its size, and its content.
Take = Callable[[str, int, BinaryIO], None]


def head(path: Path) -> About:
    """What an archive says about itself, without a key: not proven until it is opened.

    Raises:
        ClusterError: it cannot be read, or is not such an archive.
    """
    return _outer(path)[0]


def checksum_fault(path: Path, given: str = "") -> str:
    """Why an archive is not the file that was written, by the checksum that is given or is beside it: a sentence; empty if it is."""
    beside = path.with_name(f"{path.name}{SUM}")
    try:
        wanted = [given.lower(), path.name] if given else beside.read_text(encoding="ascii").split()
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, UnicodeDecodeError) as error:
        return f"{path} cannot be compared with its checksum: {error}"
    if given and wanted[0] != found:
        return f"{path} has the SHA-256 {found}, and {given} was given (flower_restore_sha256)"
    return (
        ""
        if wanted == [found, path.name]
        else f"{path} is not the file of which {beside.name} is the checksum: it is damaged"
    )


def verify(path: Path, identity: Any) -> About:
    """Open an archive and read it to its end: the rehearsal.

    Raises:
        ClusterError: it is damaged, truncated, tampered with, of another schema, or encrypted for others.
    """
    return read(path, lambda name, size, data: None, identity)


def read(path: Path, take: Take, identity: Any) -> About:
    """Give the members to C(take), in the order in which they were written. What it gets is proven when this returns.

    Args:
        take: may leave content unread.
        identity: of a recipient, as C(age_keys.identity_of) returns it.

    Raises:
        ClusterError: as C(verify).
    """
    about, start, size = _outer(path)
    reading, writing = os.pipe()
    faults: list[Exception] = []

    def work() -> None:
        try:
            with os.fdopen(writing, "wb") as plain, path.open("rb") as file:
                file.seek(start)
                age_keys.pyrage.decrypt_io(_Window(file, size), plain, [identity])
        except (OSError, age_keys.pyrage.DecryptError) as error:
            faults.append(error)

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    damaged = f"{path} cannot be opened: it is damaged or truncated, was tampered with, or was encrypted for others"
    try:
        with os.fdopen(reading, "rb") as plain:
            manifest, found = _inner(plain, take, path)
            while plain.read(_PIECE):  # to the end: the last piece is proven, too
                pass
    except (tarfile.TarError, EOFError, ValueError) as error:
        thread.join()
        raise ClusterError(f"{damaged}. Choose another backup") from error
    finally:
        thread.join()
    if faults:
        raise ClusterError(f"{damaged}. Choose another backup") from faults[0]
    if not isinstance(manifest, dict) or manifest.get("members") != found:
        raise ClusterError(f"{path} is incomplete: its members are not those of its manifest. Choose another backup")
    if manifest.get("about") != about.as_data():
        raise ClusterError(
            f"{path} was tampered with: about.json is not the one that was written. Choose another backup"
        )
    return about


def _outer(path: Path) -> tuple[About, int, int]:
    """The head, and where the encrypted part is."""
    try:
        with tarfile.open(path, "r:") as outer:
            listed = {one.name: one for one in outer.getmembers()}
            if set(listed) != {ABOUT, PAYLOAD}:
                raise ClusterError(f"{path} is not a backup of this collection, or is truncated. Choose another file")
            about_text = _content(outer, listed[ABOUT], path)
            payload = listed[PAYLOAD]
        about = parse(foreign_data.read_json(about_text), str(path))
    except (OSError, tarfile.TarError, ValueError) as error:
        raise ClusterError(f"{path} cannot be read as a backup: {error}. Choose another file") from error
    return about, payload.offset_data, payload.size


def _content(tar: tarfile.TarFile, one: tarfile.TarInfo, path: Path, most: int = _SMALL) -> bytes:
    data = tar.extractfile(one) if one.isreg() and one.size <= most else None
    if data is None:
        raise ClusterError(
            f"{path} is not a backup of this collection: {one.name} is not a small file. Choose another file"
        )
    return data.read()


def _inner(plain: BinaryIO, take: Take, path: Path) -> tuple[Any, dict[str, Any]]:
    found: dict[str, Any] = {}
    manifest = None
    with tarfile.open(fileobj=plain, mode="r|") as inner:
        for one in inner:
            if manifest is not None or not one.isreg():
                raise tarfile.ReadError("a member follows the manifest, or is not a file")
            if one.name == MANIFEST:
                manifest = foreign_data.read_json(_content(inner, one, path, _LONGEST), _LONGEST)
                continue
            if not (archive_writer.is_member_name(one.name) or one.name.startswith(OUTPUTS)) or one.name in found:
                raise tarfile.ReadError("a member has a name that cannot be")
            data = inner.extractfile(one)
            if data is None:
                raise tarfile.ReadError("a member has no content")
            hashed = _Hashed(data)
            take(one.name, one.size, hashed)  # type: ignore[arg-type]  # it is read only
            while hashed.read(_PIECE):
                pass
            found[one.name] = {"size": one.size, "sha256": hashed.digest.hexdigest()}
    return manifest, found


class _Hashed:
    """Content whose hash is taken while it is read."""

    def __init__(self, data: Any) -> None:
        self.data = data
        self.digest = hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece: bytes = self.data.read(size)
        self.digest.update(piece)
        return piece


class _Window:
    """C(size) bytes of a file from where it stands."""

    def __init__(self, file: BinaryIO, size: int) -> None:
        self.file = file
        self.left = size

    def read(self, size: int = -1) -> bytes:
        piece = self.file.read(self.left if size < 0 else min(size, self.left))
        self.left -= len(piece)
        return piece
