# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keys that sites request to register, and which of them are refused before they are sent to Flower. Pure.

A refusal concerns only the site that requested it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..pki import keypairs
from .records import Record

_REMEDY = (
    "Delete this entry from the site's Secret, and with flower_key_source: site the ConfigMap supernode-public as well; then run "
    "again: a new key is created."
)


def claim_errors(claims: Mapping[str, Sequence[Mapping[str, Any]]], known: Mapping[str, Record]) -> dict[str, str]:
    """Site -> why its keys are not registered; sites whose keys are good are not in it.

    Args:
        claims: site -> its keys (C(pool), C(name), C(fingerprint), C(public_key)).
    """
    holders = _holders(known)
    claimed: dict[str, set[str]] = {}
    for site, keys in claims.items():
        for key in keys:
            claimed.setdefault(str(key["fingerprint"]), set()).add(site)
    found: dict[str, str] = {}
    for site, keys in claims.items():
        wrong = [reason for key in keys if (reason := _fault(site, key, holders, claimed))]
        if wrong:
            found[site] = f"{'; '.join(wrong)}. {_REMEDY}"
    return found


def keys_of_others(site: str, keys: Sequence[Mapping[str, Any]], known: Mapping[str, Record]) -> list[str]:
    """Fingerprints of those keys of a site that the ledger has under the name of another one."""
    holders = _holders(known)
    return [one for one in (str(key["fingerprint"]) for key in keys) if holders.get(one, site) != site]


def _holders(known: Mapping[str, Record]) -> dict[str, str]:
    """Fingerprint -> site, of the keys that are registered."""
    return {
        fingerprint: site
        for site, record in known.items()
        for fingerprint, key in record["keys"].items()
        if key["node_id"]
    }


def rejected_keys(site: str, known: Mapping[str, Record], left: Sequence[str]) -> dict[str, str]:
    """Fingerprint -> why a site cannot have this key at the hub, for all keys that the ledger knows.

    Args:
        left: fingerprints of keys that the site had before it left.
    """
    gone = "the hub no longer accepts it: its SuperNode was unregistered there"
    found = dict.fromkeys(left, gone)
    for name, record in known.items():
        for fingerprint, key in record["keys"].items():
            if name != site and key["node_id"]:
                found[fingerprint] = f"it is the key of {name} at the hub"
            elif name == site and key.get("dead"):
                found[fingerprint] = gone
        found |= dict.fromkeys(record.get("retired") or {}, gone)
    return found


def _fault(site: str, key: Mapping[str, Any], holders: Mapping[str, str], claimed: Mapping[str, set[str]]) -> str:
    what = f"the SuperNode key {key['pool']}/{key['name']}"
    try:
        line = keypairs.check_supernode_key(str(key["public_key"]))
    except ValueError as error:
        return f"{what} is refused: {error}"
    fingerprint = str(key["fingerprint"])
    if keypairs.fingerprint(line) != fingerprint:
        return f"{what} is refused: its fingerprint is {keypairs.fingerprint(line)} and not {fingerprint[:60]}"
    holder = holders.get(fingerprint)
    if holder == site:
        return ""
    others = [holder] if holder else sorted(claimed[fingerprint] - {site})
    return f"{what} is refused: it is the key of {', '.join(others)}" if others else ""
