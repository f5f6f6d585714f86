# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit trail as a file: the lines of the entries as they are, and the head record as the last line. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from ..base import foreign_data
from ..base.digests import canonical
from .hash_chain import Head, Line


def lines(entries: Sequence[Line], head: Head | None) -> list[str]:
    """The lines of the file."""
    last = [] if head is None else [canonical({"entries": head.entries, "hash": head.hash})]
    return [line.text for line in entries] + last


def parse(found: Sequence[str], name: str) -> tuple[list[Line], Head | None]:
    """Entries and head record of a file; no head record when the last line is not one, as in a truncated file.

    Args:
        found: the lines of the file.
        name: its name, for messages.
    """
    head = _head(found[-1]) if found else None
    entries = found if head is None else found[:-1]
    return [Line(text, f"{name}, line {number}") for number, text in enumerate(entries, 1)], head


def _head(text: str) -> Head | None:
    try:
        reported = foreign_data.read_json(text)
    except ValueError:
        return None
    if (
        not isinstance(reported, dict)
        or set(reported) != {"entries", "hash"}
        or not isinstance(reported["entries"], int)
    ):
        return None
    return Head(reported["entries"], str(reported["hash"]))
