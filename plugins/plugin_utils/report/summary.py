# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole federation in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def fleet_summary(hub: Mapping[str, Any], known: Sequence[str], gone: Sequence[str] = ()) -> str:
    """Numbers of online SuperNodes, and the sites that are denied, forgotten, and not in the inventory.

    Args:
        hub: result of M(federated.flower.superlink_info).
        known: sites of the inventory.
        gone: sites that were forgotten.
    """
    sites, nodes = hub.get("sites") or {}, hub.get("nodes") or {}
    staying = [site for site in sites if site not in gone]
    missing = [site for site in staying if site not in known]
    online = sum(
        nodes.get(key["node_id"], {}).get("status") == "online" for site in staying for key in sites[site]["keys"]
    )
    denied = [site for site in staying if sites[site].get("access")]
    words = [f"{online} SuperNodes of {len(staying)} sites are online at {hub.get('address')}."]
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
