# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit trail for people. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.people import who_where
from .hash_chain import Entry

_COLUMNS = ("entry", "time", "who", "playbook", "cluster", "what")
_NAMED = 4  # items of one kind that are named; for more, only the number
_SHORT = 19  # characters of a fingerprint or serial


def table(entries: Sequence[Entry], broken: Sequence[Entry] = ()) -> list[str]:
    """Entries as lines of text, one per cluster.

    Args:
        entries: proven entries.
        broken: entries behind a break of the chain; a question mark stands behind their number.
    """
    rows: list[tuple[str, ...]] = [_COLUMNS]
    for mark, found in (("", entries), ("?", broken)):
        for entry in found:
            rows += _rows(entry, mark)
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in rows]


def _rows(entry: Entry, mark: str) -> list[tuple[str, ...]]:
    sites, failed = _dict(entry.get("sites")), _dict(entry.get("failed"))
    reported = {site: _what(_dict(facts)) for site, facts in sites.items()}
    for host, message in failed.items():
        reported[host] = "; ".join(
            filter(None, (reported.get(host, ""), f"FAILED: {message}" if message else "FAILED"))
        )
    playbook = str(entry.get("playbook", ""))
    options = [f"--{name} {value}" for name, value in _dict(entry.get("options")).items()]
    if entry.get("interrupted"):
        options.append("(interrupted)")
    first = (
        f"{entry['seq']}{mark}",
        str(entry.get("time", ""))[:19],
        _who(_dict(entry.get("who"))),
        " ".join([playbook, *options]),
    )
    rest = ("", "", "", "")
    return [(*(rest if number else first), site, what) for number, (site, what) in enumerate(reported.items())] or [
        (*first, "", "")
    ]


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _who(who: Mapping[str, Any]) -> str:
    """The user, where, and as whom at the hub."""
    return f"{who_where(who)} as {who.get('kubernetes', '')}"


def _what(facts: Mapping[str, Any]) -> str:
    words = []
    for kind, found in facts.items():
        if isinstance(found, list):
            words += _objects(found) if kind == "objects" else [_facts(kind, found)]
    return "; ".join(words)


def _objects(found: Sequence[Any]) -> list[str]:
    """Objects by what became of them, without their namespace."""
    words = []
    changes = Counter(str(_dict(one).get("change")) for one in found)
    for change, number in changes.items():
        names = [str(one.get("object", "")) for one in map(_dict, found) if str(one.get("change")) == change]
        words.append(f"{change} " + (f"{number} objects" if number > _NAMED else ", ".join(map(_bare, names))))
    return words


def _bare(name: str) -> str:
    kind, _blank, place = name.partition(" ")
    return f"{kind} {place.rpartition('/')[2]}"


def _facts(kind: str, found: Sequence[Any]) -> str:
    if len(found) > _NAMED:
        return f"{kind}: {len(found)}"
    return f"{kind}: " + ", ".join(map(_fact, found))


def _fact(fact: Any) -> str:
    """A fact in short: fingerprints and serials shortened, hashes left out."""
    if not isinstance(fact, Mapping):
        return str(fact)
    return " ".join(
        str(value)[:_SHORT] if name in ("fingerprint", "serial") else str(value) for name, value in fact.items()
    )
