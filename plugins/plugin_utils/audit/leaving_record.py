# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The leaving record of a site: a page of text, made of the entries of the audit trail. Pure.

It begins after the last deployment to the site, and ends with the last entry that names it. The same entries give the same page, so a page is
verified by making it again.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..base.foreign_data import cleaned
from ..base.people import who_where
from .hash_chain import Entry

UNTOUCHED = "Nothing was deleted in the site's cluster. Only the hub forgot the site."
_TITLE = "Leaving record of the site "
_ENTRY = re.compile(r"^Entry (\d+), ", re.MULTILINE)
_KINDS = {
    "keys": "keys of SuperNodes; the SuperLink permanently refuses one that is retired",
    "certificates": "client certificates; the gateway refuses one that is revoked",
    "volumes": "volume claims; storage Delete: the provisioner of a deleted claim deletes its data, Retain: the volume still has them",
}
_LONGEST = 8000  # characters of a line; a fact has at most 4 KiB of JSON


def entries_of(trail: Sequence[Entry], site: str) -> list[Entry]:
    """The entries on a site's leaving, oldest first; none if the site was not forgotten since it was deployed.

    Args:
        trail: the proven entries of the trail.
        site: its inventory name.
    """
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


def page(trail: Sequence[Entry], site: str, federation: str) -> str:
    """The leaving record.

    Args:
        trail: the proven entries of the trail.
        site: its inventory name.
        federation: name of the federation.
    """
    found = entries_of(trail, site)
    deleted = any(_change(fact) == "deleted" for entry in found for fact in _facts(entry, site).get("objects") or [])
    lines = [
        _line(f"{_TITLE}{site}"),
        _line(f"Federation {federation}, entries of the audit trail that name the site since its last deployment"),
        "",
    ]
    for entry in found:
        lines += [*_entry_lines(entry, site), ""]
    lines += [] if deleted else [UNTOUCHED, ""]
    lines += ["Created for the site and not deleted, as far as the audit trail says:"]
    lines += [_line(one, 1) for one in left(trail, site)] or [_line("nothing", 1)]
    return "\n".join(lines) + "\n"


def fault(text: str, trail: Sequence[Entry], federation: str) -> str:
    """How a page differs from the one that the trail gives, a sentence; empty if it does not."""
    first, _newline, _rest = text.partition("\n")
    last = max((int(number) for number in _ENTRY.findall(text)), default=0)
    if not first.startswith(_TITLE) or not last:
        return "it is not a leaving record"
    known = [entry for entry in trail if entry["seq"] <= last]
    expected = page(known, first.removeprefix(_TITLE), federation).splitlines()
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


def _entry_lines(entry: Entry, site: str) -> Iterator[str]:
    options = "".join(f" --{name} {value}" for name, value in (entry.get("options") or {}).items())
    user = who_where(entry.get("who") or {})
    yield _line(f"Entry {entry['seq']}, {entry.get('time')}: {entry.get('playbook')}{options} by {user}")
    yield _line(f"SHA-256 {entry['hash']}")
    for kind, found in _facts(entry, site).items():
        yield _line(f"{_KINDS.get(kind, kind)}:", 1)
        for fact in found:
            yield _line(_words(fact), 2)
    if site in (entry.get("failed") or {}):
        yield _line(f"failed: {entry['failed'][site]}", 1)


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
    found = (entry.get("sites") or {}).get(site)
    return found if isinstance(found, Mapping) else {}
