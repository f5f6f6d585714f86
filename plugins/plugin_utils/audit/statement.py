# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The statement on a site that left: what the audit trail says became of what it had. Pure.

It begins after the last time that something was deployed at the site, and ends with the last entry that names it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.people import who_where
from .hash_chain import Entry

FORMAT = "federated.flower/leaving/v1"
#: Kinds of the networks and of the delivery that a site may have been part of, by the word for it in a statement.
KINDS = {
    "skupper": {"AccessGrant", "AccessToken", "Connector", "Link", "Listener", "RouterAccess", "Site"},
    "ocm": {"ManagedClusterAddOn", "ManifestWork"},
}
UNTOUCHED = "nothing was deleted in the site's cluster: the hub alone forgot the site, and what was created there may still be there"
Statement = dict[str, Any]


def entries_of(entries: Sequence[Entry], site: str) -> list[Entry]:
    """The entries on a site's leaving, oldest first; none if the last ones on it are not about leaving.

    Args:
        entries: the proven entries of the trail.
        site: its inventory name.
    """
    found: list[Entry] = []
    for entry in reversed(entries):
        facts = _facts(entry, site)
        if _is_deployment(facts):
            break
        if facts or site in (entry.get("failed") or {}):
            found.append(entry)
    found.reverse()
    return found if any(_changes(entry, site, "keys", "retired") or _is_forgotten(entry, site) for entry in found) else []


def state(trail: Sequence[Entry], site: str, *, federation: str, hub: str, time: str) -> Statement:
    """What is signed.

    Args:
        trail: all proven entries.
        site: its inventory name.
        federation: name of the federation.
        hub: name of the hub's cluster, and where the trail is.
        time: now, ISO 8601, UTC.
    """
    entries = entries_of(trail, site)
    deleted = [str(fact.get("object")) for entry in entries for fact in _changes(entry, site, "objects", "deleted")]
    staying = left(trail, site)
    untouched = [{"entry": entry["seq"], "message": UNTOUCHED} for entry in entries[-1:] if not deleted]
    return {
        "format": FORMAT,
        "federation": federation,
        "hub": hub,
        "site": site,
        "time": time,
        "unregistered": [fact for entry in entries for fact in _changes(entry, site, "keys", "retired")],
        "revoked": [str(fact.get("serial")) for entry in entries for fact in _changes(entry, site, "certificates", "revoked")],
        "deleted": deleted,
        "volumes": _volumes(entries, site),
        **{word: {"deleted": _of_kinds(deleted, kinds), "left": _of_kinds(staying, kinds)} for word, kinds in KINDS.items()},
        "out_of_reach": [
            {"entry": entry["seq"], "message": str(entry["failed"][site])}
            for entry in entries
            if site in (entry.get("failed") or {})
        ]
        + untouched,
        "left": staying,
        "entries": [
            {
                "entry": entry["seq"],
                "hash": entry["hash"],
                "time": str(entry.get("time", "")),
                "who": who_where(entry.get("who") or {}),
                "playbook": str(entry.get("playbook", "")),
            }
            for entry in entries
        ],
    }


def left(trail: Sequence[Entry], site: str) -> list[str]:
    """Objects that were created for a site and, as far as is known, not deleted, neither alone nor with their namespace."""
    last: dict[str, str] = {}
    for entry in trail:
        for one in _facts(entry, site).get("objects") or []:
            if isinstance(one, dict):
                last[str(one.get("object"))] = str(one.get("change"))
                kind, _space, name = str(one.get("object")).partition(" ")
                if kind in ("Namespace", "Project") and one.get("change") == "deleted":
                    last = {key: change for key, change in last.items() if not key.partition(" ")[2].startswith(f"{name}/")}
    return sorted(key for key, change in last.items() if change != "deleted")


