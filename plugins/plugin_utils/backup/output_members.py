# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Outputs of runs as members of an archive: each file below C(archive_writer.OUTPUTS), and after them the list of those that are whole.

A file is read in pieces while apps may write to it. One that changed meanwhile is a member, since its head was written before its end was
read, but it is not in the list, and a restore leaves it out. What it lacks is zeros.
"""

from __future__ import annotations

import base64
import hashlib
import io
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.digests import canonical
from ..base.errors import ClusterError
from .archive_writer import OUTPUTS, Member, member_of
from .output_choice import Chosen
from .volume_files import Place, Progress, batches

INDEX = "outputs.json"
CHANGED = "it changed while it was read; the next backup has it"
_NANO = 10**9


@dataclass(frozen=True)
class Entry:
    """A file of the list.

    Attributes:
        size: bytes.
        changed: its time in nanoseconds.
        sha256: of its content.
    """

    size: int
    changed: int
    sha256: str


class Outputs:
    """Outputs on their way into an archive.

    Args:
        place: where they are.
        chosen: which. What changes meanwhile is added to what it leaves out.
        say: shows the progress.
    """

    def __init__(self, place: Place, chosen: Chosen, say: Callable[[str], None]) -> None:
        self._place, self._chosen, self._say = place, chosen, say

    def members(self) -> Iterator[Member]:
        """The files one after the other, each read to its end before the next one is asked for, and the list."""
        known = self._chosen.known
        pieces = _pieces(self._place, known, Progress(self._say, len(known)))
        read: dict[str, _Content] = {}
        for path, (size, changed) in known.items():
            read[path] = _Content(pieces, path, size)
            yield Member(OUTPUTS + path, size, read[path], changed // _NANO)  # type: ignore[arg-type]  # it is read only
        now = self._place.files().known if known else {}
        whole = {path: content for path, content in read.items() if not content.short and now.get(path) == known[path]}
        for path in read:
            if path not in whole:
                self._chosen.left_out[path] = CHANGED
                del known[path]
        files = {path: [*known[path], content.digest.hexdigest()] for path, content in whole.items()}
        yield member_of(INDEX, canonical({"files": files, "left_out": self._chosen.left_out}).encode("ascii"))


def _pieces(place: Place, known: Mapping[str, tuple[int, int]], progress: Progress) -> Iterator[tuple[str, bytes, int]]:
    """Path, content and wanted size of each piece; a batch of them is in memory."""
    for batch in batches(list(known), known):
        (answer,) = place.ask("pack", pieces=[piece[:3] for piece in batch])
        data = base64.b64decode(answer["data"])
        if hashlib.sha256(data).hexdigest() != answer["sha256"]:
            raise ClusterError(f"{place.cluster.name}: a part of the outputs was lost on the way. Run again")
        at = 0
        for piece, size in zip(batch, answer["sizes"]):
            yield piece[0], data[at : at + size], piece[2]
            at += size
        progress.add(len(data), sum(1 for _path, offset, size, total, _changed in batch if offset + size == total))


class _Content(io.RawIOBase):
    """The content of a file, as long as it was said to be.

    Attributes:
        digest: SHA-256 of what was read.
        short: whether there was less.
    """

    def __init__(self, pieces: Iterator[tuple[str, bytes, int]], path: str, size: int) -> None:
        self._pieces, self._path, self._due = pieces, path, size
        self._rest = bytearray()
        self.digest = hashlib.sha256()
        self.short = False
        if not size:
            self._next()  # an empty file is a piece, too

    def _next(self) -> None:
        path, data, size = next(self._pieces)
        if path != self._path:
            raise RuntimeError(f"{path!r} was sent instead of {self._path!r}")
        self.short = self.short or len(data) < size
        self._rest += data + bytes(size - len(data))
        self._due -= size

    def read(self, size: int = -1) -> bytes:
        """So many bytes, unless there are less."""
        while self._due and (size < 0 or len(self._rest) < size):
            self._next()
        cut = len(self._rest) if size < 0 else size
        piece = bytes(self._rest[:cut])
        del self._rest[:cut]
        self.digest.update(piece)
        return piece


def listed(content: Any, sizes: Mapping[str, int], where: str) -> dict[str, Entry]:
    """The list of an archive: path -> entry.

    Args:
        content: what its JSON contains.
        sizes: path -> bytes, of the members that were found.
        where: the archive, for the error.

    Raises:
        ClusterError: it is not of these members.
    """
    files = content.get("files") if isinstance(content, Mapping) else None
    found = {}
    for path, entry in files.items() if isinstance(files, Mapping) else [("", None)]:
        if not isinstance(entry, list) or len(entry) != 3 or sizes.get(path) != entry[0]:
            raise ClusterError(f"{where} contradicts itself about the outputs of runs. Choose another backup")
        found[path] = Entry(int(entry[0]), int(entry[1]), str(entry[2]))
    return found
