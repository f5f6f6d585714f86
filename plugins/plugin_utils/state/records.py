# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the ledger remembers of one site: its SuperNode keys and Flower's ids for them. Pure functions on plain data.

Shape of a record::

    {"site": "site-a", "region": "eu",
     "keys": {"SHA256:…": {"pool": "default", "name": "0", "public_key": "ecdsa-…", "node_id": "123…", "dead": false}},
     "retired": {"SHA256:…": {"pool": "default", "name": "1", "node_id": "456…", "since": "2026-11-21T10:00:00+00:00"}}}

C("without_range": ["default"]) names pools that do not count across the fleet; C("delivery": "direct") and C("namespace": "flower") are how the
site's objects were delivered last, and where to; records of earlier releases do not have them.
C(access) describes further content of a record. C(name) is the key's entry in the site's Secret: the pod index, or the
node's name in a DaemonSet pool.
"""

from __future__ import annotations

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from ..base.values import natural

Record = dict[str, Any]

# So many previous keys of a site are kept in addition to one for each current key.
RETIRED = 32
# Survives when another controller writes the record from an older copy.
LASTING = ("access", "revoked", "healing")


def empty_record(site: str, region: str | None = None) -> Record:
    """A site that has no keys yet."""
    return {"site": site, "region": region, "keys": {}, "retired": {}}


def merge_keys(
    record: Mapping[str, Any],
    keys: Sequence[Mapping[str, str]],
    region: str | None,
    without_range: Sequence[str] = (),
    delivery: str = "",
    namespace: str = "",
) -> Record:
    """Update a record to the keys that the site has now.

    Args:
        keys: dicts with C(pool), C(name), C(fingerprint) and C(public_key), the wanted ones.
        region: the site's region, for reports.
        without_range: its pools that do not count across the fleet.
        delivery: how its objects are delivered; empty where it is not known.
        namespace: where to; empty where it is not known.

    Returns:
        The new record. Keys that the site no longer has are marked C(leaving); they stay known until Flower has
        unregistered them.
    """
    new = copy.deepcopy(dict(record))
    new["region"] = region
    if without_range or "without_range" in new:
        new["without_range"] = sorted(without_range)
    if delivery:
        new["delivery"] = delivery
    if namespace:
        new["namespace"] = namespace
    current = {key["fingerprint"]: key for key in keys}
    for fingerprint, known in new["keys"].items():
        if fingerprint not in current:
            known["leaving"] = True
    for fingerprint, key in current.items():
        known = new["keys"].setdefault(fingerprint, {"node_id": None, "dead": False})
        known.pop("leaving", None)
        known.update(pool=key["pool"], name=key["name"], public_key=key["public_key"])
    return new


def former_namespace(record: Mapping[str, Any], delivery: str, namespace: str) -> str:
    """The namespace in which a site was deployed last, in the same way, if that is another one; else empty."""
    was = str(record.get("namespace", ""))
    return was if record.get("delivery") == delivery and was != namespace else ""


def unregistered(record: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Fingerprints to register at Flower: never registered, or unknown to it because it lost its database.

    Args:
        nodes: node id -> its state at Flower (C(FlowerCLI.nodes)).
    """
    return [
        fingerprint
        for fingerprint, key in sorted(record["keys"].items(), key=lambda item: (item[1]["pool"], natural(item[1]["name"])))
        if not key.get("leaving") and not key.get("dead") and (not key["node_id"] or key["node_id"] not in nodes)
    ]


def mark_dead(record: Record, nodes: Mapping[str, Mapping[str, Any]]) -> None:
    """Mark keys whose node someone unregistered at Flower: they are dead permanently."""
    for key in record["keys"].values():
        if not key.get("leaving") and nodes.get(key["node_id"] or "", {}).get("status") == "unregistered":
            key["dead"] = True


