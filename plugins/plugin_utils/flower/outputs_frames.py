# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Frames of C(outputs_program), cut out of a stream whose pieces may end anywhere. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..base import foreign_data
from ..kube.api_errors import Unreachable
from ..programs.outputs_program import CHUNK

JSON, DATA = b"J"[0], b"D"[0]
_HEAD = 5
_LONGEST = max(CHUNK, 64 * 1024)


class Frames:
    """Keeps one incomplete frame at most."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.done = False
        self._rest = bytearray()

    def feed(self, data: bytes) -> Iterator[dict[str, Any] | bytes]:
        """The frames that are complete with this piece: answers and data.

        Raises:
            Unreachable: a part was lost on the way, or it is not a frame.
        """
        self._rest += data
        while not self.done and len(self._rest) >= _HEAD:
            kind, size = self._rest[0], int.from_bytes(self._rest[1:_HEAD], "big")
            if kind not in (JSON, DATA) or size > _LONGEST:
                raise self._damaged()
            if len(self._rest) < _HEAD + size:
                return
            body = bytes(self._rest[_HEAD : _HEAD + size])
            del self._rest[: _HEAD + size]
            if kind == DATA:
                yield body
                continue
            answer = self._answer(body)
            self.done = "done" in answer
            yield answer
        if self.done:
            self._rest.clear()  # the line with which every program ends

    def _answer(self, body: bytes) -> dict[str, Any]:
        try:
            answer = foreign_data.read_json(body)
        except ValueError:
            raise self._damaged() from None
        if not isinstance(answer, dict):
            raise self._damaged()
        return answer

    def _damaged(self) -> Unreachable:
        return Unreachable(f"{self.name}: a part of the outputs was lost on the way.")
