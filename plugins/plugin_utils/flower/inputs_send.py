# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Inputs of a run: a file of the control node, or the files of a folder, with a name that follows from their content, and how they get to the hub.

They are sent in pieces, each written at an offset, and continued from what is there. The hub lists what it has, with the SHA-256 of each file. When
that is what the control node has, the inputs get their name.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..base.formats import readable
from ..base.plain_data import digest
from ..programs.outputs_program import INPUTS, LONGEST, MOST
from .cli import FlowerError
from .outputs_reader import MAKE_ROOM, Contents, Reader, TooFull, Unusable, shown, unfit, with_floor
from .transfer import Attempts, Steady, sha256

PIECE = 16 * 1024 * 1024  # bytes of a request, which is in memory
_HIDDEN = re.compile(r"(?:[^./][^/]*/)*\.[^/]*")
_NAMED = 5  # hidden files in a message


@dataclass(frozen=True)
class LocalFile:
    """A file.

    Attributes:
        path: on the control node.
        size: bytes.
        mtime: time of the last change, nanoseconds since 1970.
        sha256: of its content.
    """

    path: Path
    size: int
    mtime: int
    sha256: str


@dataclass(frozen=True)
class Inputs:
    """What a run is handed.

    Attributes:
        given: what the user named.
        files: path within the inputs -> file.
    """

    given: Path
    files: dict[str, LocalFile]

    @property
    def name(self) -> str:
        """SHA-256 of the list of the files: other content has another name."""
        return digest({path: {"size": one.size, "sha256": one.sha256} for path, one in self.files.items()})

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum(one.size for one in self.files.values())

    @property
    def place(self) -> str:
        """Where apps find what the user named, a file or a folder, below C(FLOWER_OUTPUTS_DIR)."""
        folder = f"{INPUTS}/{self.name}"
        return folder if self.given.is_dir() else f"{folder}/{next(iter(self.files))}"


def load(path: str, say: Callable[[str], None] = lambda _text: None) -> Inputs:
    """Read the names and hashes of a file, or of all files in a folder.

    Args:
        path: what the user named.
        say: shows the progress.

    Raises:
        FlowerError: there is none, or one that cannot be sent.
    """
    given = Path(path).expanduser().absolute()
    steady = Steady(say, f"inputs {given}")

    def heard() -> None:
        steady("their SHA-256 are computed, since {since}")

    try:
        if given.is_file():
            return Inputs(given, {given.name: _local(given, given.name, heard)})
        if not given.is_dir():
            what = "is neither a file nor a folder" if given.exists() else "does not exist"
            raise FlowerError(f"inputs: {given} {what}")
        names = sorted(_names(given))
        _refuse_hidden(given, names)
        files = {name: _local(given / name, name, heard) for name in names}
    except OSError as error:
        raise FlowerError(f"inputs: cannot read {error.filename or given}: {error.strerror}") from error
    if not files:
        raise FlowerError(f"inputs: the folder {given} has no files")
    return Inputs(given, files)


def _names(folder: Path) -> Iterator[str]:
    count = length = 0
    for inside, folders, names in os.walk(folder, onerror=_raised):
        for name in folders:
            if os.path.islink(os.path.join(inside, name)):
                raise FlowerError(
                    f"inputs: {Path(inside, name)} is a symbolic link to a folder; replace it with the folder"
                )
        for name in [*folders, *names]:  # the hub counts both
            count, length = count + 1, length + len(os.path.relpath(os.path.join(inside, name), folder))
            if count > MOST or length > LONGEST:
                limit = (
                    f"{MOST} files and folders" if count > MOST else f"{LONGEST} characters in the names of all files"
                )
                raise FlowerError(f"inputs: {folder} has more than {limit}; pack them into one")
        yield from (os.path.relpath(os.path.join(inside, name), folder) for name in names)


def _refuse_hidden(folder: Path, names: Iterable[str]) -> None:
    """Refuse what is in a folder without being seen, such as C(.git) or C(.env): all apps of the federation can read inputs.

    Raises:
        FlowerError: there is something, with the first of it.
    """
    hidden = list(dict.fromkeys(found[0] for name in names if (found := _HIDDEN.match(name))))
    if hidden:
        more = f" and {len(hidden) - _NAMED} more" if len(hidden) > _NAMED else ""
        raise FlowerError(
            f"inputs: {folder} has hidden files or folders, which apps of all users of the federation could read: "
            f"{', '.join(map(shown, hidden[:_NAMED]))}{more}. Remove them, or name a folder without them"
        )


def _raised(error: OSError) -> None:
    raise error


def _local(path: Path, name: str, heard: Callable[[], None]) -> LocalFile:
    """Links to files are followed: their content is what an app gets."""
    if why := unfit(name):
        raise FlowerError(f"inputs: {shown(str(path))} cannot be sent: {why}")
    seen = path.stat()
    if not stat.S_ISREG(seen.st_mode):
        raise FlowerError(f"inputs: {path} is not a regular file")
    return LocalFile(path, seen.st_size, seen.st_mtime_ns, sha256(path, heard))


