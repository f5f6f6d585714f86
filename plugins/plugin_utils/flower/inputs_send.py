# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send inputs of a run to the volume for outputs: in pieces, each written at an offset, and continued from what is there.

The hub lists what it has, with the SHA-256 of each file. When that is what the control node has, the inputs get their name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from ..base.sizes import readable
from .cli import FlowerError
from .inputs_files import Inputs, LocalFile
from .outputs_reader import MAKE_ROOM, Contents, Reader, TooFull, Unusable, with_floor
from .transfer import Attempts, Steady

PIECE = 16 * 1024 * 1024  # bytes of a request, which is in memory


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
        """Bytes that the hub has of each file which is not complete. One with another content is sent anew, and so are all if it has others."""
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
            if self.reader.ask(request, data=data)[0].get("full"):
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
