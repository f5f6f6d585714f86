# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Send inputs of a run to the volume for outputs: in pieces, verified there, and continued where a connection broke.

Each piece is a request of its own that can be repeated. The hub says what it has, and at the end whether the SHA-256 of each file
is the one of the control node; only then the inputs get their name, see C(outputs_program.offer).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..base.errors import ClusterError
from ..base.sizes import readable
from ..kube.api_errors import ApiError, Forbidden, Unauthorized, Unreachable
from .cli import FlowerError
from .inputs_files import STEADY, Inputs
from .outputs_fetch import PAUSES, SILENCE
from .outputs_reader import MAKE_ROOM, Reader, TooFull, room_of, shown, unusable_inputs, with_floor

PIECE = 16 * 1024 * 1024  # bytes of a request, which is in memory
_SLOWEST = 20 * 1024 * 1024  # bytes per second that the hub hashes, at least


@dataclass
class Sent:
    """What came of it.

    Attributes:
        size: bytes that were sent; 0 if everything was there.
        requests: pieces that it took.
    """

    size: int = 0
    requests: int = 0


@dataclass(frozen=True)
class _Piece:
    """A part of some files: their paths, offsets and sizes, and all of their bytes."""

    parts: list[tuple[str, int, int]]
    data: bytes


class Sending:
    """Sends the inputs of one run.

    Args:
        reader: of the volume.
        inputs: what is sent.
        floor: room that is left there, as a quantity; empty for the floor of the hub.
        say: shows the progress.
        keep: id of the run whose outputs are handed over with them, and are marked as used with each piece; empty for none.
    """

    def __init__(self, reader: Reader, inputs: Inputs, floor: str, say: Callable[[str], None], keep: str = "") -> None:
        self.reader = reader
        self.inputs = inputs
        self.floor = floor
        self.say = say
        self._keeps = {"keep": keep} if keep else {}
        self.sent = Sent()
        self._spoken = time.monotonic()
        self._bad: set[str] = set()
        self._floor = 0  # bytes, as the last offer said

    def missing(self) -> int | None:
        """Bytes that the hub lacks; None if everything is there and verified. Nothing is sent.

        Raises:
            ClusterError: it is not known, or there is no room for them.
        """
        there = self._offer(look=True)
        return None if there is None else self._missing(there)

    def send(self) -> Sent:
        """Send what the hub lacks.

        Raises:
            ClusterError: it could not be completed. What was sent stays, and is continued the next time.
        """
        in_vain, most = 0, -1
        while True:
            trouble: ClusterError = Unreachable("the hub lacks parts of them after all were sent.")
            try:
                there = self._offer()
                if there is None:
                    return self.sent
                have = sum(there.values())
                in_vain, most = (0, have) if have > most else (in_vain + 1, most)
                if in_vain <= len(PAUSES):
                    self._send(there)
                    continue
            except (Forbidden, Unauthorized, FlowerError):
                raise
            except (Unreachable, ApiError) as error:
                trouble = error
                in_vain += 1
                self.reader.forget_place()
            if in_vain > len(PAUSES):
                raise FlowerError(
                    f"nothing was submitted, because the inputs {self.inputs.given} could not be sent completely: {trouble.message} What was "
                    "sent stays on the hub: run this again to continue"
                )
            self.say(f"{self.reader.cluster.name}: sending inputs is continued, because {trouble.message}")
            time.sleep(PAUSES[in_vain - 1])

    def _offer(self, look: bool = False) -> dict[str, int] | None:
        """What the hub has of the inputs, path -> bytes; None if that is everything.

        Raises:
            FlowerError: there is no room for the rest, or the files are changed meanwhile.
        """
        files = [[path, one.size, one.sha256] for path, one in self.inputs.files.items()]
        request = {"do": "look" if look else "offer", "inputs": [self.inputs.name], "files": files, **({} if look else self._keeps)}
        begun = time.monotonic()
        (answer,) = self.reader.ask(
            request,
            seconds=600 + 2 * self.inputs.size / _SLOWEST,
            silence=SILENCE,
            heard=lambda: self._steady(f"the hub compares them, since {time.monotonic() - begun:.0f} s"),
        )
        if why := unusable_inputs([answer], self.reader.cluster.name):
            raise FlowerError(f"nothing was submitted, because {why}")
        if answer["ready"]:
            return None
        if again := self._bad & set(answer["bad"]):
            raise FlowerError(
                f"nothing was submitted, because {shown(min(again))} of the inputs {self.inputs.given} is changed while it is sent; submit "
                "the run when nothing writes to it any more"
            )
        self._bad = set(answer["bad"])
        there = {str(path): int(size) for path, size in answer["there"].items() if path in self.inputs.files}
        self._refuse_too_little_room(answer, there)
        return there

    def _missing(self, there: Mapping[str, int]) -> int:
        return sum(max(one.size - there.get(path, 0), 0) for path, one in self.inputs.files.items())

    def _refuse_too_little_room(self, answer: Mapping[str, Any], there: Mapping[str, int]) -> None:
        room, need = with_floor(room_of(answer), self.floor), self._missing(there)
        self._floor = room.floor
        if room.free - need < room.floor:
            raise TooFull(
                f"nothing was submitted, because the volume for outputs on {self.reader.cluster.name} has too little room for the inputs "
                f"{self.inputs.given}: {readable(need)} are to be sent, {room}, and {readable(room.floor)} stay free "
                f"(superlink_outputs_min_free). {MAKE_ROOM}"
            )

    def _send(self, there: Mapping[str, int]) -> None:
        """Send all pieces that are missing.

        Raises:
            ClusterError: one of them did not arrive.
        """
        for piece in self._pieces(there):
            self.sent.requests += 1
            request = {"do": "take", "inputs": [self.inputs.name], "pieces": piece.parts, "floor": self._floor, **self._keeps}
            (answer,) = self.reader.ask(request, data=piece.data)
            if answer["full"]:
                raise TooFull(
                    f"nothing was submitted, because the volume for outputs on {self.reader.cluster.name} became full while the inputs "
                    f"{self.inputs.given} were sent: {readable(self._floor)} stay free (superlink_outputs_min_free). What was sent of them is "
                    f"deleted there. {MAKE_ROOM}"
                )
            if answer["gone"]:
                return
            self.sent.size += len(piece.data)
            self._steady(f"{readable(self.sent.size)} sent, of {readable(self.inputs.size)} in all")

    def _pieces(self, there: Mapping[str, int]) -> Iterator[_Piece]:
        parts: list[tuple[str, int, int]] = []
        data = bytearray()
        for path, one in self.inputs.files.items():
            offset = there.get(path, 0)
            if path in there and offset >= one.size:
                continue
            while True:
                found = _read(one.path, offset, min(PIECE - len(data), one.size - offset))
                parts.append((path, offset, len(found)))
                data += found
                offset += len(found)
                if len(data) >= PIECE:
                    yield _Piece(parts, bytes(data))
                    parts, data = [], bytearray()
                if offset >= one.size:
                    break
        if parts:
            yield _Piece(parts, bytes(data))

    def _steady(self, words: str) -> None:
        if time.monotonic() >= self._spoken + STEADY:
            self._spoken = time.monotonic()
            self.say(f"inputs {self.inputs.given}: {words}")


def _read(path: Path, offset: int, size: int) -> bytes:
    """A part of a file.

    Raises:
        FlowerError: it is not there any more.
    """
    try:
        with open(path, "rb") as stream:
            stream.seek(offset)
            found = stream.read(size)
    except OSError as error:
        raise FlowerError(f"inputs: cannot read {path}: {error.strerror}") from error
    if len(found) < size:
        raise FlowerError(
            f"inputs: {path} has become shorter while it is sent; submit the run when nothing writes to it any more"
        )
    return found