class Sending:
    """Sends the inputs of one run.

    Args:
        reader: of the volume.
        inputs: what is sent.
        floor: room that is left there, as a quantity; empty for the floor of the hub.
        say: shows the progress.
        keep: id of the run whose outputs are handed over with them, and are marked as used with each request; empty for none.

    Attributes:
        size: bytes that were sent.
        requests: pieces that it took; 0 if everything was there.
    """

    def __init__(self, reader: Reader, inputs: Inputs, floor: str, say: Callable[[str], None], keep: str = "") -> None:
        self.reader = reader
        self.inputs = inputs
        self.floor = floor
        self.size = self.requests = 0
        self._keeps = {"keep": keep} if keep else {}
        self._attempts = Attempts(reader, say, "sending inputs")
        self._steady = Steady(say, f"inputs {inputs.given}")

    def missing(self) -> int | None:
        """Bytes that the hub lacks; None if everything is there. Nothing is sent.

        Raises:
            ClusterError: it is not known, or there is no room for them.
        """
        there = self._listed({})
        offsets = self._offsets(there)
        return None if there.whole and not offsets else self._left(offsets)

    def send(self) -> None:
        """Send what the hub lacks.

        Raises:
            ClusterError: it could not be completed. What was sent stays, and is continued the next time.
        """
        if why := self._attempts.run(self._transfer):
            raise FlowerError(
                f"nothing was submitted, because the inputs {self.inputs.given} could not be sent completely: {why} What was sent stays on the "
                "hub: run this again to continue"
            )

    def _transfer(self) -> bool:
        """Send what the hub lacks, and have it give the inputs their name; whether it has."""
        there = self._listed(self._keeps)
        if offsets := self._offsets(there):
            self._attempts.left = self._left(offsets)
            if there.whole or there.left_out:  # an app changed them
                self.reader.delete([], [self.inputs.name])
                offsets = dict.fromkeys(self.inputs.files, 0)
            self._write(offsets, there.room.floor)
            if self._offsets(self._listed(self._keeps)):
                return False
        self.reader.ask({"do": "finish", "inputs": [self.inputs.name], **self._keeps})
        return True

    def _listed(self, keep: Mapping[str, str]) -> Contents:
        """What the hub has of the inputs.

        Raises:
            FlowerError: there is no room for the rest, or something else is in their place.
        """
        try:
            there = self.reader.inputs(self.inputs.name, self.inputs.size, lambda: self._steady("the hub compares them, since {since}"), keep)
        except Unusable as error:
            raise FlowerError(f"nothing was submitted, because {error.message}") from None
        there.left_out |= dict.fromkeys(there.files.keys() - self.inputs.files, "it is not among them")
        there.room = room = with_floor(there.room, self.floor)
        need = self._left(offsets := self._offsets(there))
        if offsets and room.free - need < room.floor:
            raise TooFull(
                f"nothing was submitted, because the volume for outputs on {self.reader.cluster.name} has too little room for the inputs "
                f"{self.inputs.given}: {readable(need)} are to be sent, {room}, and {readable(room.floor)} stay free "
                f"(superlink_outputs_min_free). {MAKE_ROOM}"
            )
        return there

    def _offsets(self, there: Contents) -> dict[str, int]:
        """Bytes that the hub has of each file which is not complete. One with another content is sent again, and so are all if it has others."""
        if there.left_out:
            return dict.fromkeys(self.inputs.files, 0)
        found = {}
        for path, one in self.inputs.files.items():
            size, _mtime, sha256 = there.files.get(path, (-1, 0, ""))
            if (size, sha256) != (one.size, one.sha256):
                found[path] = size if 0 < size < one.size else 0
        return found

    def _left(self, offsets: Mapping[str, int]) -> int:
        return sum(self.inputs.files[path].size - offset for path, offset in offsets.items())

    def _write(self, offsets: Mapping[str, int], floor: int) -> None:
        """Send all pieces that are missing.

        Raises:
            ClusterError: one of them did not arrive.
        """
        for parts, data in self._pieces(offsets):
            self.requests += 1
            request = {"do": "write", "inputs": [self.inputs.name], "files": parts, "floor": floor, **self._keeps}
            if any(one.get("full") for one in self.reader.ask(request, data=data)):
                raise TooFull(
                    f"nothing was submitted, because the volume for outputs on {self.reader.cluster.name} became full while the inputs "
                    f"{self.inputs.given} were sent: {readable(floor)} stay free (superlink_outputs_min_free). What was sent of them is "
                    f"deleted there. {MAKE_ROOM}"
                )
            self.size += len(data)
            self._steady(f"{readable(self.size)} sent, of {readable(self.inputs.size)} in all")

    def _pieces(self, offsets: Mapping[str, int]) -> Iterator[tuple[list[tuple[str, int, int]], bytes]]:
        """Parts of files (path, offset, bytes), and their bytes together."""
        parts: list[tuple[str, int, int]] = []
        data = bytearray()
        for path, offset in offsets.items():
            one = self.inputs.files[path]
            while True:
                found = _read(one, offset, min(PIECE - len(data), one.size - offset))
                parts.append((path, offset, len(found)))
                data += found
                offset += len(found)
                if len(data) >= PIECE:
                    yield parts, bytes(data)
                    parts, data = [], bytearray()
                if offset >= one.size:
                    break
        if parts:
            yield parts, bytes(data)


def _read(file: LocalFile, offset: int, size: int) -> bytes:
    """A part of a file.

    Raises:
        FlowerError: it is not what it was when its SHA-256 was computed.
    """
    try:
        with open(file.path, "rb") as stream:
            stream.seek(offset)
            found = stream.read(size)
            seen = os.fstat(stream.fileno())
    except OSError as error:
        raise FlowerError(f"inputs: cannot read {file.path}: {error.strerror}") from error
    if (seen.st_size, seen.st_mtime_ns) != (file.size, file.mtime) or len(found) < size:
        raise FlowerError(
            f"nothing was submitted, because {file.path} is changed while it is sent; submit the run when nothing writes to it any more"
        )
    return found