def leaving(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Fingerprint -> key of those to unregister."""
    return {fingerprint: key for fingerprint, key in record["keys"].items() if key.get("leaving")}


def retire(record: Mapping[str, Any], fingerprints: Sequence[str], now: str = "") -> Record:
    """The record with some keys moved from C(keys) to C(retired), of which the oldest are dropped beyond C(RETIRED).

    Args:
        fingerprints: keys that Flower has unregistered.
        now: ISO 8601.
    """
    new = copy.deepcopy(dict(record))
    for fingerprint in fingerprints:
        key = new["keys"].pop(fingerprint, None)
        if key is not None:
            new["retired"][fingerprint] = {name: key[name] for name in ("pool", "name", "node_id")}
            if now:
                new["retired"][fingerprint]["since"] = now
    oldest = sorted(new["retired"], key=lambda one: (new["retired"][one].get("since", ""), one not in fingerprints))
    for fingerprint in oldest[: max(len(oldest) - RETIRED - len(new["keys"]), 0)]:
        del new["retired"][fingerprint]
    return new


def to_retire(record: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], *, by_hand: bool = False) -> dict[str, dict[str, Any]]:
    """Fingerprint -> key of those that may be unregistered now.

    A key waits as long as it is online itself, and its successor (of the same pool and name) is not: its pod has
    not been restarted yet, and would be lost. Keys of sites that are denied do not wait.

    Args:
        nodes: node id -> its state at Flower.
        by_hand: whether people replace its pods, whenever they do: a key then waits for its successor also while it is offline itself, and
            as long as it is online.
    """
    away = {
        (key["pool"], key["name"])
        for node, key in node_ids(record).items()
        if nodes.get(node, {}).get("status") != "online"
    }
    chosen = {}
    for fingerprint, key in leaving(record).items():
        replaced = (key["pool"], key["name"]) not in away  # its successor is online, or not wanted
        offline = nodes.get(key["node_id"] or "", {}).get("status") != "online"
        if record.get("access") or ((replaced and offline) if by_hand else (replaced or offline)):
            chosen[fingerprint] = key
    return chosen


def runs_with_another_key(record: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]], *, claiming: bool = False) -> bool:
    """Whether pods of a site may run with another key than the one that is registered for them.

    This is the case when a key was replaced, and the node of the new one is not online: the pod read the old one when
    it started. Once the old one is unregistered as well, only a node that has never been online shows it.

    Args:
        nodes: node id -> its state at Flower.
        claiming: whether the site takes over the pods of another one, whose record has their former keys.
    """
    replaced = {(key["pool"], key["name"]) for key in leaving(record).values()}
    former = {(key["pool"], key["name"]) for key in record["retired"].values()}
    for node, key in node_ids(record).items():
        status, place = nodes.get(node, {}).get("status", "registered"), (key["pool"], key["name"])
        if (status != "online" and place in replaced) or (status == "registered" and (claiming or place in former)):
            return True
    return False


def serving_ids(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Node id -> key, of all keys that Flower accepts: also of those that leave, with which a SuperNode serves until it is restarted."""
    return {
        key["node_id"]: dict(key, fingerprint=fingerprint)
        for fingerprint, key in record["keys"].items()
        if key["node_id"] and not key.get("dead")
    }


def node_ids(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Node id -> key, of the keys in use: those with which a SuperNode must run."""
    return {node: key for node, key in serving_ids(record).items() if not key.get("leaving")}


def with_nodes(record: Mapping[str, Any], nodes: Collection[str]) -> Record:
    """The record with those keys alone whose nodes are among C(nodes)."""
    return {**record, "keys": {fingerprint: key for fingerprint, key in record["keys"].items() if key["node_id"] in nodes}}


def pods_with_leaving_keys(keys: Iterable[Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]]) -> set[tuple[str, str]]:
    """Pool and name of pods that serve with a key that leaves: they have not been restarted with their new one.

    Args:
        keys: of a site's record.
        nodes: node id -> its state at Flower.
    """
    return {
        (key["pool"], key["name"])
        for key in keys
        if key.get("leaving") and nodes.get(key["node_id"] or "", {}).get("status") == "online"
    }


def numbers(record: Mapping[str, Any]) -> dict[str, tuple[int, int]]:
    """Pool -> first number and number of its keys, of pools that count across the fleet: a key has the number of its pod as its name."""
    apart = record.get("without_range") or ()
    found: dict[str, list[str]] = {}
    for key in record["keys"].values():
        if not key.get("leaving") and key["pool"] not in apart:
            found.setdefault(key["pool"], []).append(key["name"])
    chosen = {pool: sorted(map(int, names)) for pool, names in found.items() if all(map(str.isdigit, names))}
    return {pool: (names[0], names[-1] - names[0] + 1) for pool, names in chosen.items()}


def merged(old: Mapping[str, Any], new: Mapping[str, Any], seen: Mapping[str, Any]) -> Record:
    """Merge the changes of two control nodes to one record, key by key: no change of either is lost.

    Args:
        old: the record as it is now, with what a rival wrote meanwhile.
        new: the record of this run.
        seen: the record that this run started from.
    """
    before, ours, theirs = seen.get("keys", {}), new["keys"], old.get("keys", {})
    kept = copy.deepcopy({**old, **new})
    kept["retired"] = {**copy.deepcopy(old.get("retired", {})), **new["retired"]}
    kept["keys"] = {}
    for fingerprint in {**theirs, **ours}:
        if fingerprint in old.get("retired", {}) and fingerprint not in theirs:
            continue  # the other one has seen it unregistered
        kept["keys"][fingerprint] = _merged_key(theirs.get(fingerprint), ours.get(fingerprint), before.get(fingerprint, {}))
    for fingerprint in kept["keys"]:
        kept["retired"].pop(fingerprint, None)
    # A certificate that another control node issued meanwhile stays: every serial that a site may have must be in the ledger.
    lasting = (*LASTING, "client", "superseded") if old.get("client") != seen.get("client") else LASTING
    for part in lasting:
        kept.pop(part, None)
        if part in old:
            kept[part] = copy.deepcopy(old[part])
    taken_back = {entry["serial"] for entry in kept.get("revoked", [])}
    superseded = [one for one in kept.pop("superseded", []) if serial_of(one) not in taken_back]
    return {**kept, "superseded": superseded} if superseded else kept


def serial_of(superseded: str | Mapping[str, Any]) -> str:
    """Serial of a certificate in a record's list C(superseded); records of earlier releases list nothing but serials."""
    return superseded if isinstance(superseded, str) else str(superseded["serial"])


def _merged_key(theirs: Mapping[str, Any] | None, ours: Mapping[str, Any] | None, before: Mapping[str, Any]) -> dict[str, Any]:
    """One key of two records; each field from the one that changed it."""
    if theirs is None or ours is None or theirs == ours:
        return dict(ours or theirs or {})
    key = {**ours, **{name: value for name, value in theirs.items() if value != before.get(name)}}
    if theirs.get("leaving") != before.get("leaving") and not theirs.get("leaving"):
        key.pop("leaving", None)
    # A record with a node id has registered the key. A key is dead for the one that registered it second, or once that node is gone.
    node = next((one for one in (ours.get("node_id"), theirs.get("node_id")) if one and one != before.get("node_id")), None)
    key["node_id"] = node or theirs.get("node_id") or ours.get("node_id")
    verdicts = [one for one in (ours, theirs) if one.get("node_id") == key["node_id"]]
    key["dead"] = any(one.get("dead") for one in verdicts)
    return key


def record_error(record: Any, site: str) -> str:
    """What is wrong with the shape of a record that was read; empty for a good one.

    Args:
        record: the ConfigMap's JSON, parsed.
    """
    if not isinstance(record, dict):
        return "it is not a mapping"
    if record.get("site") != site:
        return f"it is the record of {record.get('site')!r}"
    for part in ("keys", "retired"):
        entries = record.get(part)
        if not isinstance(entries, dict) or not all(isinstance(key, dict) for key in entries.values()):
            return f"its {part} are not a mapping of mappings"
        needed = {"pool", "name", "node_id"} | ({"public_key"} if part == "keys" else set())
        for fingerprint, key in entries.items():
            if not needed <= set(key):
                return f"its key {fingerprint} lacks {', '.join(sorted(needed - set(key)))}"
    for part, needed in (("access", {"since", "reason"}), ("client", {"serial", "key", "certificate"})):
        found = record.get(part)
        if found and not (isinstance(found, dict) and needed <= set(found)):
            return f"its {part} lacks {', '.join(sorted(needed))}"
    return ""


def dead_keys(record: Mapping[str, Any]) -> list[str]:
    """Fingerprints of keys that Flower no longer accepts; the site must create new ones. It has done so for those that leave."""
    return sorted(fingerprint for fingerprint, key in record["keys"].items() if key.get("dead") and not key.get("leaving"))


def public_facts(fingerprint: str, key: Mapping[str, Any], change: str) -> dict[str, str]:
    """The audit facts of a changed key."""
    return {
        "change": change,
        "fingerprint": fingerprint,
        **{name: str(key[name]) for name in ("pool", "name", "node_id")},
    }


def to_renew(record: Mapping[str, Any]) -> list[str]:
    """Fingerprints of keys to replace when a site is re-enrolled; none while a re-enrolment is in progress."""
    if leaving(record):
        return []
    return sorted(fingerprint for fingerprint, key in record["keys"].items() if not key.get("dead"))
