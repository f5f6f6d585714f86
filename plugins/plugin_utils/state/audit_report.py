# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The audit trail for people: a table, and the leaving record of a site. Pure.

It begins after the last deployment to the site, and ends with the last entry that names it. The same entries give the same page, so a page is
verified by making it again.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.foreign_data import cleaned
from ..base.formats import user_at_host
from .hash_chain import Entry

_COLUMNS = ("entry", "time", "who", "playbook", "cluster", "what")
_NAMED = 4  # items of one kind that are named; for more, only the number
_SHORT = 19  # characters of a fingerprint or serial

UNTOUCHED = "Nothing was deleted in the site's cluster. Only the hub forgot the site."
_TITLE = "Leaving record of the site "
_ENTRY = re.compile(r"^Entry (\d+), ", re.MULTILINE)
_KINDS = {
    "keys": "keys of SuperNodes; the SuperLink permanently refuses one that is retired",
    "certificates": "client certificates; the gateway refuses one that is revoked",
    "volumes": "volume claims; storage Delete: the provisioner of a deleted claim deletes its data, Retain: the volume still has them",
}
_LONGEST = 8000  # characters of a line; a fact has at most 4 KiB of JSON


def trail_table(entries: Sequence[Entry], broken: Sequence[Entry] = ()) -> list[str]:
    """Entries as lines of text, one per cluster.

    Args:
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
    user = f"{user_at_host(who)} as {who.get('kubernetes', '')}"
    cells = (f"{entry['seq']}{mark}", str(entry.get("time", ""))[:19], user, " ".join(command))
    first, *rest = found.items() or [("", "")]
    return [(*cells, *first), *(("", "", "", "", *row) for row in rest)]


def _dict(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _changes(facts: Mapping[str, Any]) -> str:
    """What changed in a cluster: objects by change, without their namespace; of many facts of one kind only their number."""
    words = []
    for kind, found in facts.items():
        if isinstance(found, list) and kind == "objects":
            names: dict[str, list[str]] = {}
            for one in map(_dict, found):
                what, _blank, place = str(one.get("object", "")).partition(" ")
                names.setdefault(str(one.get("change")), []).append(f"{what} {place.rpartition('/')[2]}")
            words += [f"{change} {f'{len(some)} objects' if len(some) > _NAMED else ', '.join(some)}" for change, some in names.items()]
        elif isinstance(found, list):
            words.append(f"{kind}: {len(found) if len(found) > _NAMED else ', '.join(map(_fact, found))}")
    return "; ".join(words)


def _fact(fact: Any) -> str:
    """A fact in short: fingerprints and serials shortened."""
    if not isinstance(fact, Mapping):
        return str(fact)
    return " ".join(str(value)[: _SHORT if name in ("fingerprint", "serial") else None] for name, value in fact.items())


def entries_of(trail: Sequence[Entry], site: str) -> list[Entry]:
    """The entries on a site's leaving, oldest first; none if the site was not forgotten since it was deployed."""
    found: list[Entry] = []
    for entry in reversed(trail):
        facts = _facts(entry, site)
        if any(
            _change(fact) in ("registered", "created") for kind in ("keys", "objects") for fact in facts.get(kind, [])
        ):
            break
        if facts or site in (entry.get("failed") or {}):
            found.insert(0, entry)
    return found if any("forgotten" in (_facts(entry, site).get("words") or []) for entry in found) else []


def leaving_page(trail: Sequence[Entry], site: str, federation: str) -> str:
    """The leaving record."""
    found = entries_of(trail, site)
    deleted = any(_change(fact) == "deleted" for entry in found for fact in _facts(entry, site).get("objects") or [])
    lines = [
        _line(f"{_TITLE}{site}"),
        _line(f"Federation {federation}, entries of the audit trail that name the site since its last deployment"),
        "",
    ]
    for entry in found:
        options = "".join(f" --{name} {value}" for name, value in _dict(entry.get("options")).items())
        user = user_at_host(_dict(entry.get("who")))
        lines.append(_line(f"Entry {entry['seq']}, {entry.get('time')}: {entry.get('playbook')}{options} by {user}"))
        lines.append(_line(f"SHA-256 {entry['hash']}"))
        for kind, facts in _facts(entry, site).items():
            lines += [_line(f"{_KINDS.get(kind, kind)}:", 1), *(_line(_words(fact), 2) for fact in facts)]
        lines += [_line(f"failed: {entry['failed'][site]}", 1)] if site in _dict(entry.get("failed")) else []
        lines.append("")
    lines += [] if deleted else [UNTOUCHED, ""]
    lines += ["Created for the site and not deleted, as far as the audit trail says:"]
    lines += [_line(one, 1) for one in left(trail, site)] or [_line("nothing", 1)]
    return "\n".join(lines) + "\n"


def leaving_error(text: str, trail: Sequence[Entry], federation: str) -> str:
    """How a page differs from the one that the trail gives, a sentence; empty if it does not."""
    first, _newline, _rest = text.partition("\n")
    last = max((int(number) for number in _ENTRY.findall(text)), default=0)
    if not first.startswith(_TITLE) or not last:
        return "it is not a leaving record"
    known = [entry for entry in trail if entry["seq"] <= last]
    expected = leaving_page(known, first.removeprefix(_TITLE), federation).splitlines()
    found = text.splitlines()
    for number in range(max(len(found), len(expected))):
        if found[number : number + 1] != expected[number : number + 1]:
            return f"line {number + 1} differs from the audit trail, which is of {federation}"
    return ""


def left(trail: Sequence[Entry], site: str) -> list[str]:
    """Objects that were created for a site and, as far as is known, not deleted, neither alone nor with their namespace."""
    last: dict[str, str] = {}
    for entry in trail:
        for fact in _facts(entry, site).get("objects") or []:
            if isinstance(fact, Mapping):
                last[str(fact.get("object"))] = _change(fact)
                kind, _space, name = str(fact.get("object")).partition(" ")
                if kind in ("Namespace", "Project") and _change(fact) == "deleted":
                    last = {
                        key: change for key, change in last.items() if not key.partition(" ")[2].startswith(f"{name}/")
                    }
    return sorted(key for key, change in last.items() if change != "deleted")


def _line(text: str, level: int = 0) -> str:
    """What sites report may have line ends and control characters."""
    return "    " * level + cleaned(text, _LONGEST)


def _words(fact: Any) -> str:
    if not isinstance(fact, Mapping):
        return str(fact)
    names = sorted(fact.keys() - {"change", "object", "sha256"}, key=lambda name: (name == "choice", name))
    rest = ", ".join(f"{name} {fact[name]}" for name in names)
    return " ".join(filter(None, (_change(fact), str(fact.get("object", "")), rest)))


def _change(fact: Any) -> str:
    return str(fact.get("change", "")) if isinstance(fact, Mapping) else ""


def _facts(entry: Entry, site: str) -> Mapping[str, Any]:
    return _dict(_dict(entry.get("sites")).get(site))
