# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A chain of entries, each with the hash of the previous one. Pure.

An entry is a dict with C(seq) (1, 2, …), C(prev) (hash of the previous entry, zeros in the first), C(hash) (SHA-256 of its own
canonical JSON without C(hash)) and its content. To alter, drop, add or move an entry, all later ones must be
rewritten, and the head record too; a hash that is stored elsewhere (an I(anchor)) detects even that.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base import foreign_data
from ..base.digests import canonical, digest

Entry = dict[str, Any]
START = "0" * 64


def seal(reported: Mapping[str, Any], seq: int, prev: str) -> Entry:
    """Create an entry from its content: number, chain and hash it."""
    entry = {**reported, "seq": seq, "prev": prev}
    return {**entry, "hash": digest(entry)}


@dataclass(frozen=True)
class Line:
    """One entry as it was found.

    Attributes:
        text: its JSON.
        where: the place, for messages.
    """

    text: str
    where: str


@dataclass(frozen=True)
class Head:
    """The content of the head record.

    Attributes:
        entries: number of entries.
        hash: hash of the last one.
    """

    entries: int
    hash: str


@dataclass
class Verdict:
    """Outcome of C(verify).

    Attributes:
        fault: what is wrong with the first bad entry, a sentence; empty when the chain is complete.
        notes: remarks that are not faults, sentences.
        entries: the entries that are proven, from the first to the last good one.
        doubtful: entries behind the first bad one that can still be read.
    """

    fault: str = ""
    notes: list[str] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    doubtful: list[Entry] = field(default_factory=list)

    @property
    def head(self) -> Head:
        """Number and hash of the last proven entry."""
        return Head(self.entries[-1]["seq"], self.entries[-1]["hash"]) if self.entries else Head(0, START)


def parse(text: str) -> Entry | None:
    """The entry of a line; None when it is none."""
    try:
        entry = foreign_data.read_json(text)
    except ValueError:  # what stands there instead may be anything
        return None
    shape = (("seq", int), ("prev", str), ("hash", str))
    if not isinstance(entry, dict) or not all(isinstance(entry.get(name), kind) for name, kind in shape):
        return None
    if isinstance(entry["seq"], bool):  # which Python takes for a number
        return None
    return entry


def verify(lines: Sequence[Line], head: Head | None, anchors: Sequence[str] = ()) -> Verdict:
    """Go through a chain from its first entry.

    Args:
        lines: the entries in stored order.
        head: the head record; None when there is none.
        anchors: hashes that are stored elsewhere; each must be the hash of an entry.
    """
    verdict = Verdict()
    for number, line in enumerate(lines):
        entry = parse(line.text)
        verdict.fault = _fault(line, entry, verdict.entries)
        if verdict.fault or entry is None:
            rest = (parse(other.text) for other in lines[number:])
            verdict.doubtful = [other for other in rest if other is not None]
            return verdict
        verdict.entries.append(entry)
    verdict.fault = _head_fault(verdict, head) or _anchor_fault(verdict, anchors)
    if head is not None and not verdict.fault and head.entries < verdict.head.entries:
        verdict.notes.append(
            f"the head record names {head.entries} of {verdict.head.entries} entries: "
            "the last write was interrupted; the next entry repairs it"
        )
    verdict.notes += _incomplete(verdict.entries)
    return verdict


def _fault(line: Line, entry: Entry | None, before: Sequence[Entry]) -> str:
    seq = before[-1]["seq"] + 1 if before else 1
    prev = before[-1]["hash"] if before else START
    if entry is None or canonical(entry) != line.text:
        return f"entry {seq} ({line.where}) was altered: it is not written as an entry is"
    if digest({name: value for name, value in entry.items() if name != "hash"}) != entry["hash"]:
        return f"entry {seq} ({line.where}) was altered: its content does not match its hash"
    if entry["seq"] > seq:
        return f"entry {seq} is missing: entry {entry['seq']} stands in its place ({line.where})"
    if entry["seq"] < seq:
        return f"entry {entry['seq']} stands in the place of entry {seq} ({line.where})"
    if entry["prev"] != prev:
        if not before:
            return f"entry 1 ({line.where}) is not the first one: it refers to a previous entry"
        return f"entry {seq - 1} was replaced: entry {seq} ({line.where}) was chained to another one"
    return ""


def _head_fault(verdict: Verdict, head: Head | None) -> str:
    last = verdict.head
    if head is None:
        return "there is no valid head record: entries may be missing at the end" if verdict.entries else ""
    if head.entries > last.entries:
        missing = (
            f"entry {head.entries} is"
            if head.entries == last.entries + 1
            else f"entries {last.entries + 1} to {head.entries} are"
        )
        return f"{missing} missing: the head record names {head.entries} entries, {last.entries} are there"
    known = verdict.entries[head.entries - 1]["hash"] if head.entries else START
    if head.hash != known:
        return f"entry {head.entries} does not match the head record: one of the two was altered"
    return ""


def _anchor_fault(verdict: Verdict, anchors: Sequence[str]) -> str:
    known = {entry["hash"] for entry in verdict.entries}
    for anchor in anchors:
        if anchor not in known:
            return f"no entry has the anchor hash {anchor}: the trail was truncated or rewritten since it was stored"
    return ""


def _incomplete(entries: Sequence[Entry]) -> list[str]:
    """Entries in several parts of which some are missing."""
    parts: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.get("parts"):
            parts.setdefault(entry["id"], []).append(entry)
    return [
        f"entry {found[0]['seq']} has {found[0]['parts']} parts, {len(found)} are there: its write was interrupted"
        for found in parts.values()
        if len({entry["part"] for entry in found}) < found[0]["parts"]
    ]
