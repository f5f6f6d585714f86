# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A chain of entries, each with the hash of the previous one, and its verification. Pure.

An entry is a dict with C(seq) (1, 2, …), C(prev) (hash of the previous entry, zeros in the first), C(hash) (SHA-256 of its own
canonical JSON without C(hash)) and its content. To alter, drop, add or move an entry, all later ones must be
rewritten, and the head record too; a hash that is stored elsewhere (an I(anchor)) detects even that.

An exported trail is a file of JSON lines: the entries as they are stored, and the head record as the last line.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ..base import foreign_data
from ..base.plain_data import canonical, digest

Entry = dict[str, Any]
START = "0" * 64


class Line(NamedTuple):
    """An entry as it is stored: its JSON, and the place for messages."""

    text: str
    where: str


class Head(NamedTuple):
    """The head record: number of entries, and hash of the last one."""

    entries: int = 0
    hash: str = START


def head_of(entry: Entry) -> Head:
    """The head record of a trail that ends with this entry."""
    return Head(entry["seq"], entry["hash"])


def seal(content: Mapping[str, Any], last: Head) -> Entry:
    """Create the entry that follows the last one: number, chain and hash its content."""
    entry = {**content, "seq": last.entries + 1, "prev": last.hash}
    return {**entry, "hash": digest(entry)}


def parse(text: str) -> Entry | None:
    """The entry of a line; None when the line does not contain one."""
    return _parse(text, {"seq": int, "prev": str, "hash": str})


def _parse(text: str, shape: Mapping[str, type]) -> Entry | None:
    try:
        found = foreign_data.read_json(text)
    except ValueError:
        return None
    if not isinstance(found, dict):
        return None
    values = ((found.get(name), kind) for name, kind in shape.items())
    return found if all(isinstance(value, kind) and not isinstance(value, bool) for value, kind in values) else None


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
        head: the head record; None when there is none.
        anchors: hashes that are stored elsewhere; each must be the hash of an entry.
    """
    verdict = Verdict()
    for number, line in enumerate(lines):
        entry = parse(line.text)
        verdict.fault = _entry_error(line, entry, verdict.head)
        if verdict.fault or entry is None:
            verdict.doubtful = [other for later in lines[number:] if (other := parse(later.text))]
            return verdict
        verdict.entries.append(entry)
    hashes = [START, *(entry["hash"] for entry in verdict.entries)]
    last = verdict.head.entries
    unknown = [anchor for anchor in anchors if anchor not in hashes[1:]]
    if head is None and last:
        verdict.fault = "there is no valid head record: entries may be missing at the end"
    elif head and head.entries > last:
        missing = f"entry {last + 1} is" if head.entries == last + 1 else f"entries {last + 1} to {head.entries} are"
        verdict.fault = f"{missing} missing: the head record names {head.entries} entries, {last} are there"
    elif head and head.hash != hashes[max(head.entries, 0)]:
        verdict.fault = f"entry {head.entries} does not match the head record: one of the two was altered"
    elif unknown:
        verdict.fault = f"no entry has the anchor hash {unknown[0]}: the trail was truncated or rewritten since it was stored"
    elif head and head.entries < last:
        verdict.notes.append(f"the head record names {head.entries} of {last} entries: the last write was interrupted; the next entry repairs it")
    return verdict


def _entry_error(line: Line, entry: Entry | None, last: Head) -> str:
    seq = last.entries + 1
    if entry is None or canonical(entry) != line.text:
        return f"entry {seq} ({line.where}) was altered: it is not written as an entry is"
    if digest({name: value for name, value in entry.items() if name != "hash"}) != entry["hash"]:
        return f"entry {seq} ({line.where}) was altered: its content does not match its hash"
    if entry["seq"] > seq:
        return f"entry {seq} is missing: entry {entry['seq']} is in its place ({line.where})"
    if entry["seq"] < seq:
        return f"entry {entry['seq']} stands in the place of entry {seq} ({line.where})"
    if entry["prev"] == last.hash:
        return ""
    if seq == 1:
        return f"entry 1 ({line.where}) is not the first one: it refers to a previous entry"
    return f"entry {seq - 1} was replaced: entry {seq} ({line.where}) was chained to another one"


def export(lines: Sequence[Line], head: Head | None) -> list[str]:
    """The lines of an exported trail."""
    return [*(line.text for line in lines), *([] if head is None else [canonical(head._asdict())])]


def read_export(found: Sequence[str], name: str) -> tuple[list[Line], Head | None]:
    """Entries and head record of an exported trail; no head record when the last line is not one, as in a truncated file."""
    last = _parse(found[-1], {"entries": int, "hash": str}) if found else None
    head = Head(**last) if last and set(last) == {*Head._fields} else None
    entries = found if head is None else found[:-1]
    return [Line(text, f"{name}, line {number}") for number, text in enumerate(entries, 1)], head