def text(statement: Mapping[str, Any]) -> str:
    """The statement for people: plain text, lines of at most about 100 characters."""
    lines = [
        f"Statement on the site {statement['site']}, which left the federation {statement['federation']}",
        f"Hub: {statement['hub']}",
        f"Made: {statement['time']}",
        "",
    ]
    lines += _part(
        "Unregistered at the SuperLink, which refuses these keys from now on",
        [f"pool {key['pool']}, {key['name']}: node {key['node_id']}, {key['fingerprint']}" for key in statement["unregistered"]],
    )
    lines += _part("Client certificates revoked, by serial number", statement["revoked"])
    lines += _part("Deleted in the site's cluster", statement["deleted"])
    lines += _part("Volume claims", [_volume_words(one) for one in statement.get("volumes", [])])
    for word, title in (("skupper", "Skupper"), ("ocm", "Open Cluster Management")):
        found = statement.get(word) or {"deleted": [], "left": []}
        rows = [*(f"{one}: deleted" for one in found["deleted"]), *(f"{one}: created and not deleted" for one in found["left"])]
        lines += _part(f"Objects of {title} among these", rows)
    lines += _part("Created there and not deleted, as far as is known", statement["left"])
    lines += _part("Out of reach", [f"entry {one['entry']}: {one['message']}" for one in statement["out_of_reach"]])
    lines += _part(
        "Entries of the audit trail that this is taken from",
        [f"{one['entry']}, {one['time']}, {one['playbook']} by {one['who']}, SHA-256 {one['hash']}" for one in statement["entries"]],
    )
    return "\n".join(lines).rstrip() + "\n"


def differing(statement: Mapping[str, Any], entries: Sequence[Entry]) -> str:
    """The first entry that the trail does not have as the statement says, a sentence; empty if it has them all."""
    known = {entry["seq"]: entry["hash"] for entry in entries}
    for one in statement["entries"]:
        if known.get(one["entry"]) != one["hash"]:
            return f"entry {one['entry']} of the audit trail does not have the hash that the statement names"
    return ""


def _part(title: str, rows: Sequence[str]) -> list[str]:
    return [f"{title}:", *(f"  - {row}" for row in rows or ["nothing"]), ""]


def _volumes(entries: Sequence[Entry], site: str) -> list[dict[str, Any]]:
    """The last that is known of each claim."""
    facts = [one for entry in entries for one in _facts(entry, site).get("volumes") or [] if isinstance(one, dict)]
    return list({str(one.get("claim")): one for one in facts}.values())


def _volume_words(fact: Mapping[str, Any]) -> str:
    if fact.get("change") == "kept":
        return f"{fact.get('claim')}: kept with its data, {fact.get('choice')}"
    storage = {"Delete": "its provisioner deletes the storage", "Retain": "the storage still has the data"}.get(str(fact.get("storage")))
    policy = f"{storage} (reclaim policy {fact.get('storage')})" if storage else "what became of the storage is not known"
    return f"{fact.get('claim')}: deleted, {policy}"


def _of_kinds(objects: Sequence[str], kinds: set[str]) -> list[str]:
    return [one for one in objects if one.partition(" ")[0] in kinds]


def _facts(entry: Entry, site: str) -> Mapping[str, Any]:
    found = (entry.get("sites") or {}).get(site)
    return found if isinstance(found, Mapping) else {}


def _changes(entry: Entry, site: str, kind: str, change: str) -> list[dict[str, Any]]:
    return [one for one in _facts(entry, site).get(kind) or [] if isinstance(one, dict) and one.get("change") == change]


def _is_forgotten(entry: Entry, site: str) -> bool:
    return "forgotten" in (_facts(entry, site).get("words") or [])


def _is_deployment(facts: Mapping[str, Any]) -> bool:
    """Whether a SuperNode of the site was registered, or one of its workloads created."""
    made = [*(facts.get("keys") or []), *(facts.get("objects") or [])]
    return any(isinstance(one, dict) and one.get("change") in ("registered", "created") for one in made)
