# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole federation in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.sizes import counted
from . import replicas

_SHOWN = 5  # sites


def fleet_summary(hub: Mapping[str, Any], known: Sequence[str], gone: Sequence[str] = ()) -> str:
    """Numbers of SuperNodes that are online, and of those that are not, and the sites that are denied, forgotten, and not in the inventory.

    Args:
        hub: result of M(federated.flower.superlink_info).
        known: sites of the inventory.
        gone: sites that were forgotten.
    """
    sites, nodes = hub.get("sites") or {}, hub.get("nodes") or {}
    staying = [site for site in sites if site not in gone]
    missing = [site for site in staying if site not in known]
    # Without node authentication there are no keys.
    expected = list(nodes) if hub.get("insecure") else [key["node_id"] for site in staying for key in sites[site]["keys"]]
    online = sum(nodes.get(node, {}).get("status") == "online" for node in expected)
    denied = [site for site in staying if sites[site].get("access")]
    verb = "is" if online == 1 else "are"
    words = [f"{counted(online, 'SuperNode')} of {counted(len(staying), 'site')} {verb} online at {hub.get('address')}."]
    away = [text for site in staying if site not in denied and (text := _away(site, sites[site]["keys"], nodes))]
    words += [f"Not online: {', '.join(away[:_SHOWN])}{f' and those of {len(away) - _SHOWN} more sites' if away[_SHOWN:] else ''}."] if away else []
    words += [f"Denied: {', '.join(denied)}."] if denied else []
    words += [f"{', '.join(gone)} is forgotten."] if gone else []
    if missing:
        words.append(
            f"{', '.join(missing)} is not in the inventory, but still in the ledger: -e flower_forget_sites={','.join(missing)} "
            "unregisters its SuperNodes and frees its partitions."
        )
    if hub.get("upgrade"):
        words.append(f"{hub['upgrade'][0].upper()}{hub['upgrade'][1:]}.")
    return " ".join(words)


def _away(site: str, keys: Sequence[Mapping[str, Any]], nodes: Mapping[str, Mapping[str, Any]]) -> str:
    """How many of a site's SuperNodes are not online, in words; empty for none. One that still serves with a key that leaves is online."""
    used = replicas.used(keys)
    away = used - replicas.serving(keys, nodes)
    return f"{len(away)} of {len(used)} of {site}" if away else ""
