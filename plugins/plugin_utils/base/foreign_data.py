# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Data and text of others: of API servers, of programs in pods, of apps, and of files that were sent. Pure.

Size, number of values and depth are limited, so that no site, app or file can fill the memory of the control node, or end the work on other
sites. Text for people has no control characters.
"""

from __future__ import annotations

import contextlib
import json
import math
import re
from collections.abc import Iterator
from typing import Any

#: Bytes of a document, such as an answer of an API server or a line of a program. An object in a cluster has 1.5 MiB at most.
MOST = 16 * 1024 * 1024
_EACH = 64  # bytes in memory of a value
_DEEPEST = 200
#: All but the tabulator and the end of a line.
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

#: What data of an unforeseen shape can raise.
FAULTS = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


class LimitExceeded(ValueError):
    """It exceeds a limit."""


def read_json(data: str | bytes, most: int = MOST) -> Any:
    """Parse JSON of at most so many bytes, with at most an eighth as many values.

    Raises:
        ValueError: it is none, or exceeds a limit (C(LimitExceeded)).
    """
    if len(data) > most:
        raise LimitExceeded(f"it is larger than {most >> 20} MiB")
    if memory_bytes(data) - len(data) > most // 8 * _EACH:
        raise LimitExceeded(f"it has more than {most // 8} values")
    try:
        found = json.loads(data)
    except (RecursionError, MemoryError) as error:
        raise LimitExceeded(f"it is nested too deeply: {error}") from error
    if _count(data, "[{") > _DEEPEST and _is_deep([found]):
        raise LimitExceeded(f"it is nested more than {_DEEPEST} levels deep")
    return found


def _is_deep(outer: Any, left: int = _DEEPEST) -> bool:
    inner = outer.values() if isinstance(outer, dict) else outer
    return left < 0 or any(_is_deep(one, left - 1) for one in inner if isinstance(one, (dict, list)))


def memory_bytes(data: str | bytes) -> int:
    """About how many bytes the values of a JSON document need in memory."""
    return len(data) + _EACH * _count(data, "[{{,:")  # an object is as large as two values


@contextlib.contextmanager
def expect_shape(error: Exception) -> Iterator[None]:
    """Raise this error where data turns out to have another shape than the block expects."""
    try:
        yield
    except FAULTS as fault:
        raise error from fault


def _count(data: str | bytes, marks: str) -> int:
    return sum(data.count(one) if isinstance(data, str) else data.count(one.encode()) for one in marks)


def cleaned(text: str, most: int = 2000) -> str:
    """A text for people, in one line: without control characters and those that change the direction of writing, and not too long."""
    return without_controls(" ".join(text[: 2 * most].split()), most)


def without_controls(text: str, most: int = 100_000) -> str:
    """As C(cleaned), with its line ends and spaces."""
    clean = CONTROL.sub("?", text[:most])
    return clean if len(text) <= most else f"{clean[:-1]}…"


class Lines:
    """Cuts a stream of so many bytes at most into lines. Its pieces may end anywhere, even within a character."""

    def __init__(self, most: float = math.inf) -> None:
        self._rest, self._left = bytearray(), most

    def feed(self, data: bytes) -> list[str]:
        """The lines that are complete with this piece.

        Raises:
            LimitExceeded: a line is too long, or the stream.
        """
        self._left -= len(data)
        *ends, rest = data.split(b"\n")
        if ends:
            ends[0] = bytes(self._rest) + ends[0]
            self._rest.clear()
        self._rest += rest
        if len(self._rest) > MOST or self._left < 0:
            raise LimitExceeded("what it printed, or a line of it, is too long")
        return [line.decode("utf-8", "replace") for line in ends]
