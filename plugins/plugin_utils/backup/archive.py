# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Archives of hubs in a folder of the control node: a tar that is encrypted while its members arrive, so that no plain text reaches the disk.

    about.json     C(About), readable without a key: retention and people need it
    archive.age    a tar with the members, and at its end manifest.json: C(About) again, and sizes and SHA-256 of the members

The head outside is compared with the one inside when the archive is opened. Beside the archive is its SHA-256, in the format of
sha256sum: it detects damage without a key. Opening it detects changes to the archive. An archive that is written from scratch by
someone who knows the public key is not detected: age does not sign.
"""

from __future__ import annotations

import dataclasses
import hashlib
import io
import os
import re
import tarfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, BinaryIO

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.plain_data import canonical
from . import age_keys

# The layout of archives. Raise it when a reader of the older layout would misread the new one.
SCHEMA = 1
ABOUT, PAYLOAD, MANIFEST = "about.json", "archive.age", "manifest.json"
SUM = ".sha256"
OUTPUTS = "outputs/"  # archives of earlier releases have files below it, with the names that apps chose
_NAME = re.compile(r"flower-backup-(?P<federation>[a-z0-9]([-a-z0-9]*[a-z0-9])?)-[0-9]{8}T[0-9]{6}Z\.tar")
_MEMBER = re.compile(r"[A-Za-z0-9][-A-Za-z0-9_.]*(/[A-Za-z0-9][-A-Za-z0-9_.]*)*")
_LONGEST = 256 * 2**20  # bytes of the manifest, which lists them
_SMALL = 16 * 2**20
_PIECE = 2**20
_ABANDONED = 24 * 3600  # seconds without a write, after which an incomplete archive is one of a process that was killed
_CHOOSE = "Choose another backup"

#: Takes a member: its name, its size, and its content.
Take = Callable[[str, int, BinaryIO], None]


@dataclasses.dataclass(frozen=True)
class About:
    """The head of an archive.

    Attributes:
        federation: name of the federation.
        hub: the hub's identity in the ledger; two hubs may have federations of one name.
        made: when the copy was started, as C(20261123T201500Z), in UTC.
        collection: version of this collection.
        flower: version of Flower on the hub.
        schema: layout of the archive.
    """

    federation: str
    hub: str
    made: str
    collection: str
    flower: str
    schema: int = SCHEMA

    @property
    def file_name(self) -> str:
        """The archive's name, which sorts by time within a federation."""
        return f"flower-backup-{self.federation}-{self.made}.tar"

    @property
    def at(self) -> str:
        """When the copy was started, ISO 8601."""
        text = self.made
        return f"{text[:4]}-{text[4:6]}-{text[6:11]}:{text[11:13]}:{text[13:15]}+00:00"

    def as_data(self) -> dict[str, Any]:
        """For JSON."""
        return dataclasses.asdict(self)


@dataclasses.dataclass(frozen=True)
class Member:
    """A file of the archive: C(data) gives exactly C(size) bytes."""

    name: str
    size: int
    data: BinaryIO


def member_of(name: str, content: bytes) -> Member:
    """A member that is in memory."""
    return Member(name, len(content), io.BytesIO(content))


def foreign(about: About, federation: str, hub: str, where: str) -> str:
    """Why an archive is not to be restored for a federation: a sentence; empty if it may be.

    Args:
        hub: identity of the hub that stands there; empty when there is none, as in a namespace that is empty.
    """
    if about.federation != federation:
        return f"{where} is a backup of the federation {about.federation}, not of {federation}. Choose another file"
    if hub and about.hub != hub:
        return f"{where} is a backup of another hub, whose federation is also named {federation}. Choose another file"
    return ""


