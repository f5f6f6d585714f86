# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the entries of the audit trail are packed into pieces of limited size, and where a trail continues. Pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base.digests import canonical
from .hash_chain import START, Entry, Head, parse, seal

#: Bytes from which on a piece accepts no more entries. With one more of notes.LIMIT it stays below 512 KiB.
FULL = 256 * 1024

Identity = tuple[Any, Any]


@dataclass
class Piece:
    """Outcome of C(fill).

    Attributes:
        text: the piece as it is now, lines of JSON.
        made: the entries that were added.
        taken: how many of the new entries are in the piece now, or were already.
    """

    text: str
    made: list[Entry] = field(default_factory=list)
    taken: int = 0


def full(text: str) -> bool:
    """Whether a piece takes no more. This follows from its content alone, so that all writers agree."""
    return len(text) >= FULL


def identity(reported: Mapping[str, Any]) -> Identity:
    """Identity of an entry, to detect duplicates."""
    return reported.get("id"), reported.get("part", 1)


def identities(lines: Sequence[str]) -> set[Identity]:
    """Those of the entries in some lines."""
    return {identity(entry) for entry in map(parse, lines) if entry is not None}


def fill(text: str, left: Sequence[Mapping[str, Any]], known: Collection[Identity], seq: int, prev: str) -> Piece:
    """Add entries to a piece until it is full.

    Args:
        text: the piece as it was.
        left: new entries, in order.
        known: identities that are already recorded.
        seq: number of the last entry so far.
        prev: its hash.
    """
    piece = Piece(text)
    for reported in left:
        if full(piece.text):
            break
        piece.taken += 1
        if identity(reported) not in known:
            piece.made.append(seal(reported, seq + 1, prev))
            seq, prev = seq + 1, piece.made[-1]["hash"]
            piece.text += canonical(piece.made[-1]) + "\n"
    return piece


def end(lines: Sequence[str], head: Head | None) -> tuple[int, str, str]:
    """Where a trail continues.

    Where head record and entries disagree, the new entry is chained so that the break stays visible.

    Args:
        lines: the last lines of the trail.
        head: the head record.

    Returns:
        Number and hash to chain the next entry to, and what is wrong, a sentence, or nothing.
    """
    last = parse(lines[-1]) if lines else None
    if head is None:
        if not lines:
            return 0, START, ""
        seq, prev = (last["seq"], last["hash"]) if last else (0, START)
        return seq, prev, "it had no head record, which is recreated"
    if last is not None and last["seq"] > head.entries:
        return last["seq"], last["hash"], ""  # its writer has not written the head record yet, or died before
    if last is None or Head(last["seq"], last["hash"]) != head:
        return head.entries, head.hash, f"it does not end with the entry {head.entries} that its head record names"
    return head.entries, head.hash, ""
