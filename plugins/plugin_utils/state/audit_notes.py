# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a task changed, as notes that are combined to the content of an audit entry. Pure.

A I(note) is a dict: C(at) (time, ISO 8601, UTC), C(site) (inventory name) and either C(facts) (kind of fact -> list, for example
C({"objects": [{"change": "created", "object": "Secret flower/superexec"}], "keys": [{"change": "registered", "fingerprint": "SHA256:…"}]}))
or C(failed) (a message). It contains only public facts.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.plain_data import canonical, digest

Note = dict[str, Any]
Content = dict[str, Any]

#: Bytes of one entry. A larger one is split into parts, so that a ConfigMap never comes near its limit of 1 MiB.
LIMIT = 200 * 1024
#: Bytes of one fact. Of a longer one the beginnings of its values are recorded, with their SHA-256.
FACT = 4 * 1024
#: Characters of a failed host's message.
MESSAGE = 300
#: Characters of a value that is shortened; each may be twelve bytes of JSON.
SHORT = 300
_CHANGES = ("created", "changed", "deleted")


def of_objects(objects: Iterable[Mapping[str, Any]]) -> list[dict[str, str]]:
    """The note of the C(objects) of a result: those that changed.

    Args:
        objects: dicts with C(kind), C(namespace), C(name), C(change) and, where there is one, C(sha256). Others are passed over.
    """
    noted = []
    for one in objects:
        if one.get("change") in _CHANGES:
            place = f"{one['namespace']}/" if one.get("namespace") else ""
            entry = {"change": one["change"], "object": f"{one['kind']} {place}{one['name']}"}
            noted.append(entry | ({"sha256": one["sha256"]} if one.get("sha256") else {}))
    return noted


def compose(notes: Sequence[Note], run: Mapping[str, Any], *, time: str, kubernetes: str, recorded: bool = False) -> Content | None:
    """Combine notes of one task; None when nothing was changed.

    Args:
        run: the facts of the run of Ansible, see C(actions/run_facts.py).
        kubernetes: the Kubernetes user, or a text with the reason why it is not known.
        recorded: whether an entry has changes of the same task. Then failures alone are an entry.
    """
    sites: dict[str, dict[str, list[Any]]] = {}
    seen: set[str] = set()
    for note in notes:
        for kind, found in note.get("facts", {}).items():
            for fact in found:
                same = canonical([note["site"], kind, fact])
                if same not in seen:
                    seen.add(same)
                    sites.setdefault(note["site"], {}).setdefault(kind, []).append(_bounded(fact))
    failed = {note["site"]: note["failed"][:MESSAGE] for note in notes if "failed" in note}
    if not sites and not (failed and recorded):
        return None
    reported: Content = {
        "id": digest([[run["pid"], note["at"], note["site"]] for note in notes])[:16],
        "time": time,
        "playbook": run["playbook"],
        "options": run["options"],
        "who": {**run["who"], "kubernetes": kubernetes},
        "sites": sites,
    }
    return reported | ({"failed": failed} if failed else {})


def _bounded(fact: Any) -> Any:
    """The fact, shortened if it is longer than C(FACT): what a site's cluster says may be of any length."""
    if len(canonical(fact)) <= FACT:
        return fact
    if isinstance(fact, Mapping):
        cut = {name: value if len(canonical(value)) <= FACT // 8 else _shortened(value) for name, value in fact.items()}
        if len(canonical(cut)) <= FACT:
            return cut
    return _shortened(fact)


def _shortened(value: Any) -> str:
    text = value if isinstance(value, str) else canonical(value)
    return f"{text[:SHORT]}… ({len(text)} characters, SHA-256 {hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()})"


def in_parts(content: Content, limit: int = LIMIT) -> list[Content]:
    """Divide an entry between its failed hosts and facts, so that each part stays below C(limit). Parts have C(part) (1, 2, …) and C(parts)."""
    common = {name: value for name, value in content.items() if name not in ("failed", "sites")}
    pieces: list[Content] = [{"failed": {host: message}} for host, message in content.get("failed", {}).items()]
    for site, facts in sorted(content["sites"].items()):
        pieces += [{"sites": {site: {kind: [fact]}}} for kind, found in facts.items() for fact in found]
    room = limit - len(canonical(common))
    parts: list[Content] = []
    used = room
    for piece in pieces:
        size = len(canonical(piece))
        if used + size > room:
            parts.append({"sites": {}})
            used = 0
        used += size
        for host, message in piece.get("failed", {}).items():
            parts[-1].setdefault("failed", {})[host] = message
        for site, facts in piece.get("sites", {}).items():
            for kind, found in facts.items():
                parts[-1]["sites"].setdefault(site, {}).setdefault(kind, []).extend(found)
    if len(parts) == 1:
        return [content]
    return [{**common, **part, "part": number, "parts": len(parts)} for number, part in enumerate(parts, 1)]