def write(folder: Path, about: About, members: Iterable[Member], recipients: Sequence[Any]) -> Path:
    """Write an archive and its checksum; the folder has both, or neither under the archive's name.

    It is a hidden file until it is complete. What a process that was killed has left of another archive of the federation is removed a day later.

    Args:
        folder: exists.
        members: each is read to its end before the next one is asked for.
        recipients: as C(age_keys.recipients_of) returns them.

    Returns:
        The archive.

    Raises:
        ClusterError: a member is shorter than it said or has a name that cannot be, the archive exists, or the disk is full.
    """
    target, part, checksum = (folder / name.format(about.file_name) for name in ("{}", ".{}.part", f"{{}}{SUM}"))
    if target.exists() or part.exists():
        raise ClusterError(f"{target} exists already, or is being written: it is not overwritten. Run again a second later")
    try:
        for old in folder.glob(".flower-backup-*.part"):
            with suppress(OSError):  # it is complete by now, or another user's
                if _is_name(old.name[1:-5], about.federation) and old.lstat().st_mtime < time.time() - _ABANDONED:
                    old.unlink()
        with os.fdopen(os.open(part, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600), "w+b") as file:
            try:
                _write_outer(file, about, members, recipients)
                file.flush()
                os.fsync(file.fileno())
                file.seek(0)
                checksum.write_text(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {target.name}\n", encoding="ascii")
                part.rename(target)
            finally:
                part.unlink(missing_ok=True)
    except OSError as error:
        checksum.unlink(missing_ok=True)
        raise ClusterError(f"{target} cannot be written: {error}. Correct it and run again") from error
    return target


def _is_name(name: str, federation: str) -> bool:
    match = _NAME.fullmatch(name)
    return match is not None and match["federation"] == federation


def _write_outer(file: IO[bytes], about: About, members: Iterable[Member], recipients: Sequence[Any]) -> None:
    with tarfile.open(fileobj=file, mode="w", format=tarfile.PAX_FORMAT) as outer:
        _add(outer, ABOUT, canonical(about.as_data()).encode("ascii"))
        # The size is known when everything is written: its header is written twice. GNU numbers have one length up to any size.
        head, start = tarfile.TarInfo(PAYLOAD), outer.offset
        head.mode = 0o600
        file.write(head.tobuf(tarfile.GNU_FORMAT))
        with _pipe(lambda plain: age_keys.pyrage.encrypt_io(plain, file, list(recipients)), to_work=True) as plain:
            _write_inner(plain, about, members)
        head.size = file.tell() - start - tarfile.BLOCKSIZE
        file.write(bytes(-head.size % tarfile.BLOCKSIZE))
        outer.offset = file.tell()
        file.seek(start)
        file.write(head.tobuf(tarfile.GNU_FORMAT))
        file.seek(outer.offset)


def _write_inner(plain: BinaryIO, about: About, members: Iterable[Member]) -> None:
    listed: dict[str, Any] = {}
    with tarfile.open(fileobj=plain, mode="w|", format=tarfile.PAX_FORMAT) as inner:
        for member in members:
            if member.name == MANIFEST or not _MEMBER.fullmatch(member.name) or member.name in listed:
                raise ClusterError(f"{member.name!r} cannot be a member of a backup, or is in it twice")
            counted = _Counted(member.data)
            try:
                _add(inner, member.name, counted, member.size)
            except OSError as error:
                if counted.size == member.size:
                    raise
                raise ClusterError(f"{member.name} ended after {counted.size} of {member.size} bytes: run the backup again") from error
            listed[member.name] = counted.facts
        _add(inner, MANIFEST, canonical({"about": about.as_data(), "members": listed}).encode("ascii"))


def _add(tar: tarfile.TarFile, name: str, content: bytes | _Counted, size: int = 0) -> None:
    head = tarfile.TarInfo(name)
    head.size, head.mode = len(content) if isinstance(content, bytes) else size, 0o600
    tar.addfile(head, io.BytesIO(content) if isinstance(content, bytes) else content)


class _Counted(io.RawIOBase):
    """Content whose size and hash are taken while it is read."""

    def __init__(self, data: Any) -> None:
        self.data, self.size, self.digest = data, 0, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        piece: bytes = self.data.read(size)
        self.size += len(piece)
        self.digest.update(piece)
        return piece

    @property
    def facts(self) -> dict[str, Any]:
        """For the manifest."""
        return {"size": self.size, "sha256": self.digest.hexdigest()}


class _CryptError(Exception):
    """What the library could not do."""


@contextmanager
def _pipe(work: Callable[[BinaryIO], None], *, to_work: bool) -> Iterator[BinaryIO]:
    """The one end of a pipe, whose other end the library has in a thread, since it pulls what a tar pushes, and pushes what a tar pulls.

    Raises:
        _CryptError: the library failed, and the block has not raised anything else.
    """
    ends = os.pipe()
    reading: BinaryIO = os.fdopen(ends[0], "rb")
    writing: BinaryIO = os.fdopen(ends[1], "wb")
    own, other = (writing, reading) if to_work else (reading, writing)
    errors: list[Exception] = []

    def run() -> None:
        try:
            with other:
                work(other)
        except (OSError, tarfile.TarError, age_keys.pyrage.EncryptError, age_keys.pyrage.DecryptError) as error:
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        with own:
            yield own
    except BrokenPipeError:
        thread.join()
        if not errors:
            raise
    finally:
        thread.join()
    if errors and to_work:
        raise OSError(str(errors[0])) from errors[0]
    if errors:
        raise _CryptError from errors[0]


def head(path: Path) -> About:
    """What an archive says about itself, without a key: not proven until it is opened.

    Raises:
        ClusterError: it cannot be read, or is not such an archive, or of a layout that this version of the collection does not read.
    """
    no_backup = f"{path} is not a backup of this collection"
    try:
        with tarfile.open(path, "r:") as outer:
            if sorted(outer.getnames()) != [ABOUT, PAYLOAD]:
                raise ClusterError(f"{no_backup}, or is truncated. Choose another file")
            data = foreign_data.read_json(_content(outer, outer.getmember(ABOUT), path))
    except (OSError, tarfile.TarError, ValueError) as error:
        raise ClusterError(f"{path} cannot be read as a backup: {error}. Choose another file") from error
    if not isinstance(data, Mapping) or not isinstance(data.get("schema"), int):
        raise ClusterError(f"{no_backup}: its {ABOUT} has no schema. Choose another file")
    if data["schema"] != SCHEMA:
        age = "newer" if data["schema"] > SCHEMA else "older"
        raise ClusterError(
            f"{path} has schema {data['schema']}, which is {age} than the one that this collection reads ({SCHEMA}): restore it "
            f"with version {data.get('collection', 'unknown')} of the collection, which wrote it"
        )
    fields = {field.name for field in dataclasses.fields(About)}
    if set(data) != fields or not all(isinstance(data[name], str) and data[name] for name in fields - {"schema"}):
        raise ClusterError(f"{no_backup}: its {ABOUT} is incomplete. Choose another file")
    return About(**data)


def checksum_error(path: Path, given: str = "") -> str:
    """Why an archive is not the file that was written, by the checksum that is given or is beside it: a sentence; empty if it is."""
    beside = path.with_name(f"{path.name}{SUM}")
    try:
        wanted = [given.lower(), path.name] if given else beside.read_text(encoding="ascii").split()
        with path.open("rb") as file:
            found = hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, UnicodeDecodeError) as error:
        return f"{path} cannot be compared with its checksum: {error}"
    if wanted == [found, path.name]:
        return ""
    if given:
        return f"{path} has the SHA-256 {found}, and {given} was given (flower_restore_sha256)"
    return f"{path} is not the file of which {beside.name} is the checksum: it is damaged"


