# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the ledger remembers of one site: its SuperNode keys and Flower's ids for them. Pure functions on plain data.

Shape of a record::

    {"site": "site-a", "region": "eu",
     "keys": {"SHA256:…": {"pool": "default", "name": "0", "public_key": "ecdsa-…", "node_id": "123…", "dead": false}},
     "retired": {"SHA256:…": {"pool": "default", "name": "1", "node_id": "456…"}}}

C(access) describes what else a record may hold. C(name) is the key's entry in the site's Secret: the pod index, or the node's name in a DaemonSet pool.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Any

from ..base.values import natural

Record = dict[str, Any]


def empty_record(site: str, region: str | None = None) -> Record:
    """A site that has no keys yet."""
    return {"site": site, "region": region, "keys": {}, "retired": {}}


def merge_keys(record: Mapping[str, Any], keys: Sequence[Mapping[str, str]], region: str | None) -> Record:
    """Bring a record to the keys that the site holds now.

    Args:
        record: the site's record as read; not changed.
        keys: dicts with C(pool), C(name), C(fingerprint) and C(public_key), the ones that are wanted.
        region: the site's region, noted for reports.

    Returns:
        The new record. Keys that the site no longer holds are marked C(leaving); they stay known until Flower has
        unregistered them.
    """
    new = copy.deepcopy(dict(record))
    new["region"] = region
    held = {key["fingerprint"]: key for key in keys}
    for fingerprint, known in new["keys"].items():
        if fingerprint not in held:
            known["leaving"] = True
    for fingerprint, key in held.items():
        known = new["keys"].setdefault(fingerprint, {"node_id": None, "dead": False})
        known.pop("leaving", None)
        known.update(pool=key["pool"], name=key["name"], public_key=key["public_key"])
    return new


def unregistered(record: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Fingerprints that Flower has to be told of: never registered, or unknown to it since it lost its database.

    Args:
        record: a site's record.
        nodes: node id -> what Flower says of it (C(FlowerCLI.nodes)).
    """
    return [
        fingerprint
        for fingerprint, key in sorted(
            record["keys"].items(), key=lambda item: (item[1]["pool"], natural(item[1]["name"]))
        )
        if not key.get("leaving") and not key.get("dead") and (not key["node_id"] or key["node_id"] not in nodes)
    ]


def mark_dead(record: Record, nodes: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Mark keys whose node somebody unregistered at Flower: they are dead for ever. Returns their fingerprints."""
    dead = []
    for fingerprint, key in record["keys"].items():
        gone = not key.get("leaving") and nodes.get(key["node_id"] or "", {}).get("status") == "unregistered"
        if gone and not key.get("dead"):
            key["dead"] = True
        if key.get("dead"):
            dead.append(fingerprint)
    return dead


def leaving(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Fingerprint -> key of those that are to be unregistered."""
    return {fingerprint: key for fingerprint, key in record["keys"].items() if key.get("leaving")}


def retire(record: Mapping[str, Any], fingerprints: Sequence[str]) -> Record:
    """The record with some keys moved from C(keys) to C(retired)."""
    new = copy.deepcopy(dict(record))
    for fingerprint in fingerprints:
        key = new["keys"].pop(fingerprint, None)
        if key is not None:
            new["retired"][fingerprint] = {name: key[name] for name in ("pool", "name", "node_id")}
    return new


def node_ids(record: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Node id -> key, of the keys in use."""
    return {
        key["node_id"]: dict(key, fingerprint=fingerprint)
        for fingerprint, key in record["keys"].items()
        if key["node_id"] and not key.get("leaving") and not key.get("dead")
    }


def dead_keys(record: Mapping[str, Any]) -> list[str]:
    """Fingerprints of keys that Flower takes no more; the site has to make new ones. It has done so for those that leave."""
    return sorted(
        fingerprint for fingerprint, key in record["keys"].items() if key.get("dead") and not key.get("leaving")
    )


def public_facts(fingerprint: str, key: Mapping[str, Any], change: str) -> dict[str, str]:
    """What the audit trail tells of a key of which something was changed."""
    return {
        "change": change,
        "fingerprint": fingerprint,
        **{name: str(key[name]) for name in ("pool", "name", "node_id")},
    }


def to_renew(record: Mapping[str, Any]) -> list[str]:
    """Fingerprints of keys to replace when a site is to be enrolled anew; none while it is being enrolled anew already."""
    if leaving(record):
        return []
    return sorted(fingerprint for fingerprint, key in record["keys"].items() if not key.get("dead"))
