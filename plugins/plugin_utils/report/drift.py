# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What site.yml would change, from its results in check mode. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

# Variables in which the roles register their results.
_HUB, _SITES = "__superlink_deployed", "__supernode_deployed"


def fleet_drift(hostvars: Mapping[str, Mapping[str, Any]], hosts: Iterable[str]) -> list[dict[str, str]]:
    """One entry for each object that would be changed, or for a step without objects.

    Args:
        hostvars: the variables of all hosts, after the plays of site.yml in check mode.
        hosts: inventory names.

    Returns:
        Dicts with C(host), C(object) (C(KIND NAMESPACE/NAME), or words), C(change) and C(text), all of these in a sentence.
    """
    found = []
    for host in map(str, hosts):
        own = hostvars.get(host) or {}
        found += _entries(host, own.get(_HUB) or {}, "SuperLink")
        site = ((own.get(_SITES) or {}).get("sites") or {}).get(host)
        if site and not site.get("failed"):
            found += _entries(host, site, str(site.get("msg") or "SuperNodes"))
    return found


def drifting(hostvars: Mapping[str, Mapping[str, Any]], hosts: Sequence[str]) -> list[str]:
    """Those of some hosts that are deployed again, if reconcile.yml is to repair; not those that are left to an upgrade.

    Args:
        hostvars: the variables of all hosts, with what the plays before have kept; empty where playbooks are only listed.
        hosts: inventory names.
    """
    kept = next((own for one in hostvars if (own := hostvars.get(one) or {}).get("__reconcile_drift")), None)
    if kept is None or kept.get("__reconcile_chosen") != "repair":
        return []
    known: Sequence[Mapping[str, Any]] = kept["__reconcile_drift"]
    names = {str(entry["host"]) for entry in known} - set(kept.get("__reconcile_held") or ())
    return [str(host) for host in hosts if str(host) in names]


def _entries(host: str, result: Mapping[str, Any], words: str) -> list[dict[str, str]]:
    if not result.get("changed"):
        return []
    listed = [
        (f"{one['kind']} {'/'.join(filter(None, (one.get('namespace'), one['name'])))}", str(one["change"]))
        for one in result.get("objects") or []
        if one.get("change") in ("created", "changed", "deleted")
    ] or [(words, "changed")]
    return [
        {"host": host, "object": name, "change": change, "text": f"{host}: {name} would be {change}"}
        for name, change in listed
    ]
