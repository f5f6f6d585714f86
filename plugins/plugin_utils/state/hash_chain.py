# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A chain of entries, each with the hash of the previous one. Pure.

An entry is a dict with C(seq) (1, 2, …), C(prev) (hash of the previous entry, zeros in the first), C(hash) (SHA-256 of its own
canonical JSON without C(hash)) and its content. To alter, drop, add or move an entry, all later ones must be
rewritten, and the head record too; a hash that is stored elsewhere (an I(anchor)) detects even that.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..base import foreign_data
from ..base.plain_data import digest

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
    try:
        entry = foreign_data.read_json(text)
    except ValueError:
        return None
    shape = {"seq": int, "prev": str, "hash": str}
    if not isinstance(entry, dict) or any(not isinstance(entry.get(name), kind) or isinstance(entry[name], bool) for name, kind in shape.items()):
        return None
    return entry