def read(path: Path, identity: Any, take: Take = lambda _name, _size, _data: None) -> About:
    """Open an archive, read it to its end, and give the members to C(take), in the order in which they were written.

    Nothing of what it gets may be used before this returns: only then it is proven.

    Args:
        identity: of a recipient, as C(age_keys.identity_of) returns it.
        take: may leave content unread.

    Raises:
        ClusterError: it is damaged, truncated, tampered with, of another schema, or encrypted for others.
    """
    about = head(path)
    with tarfile.open(path, "r:") as outer:
        payload = outer.extractfile(PAYLOAD)
        try:
            with _pipe(lambda plain: age_keys.pyrage.decrypt_io(payload, plain, [identity]), to_work=False) as plain:
                manifest, found = _read_inner(plain, take, path)
                while plain.read(_PIECE):  # to the end: the last piece is proven, too
                    pass
        except (tarfile.TarError, EOFError, ValueError, _CryptError) as error:
            raise ClusterError(
                f"{path} cannot be opened: it is damaged or truncated, was tampered with, or was encrypted for others. {_CHOOSE}"
            ) from error
    if not isinstance(manifest, dict) or manifest.get("members") != found:
        raise ClusterError(f"{path} is incomplete: its members are not those of its manifest. {_CHOOSE}")
    if manifest.get("about") != about.as_data():
        raise ClusterError(f"{path} was tampered with: {ABOUT} is not the one that was written. {_CHOOSE}")
    return about


