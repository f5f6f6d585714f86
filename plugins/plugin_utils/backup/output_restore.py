# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Outputs of runs out of an archive onto a volume. What is on the volume stays: a file of the same name with other content is reported, not replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from ..base.errors import ClusterError
from ..base.sizes import readable
from . import archive_reader
from .archive_writer import OUTPUTS
from .output_members import Entry
from .volume_files import MOST, PIECE, Files, Place, Progress


@dataclass
class Restored:
    """What came of it.

    Attributes:
        files: how many were written.
        size: bytes that were written.
        there: how many were there already.
        kept: paths at which the volume has something else, which stays.
    """

    files: int = 0
    size: int = 0
    there: int = 0
    kept: list[str] = field(default_factory=list)

    @property
    def words(self) -> str:
        """For people."""
        said = f"{self.files} files of outputs, {readable(self.size)}"
        said += f", {self.there} were there already" if self.there else ""
        return said + (f", {len(self.kept)} not written, since the volume has others in their places" if self.kept else "")


def words_of(listed: Mapping[str, Entry]) -> str:
    """What an archive has, for people."""
    return f"{len(listed)} files of outputs, {readable(sum(entry.size for entry in listed.values()))}"


def compared(listed: Mapping[str, Entry], there: Files) -> tuple[list[str], list[str], list[str]]:
    """Paths to write, paths at which something else is, and those whose content has to be compared. Pure."""
    above = {path[:end] for path in (*there.known, *there.others) for end, one in enumerate(path) if one == "/"}
    taken = {*there.known, *there.others}
    write, other, alike = [], [], []
    for path, entry in listed.items():
        if path in there.known:
            if there.known[path][0] != entry.size:
                other.append(path)
            elif there.known[path][1] != entry.changed:
                alike.append(path)
        elif path in taken or path in above or any(path[:end] in taken for end, one in enumerate(path) if one == "/"):
            other.append(path)
        else:
            write.append(path)
    return write, other, alike


def put(place: Place, archive: Path, identity: Any, listed: Mapping[str, Entry], say: Callable[[str], None]) -> Restored:
    """Write the files of an archive that are not there.

    Args:
        place: where they are written.
        archive: of C(hub_archive.proven).
        identity: the key that opens it.
        listed: its list.
        say: shows the progress.

    Raises:
        ClusterError: they cannot be written. What was written stays, and is not written again.
    """
    place.ask("tidy")
    write, kept, alike = compared(listed, place.files())
    for start in range(0, len(alike), MOST):
        some = alike[start : start + MOST]
        (answer,) = place.ask("sums", paths=some)
        kept += [path for path, found in zip(some, answer["sums"]) if found != listed[path].sha256]
    done = Restored(there=len(listed) - len(write) - len(kept), kept=sorted(kept))
    if not write:
        return done
    needed = sum(listed[path].size for path in write)
    (answer,) = place.ask("room")
    if answer["free"] < needed:
        raise ClusterError(
            f"{place.cluster.name}: the outputs of the backup need {readable(needed)} on the volume for outputs, and {readable(answer['free'])} are "
            "free. Give the claim more room (superlink_outputs_size), or leave them out (flower_restore_outputs: false), and run again"
        )
    sender = _Sender(place, {path: listed[path] for path in write}, done, say)
    archive_reader.read(archive, sender.take, identity)
    sender.flush()
    place.ask("tidy")
    return done


class _Sender:
    """Takes members, and sends them in batches."""

    def __init__(self, place: Place, wanted: Mapping[str, Entry], done: Restored, say: Callable[[str], None]) -> None:
        self._place, self._wanted, self._done = place, wanted, done
        self._progress = Progress(say, len(wanted))
        self._data = bytearray()
        self._pieces: list[list[Any]] = []

    def take(self, name: str, size: int, data: BinaryIO) -> None:
        """See C(archive_reader.read)."""
        path = name.removeprefix(OUTPUTS)
        entry = self._wanted.get(path)
        if not name.startswith(OUTPUTS) or entry is None:
            return
        offset = 0
        while True:
            piece = data.read(min(PIECE - len(self._data), size - offset))
            self._pieces.append([path, offset, len(piece), size, entry.changed])
            self._data += piece
            offset += len(piece)
            if len(self._data) >= PIECE or len(self._pieces) >= MOST:
                self.flush()
            if offset >= size:
                break
            if not piece:
                raise ClusterError(f"{path!r} of the backup is shorter than it should be. Choose another backup")
        self._done.files += 1
        self._done.size += size

    def flush(self) -> None:
        """Send what is there."""
        if not self._pieces:
            return
        data, pieces = bytes(self._data), self._pieces
        self._data, self._pieces = bytearray(), []
        self._place.ask("unpack", data, pieces=pieces, sha256=hashlib.sha256(data).hexdigest())
        self._progress.add(len(data), sum(1 for _path, offset, size, total, _changed in pieces if offset + size == total))
