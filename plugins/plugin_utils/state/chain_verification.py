# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Verify a chain of entries, of the hub or of an exported trail. Pure.

An exported trail is a file of JSON lines: the entries as they are stored, and the head record as the last line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from ..base import foreign_data
from ..base.plain_data import canonical, digest
from .hash_chain import START, Entry, Head, Line, head_of, parse


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
        return head_of(self.entries[-1]) if self.entries else Head()


def verify(lines: Sequence[Line], head: Head | None, anchors: Sequence[str] = ()) -> Verdict:
    """Verify a chain from its first entry.

    Args:
        lines: the entries in stored order.
        head: the head record; None when there is none.
        anchors: hashes that are stored elsewhere; each must be the hash of an entry.
    """
    verdict = Verdict()
    for number, line in enumerate(lines):
        entry = parse(line.text)
        verdict.fault = _fault(line, entry, verdict.head)
        if verdict.fault or entry is None:
            verdict.doubtful = [other for later in lines[number:] if (other := parse(later.text))]
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


def _fault(line: Line, entry: Entry | None, last: Head) -> str:
    seq = last.entries + 1
    if entry is None or canonical(entry) != line.text:
        return f"entry {seq} ({line.where}) was altered: it is not written as an entry is"
    if digest({name: value for name, value in entry.items() if name != "hash"}) != entry["hash"]:
        return f"entry {seq} ({line.where}) was altered: its content does not match its hash"
    if entry["seq"] > seq:
        return f"entry {seq} is missing: entry {entry['seq']} stands in its place ({line.where})"
    if entry["seq"] < seq:
        return f"entry {entry['seq']} stands in the place of entry {seq} ({line.where})"
    if entry["prev"] == last.hash:
        return ""
    if seq == 1:
        return f"entry 1 ({line.where}) is not the first one: it refers to a previous entry"
    return f"entry {seq - 1} was replaced: entry {seq} ({line.where}) was chained to another one"


def _head_fault(verdict: Verdict, head: Head | None) -> str:
    last = verdict.head
    if head is None:
        return "there is no valid head record: entries may be missing at the end" if verdict.entries else ""
    if head.entries > last.entries:
        first = last.entries + 1
        missing = f"entry {first} is" if head.entries == first else f"entries {first} to {head.entries} are"
        return f"{missing} missing: the head record names {head.entries} entries, {last.entries} are there"
    if head.hash != (verdict.entries[head.entries - 1]["hash"] if head.entries else START):
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
    found: dict[str, list[Entry]] = {}
    for entry in entries:
        if entry.get("parts"):
            found.setdefault(entry["id"], []).append(entry)
    return [
        f"entry {parts[0]['seq']} has {parts[0]['parts']} parts, {len(parts)} are there: its write was interrupted"
        for parts in found.values()
        if len({part["part"] for part in parts}) < parts[0]["parts"]
    ]


def export(lines: Sequence[Line], head: Head | None) -> list[str]:
    """The lines of an exported trail."""
    last = [] if head is None else [canonical(head._asdict())]
    return [line.text for line in lines] + last


def read_export(found: Sequence[str], name: str) -> tuple[list[Line], Head | None]:
    """Entries and head record of an exported trail; no head record when the last line is not one, as in a truncated file.

    Args:
        found: the lines of the file.
        name: its name, for messages.
    """
    head = _read_head(found[-1]) if found else None
    entries = found if head is None else found[:-1]
    return [Line(text, f"{name}, line {number}") for number, text in enumerate(entries, 1)], head


def _read_head(text: str) -> Head | None:
    try:
        found = foreign_data.read_json(text)
    except ValueError:
        return None
    if not isinstance(found, dict) or set(found) != {"entries", "hash"} or not isinstance(found["entries"], int) or isinstance(found["entries"], bool):
        return None
    return Head(found["entries"], str(found["hash"]))