def _read_inner(plain: BinaryIO, take: Take, path: Path) -> tuple[Any, dict[str, Any]]:
    """The manifest, and the facts of the members that were found."""
    found: dict[str, Any] = {}
    manifest = None
    with tarfile.open(fileobj=plain, mode="r|") as inner:
        for one in inner:
            if manifest is not None or not one.isreg():
                raise tarfile.ReadError("a member follows the manifest, or is not a file")
            if one.name == MANIFEST:
                manifest = foreign_data.read_json(_content(inner, one, path, _LONGEST), _LONGEST)
                continue
            if not (_MEMBER.fullmatch(one.name) or one.name.startswith(OUTPUTS)) or one.name in found:
                raise tarfile.ReadError("a member has an invalid name")
            counted = _Counted(inner.extractfile(one))
            take(one.name, one.size, counted)  # type: ignore[arg-type]  # it is read only
            while counted.read(_PIECE):
                pass
            found[one.name] = counted.facts
    return manifest, found


def _content(tar: tarfile.TarFile, one: tarfile.TarInfo, path: Path, most: int = _SMALL) -> bytes:
    data = tar.extractfile(one) if one.isreg() and one.size <= most else None
    if data is None:
        raise ClusterError(f"{path} is not a backup of this collection: {one.name} is not a small file. Choose another file")
    return data.read()


def surplus(folder: Path, about: About, keep: int) -> list[Path]:
    """The archives beyond the C(keep) newest ones of a hub, the oldest first. Never the one that was just written, also where others have
    times in the future in their names, as after a wrong clock.

    An archive counts if its name is the one that its head gives it, and the head names this federation and hub. Links, archives
    of other schemas and files that cannot be read stay and do not count.

    Args:
        about: of the archive that was just written.
        keep: at least 1.
    """

    def is_ours(path: Path) -> bool:
        if not _is_name(path.name, about.federation) or path.is_symlink() or not path.is_file():
            return False
        try:
            found = head(path)
        except ClusterError:  # it may be another collection's, or damaged: it is not proven to be ours, so it stays
            return False
        return (found.federation, found.hub, found.file_name) == (about.federation, about.hub, path.name)

    return [path for path in list(filter(is_ours, sorted(folder.iterdir())))[:-keep] if path.name != about.file_name]


def remove(paths: list[Path]) -> dict[Path, str]:
    """Remove archives and their checksums; returns those that stay, and why: the storage may not permit it, and the new archive is good all the same."""
    kept = {}
    for path in paths:
        try:
            path.unlink(missing_ok=True)  # another backup may have removed it
            path.with_name(f"{path.name}{SUM}").unlink(missing_ok=True)
        except OSError as error:
            kept[path] = error.strerror or str(error)
    return kept
