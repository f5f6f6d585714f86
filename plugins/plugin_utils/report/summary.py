# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The whole federation in one sentence. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def fleet_summary(hub: Mapping[str, Any], known: Sequence[str], forget: bool = False) -> dict[str, Any]:
    """What is online, who is denied, and who is not in the inventory any more.

    Args:
        hub: result of M(federated.flower.superlink_info).
        known: sites of the inventory.
        forget: whether sites that are not in the inventory are forgotten.

    Returns:
        C(gone) (sites that are to be forgotten) and C(msg) (sentences).
    """
    sites, nodes = hub.get("sites") or {}, hub.get("nodes") or {}
    absent = [site for site in sites if site not in known]
    gone = absent if forget else []
    staying = [site for site in sites if site not in gone]
    online = sum(
        nodes.get(key["node_id"], {}).get("status") == "online" for site in staying for key in sites[site]["keys"]
    )
    denied = [site for site in staying if sites[site].get("access")]
    words = [f"{online} SuperNodes of {len(staying)} sites are online at {hub.get('address')}."]
    words += [f"Denied: {', '.join(denied)}."] if denied else []
    if gone:
        words.append(f"{', '.join(gone)} is forgotten.")
    elif absent:
        words.append(
            f"{', '.join(absent)} is not in the inventory, but the ledger still knows it: -e flower_forget_sites=true unregisters its "
            "SuperNodes and frees its partitions."
        )
    return {"gone": gone, "msg": " ".join(words)}
