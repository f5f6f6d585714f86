# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The audit trail for people. Pure."""

from __future__ import annotations

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
    found = {site: _changes(_dict(facts)) for site, facts in _dict(entry.get("sites")).items()}
    for host, message in _dict(entry.get("failed")).items():
        found[host] = "; ".join(filter(None, (found.get(host), f"FAILED: {message}" if message else "FAILED")))
    command = [
        str(entry.get("playbook", "")),
        *(f"--{name} {value}" for name, value in _dict(entry.get("options")).items()),
    ]
    command += ["(interrupted)"] if entry.get("interrupted") else []
    who = _dict(entry.get("who"))
    user = f"{who_where(who)} as {who.get('kubernetes', '')}"
    cells = (f"{entry['seq']}{mark}", str(entry.get("time", ""))[:19], user, " ".join(command))
    first, *rest = found.items() or [("", "")]
    return [(*cells, *first), *(("", "", "", "", *row) for row in rest)]


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _changes(facts: Mapping[str, Any]) -> str:
    """What changed in a cluster: of many facts of one kind only their number."""
    words = []
    for kind, found in facts.items():
        if isinstance(found, list) and kind == "objects":
            words += _objects(found)
        elif isinstance(found, list):
            words.append(f"{kind}: {len(found) if len(found) > _NAMED else ', '.join(map(_fact, found))}")
    return "; ".join(words)


def _objects(found: Sequence[Any]) -> list[str]:
    """Objects by change, without their namespace."""
    names: dict[str, list[str]] = {}
    for one in map(_dict, found):
        kind, _blank, place = str(one.get("object", "")).partition(" ")
        names.setdefault(str(one.get("change")), []).append(f"{kind} {place.rpartition('/')[2]}")
    return [
        f"{change} {f'{len(some)} objects' if len(some) > _NAMED else ', '.join(some)}"
        for change, some in names.items()
    ]


def _fact(fact: Any) -> str:
    """A fact in short: fingerprints and serials shortened."""
    if not isinstance(fact, Mapping):
        return str(fact)
    return " ".join(str(value)[: _SHORT if name in ("fingerprint", "serial") else None] for name, value in fact.items())
