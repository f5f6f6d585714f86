# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The whole federation in one sentence, what site.yml would change, and which sites a play reports. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.formats import counted
from . import findings

_SHOWN = 5  # sites

# Variables in which the roles register their results, and words for a change without objects.
_OWN = {
    "__superlink_deployed": "SuperLink",
    "__ocm_addon_applied": "add-on of Open Cluster Management",
    "__skupper_site": "Skupper site",
    "skupper_link_result": "link to the hub",
    "__skupper_listener": "Listener or Connector",
}
_SITES = "__supernode_deployed"


def fleet_summary(hub: Mapping[str, Any], known: Sequence[str], gone: Sequence[str] = ()) -> str:
    """Numbers of SuperNodes that are online, and of those that are not, and the sites that are denied, forgotten, and not in the inventory.

    Args:
        hub: result of M(federated.flower.superlink_info).
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
    away = []
    for site in staying:
        used = findings.used_keys(sites[site]["keys"])
        missed = used - findings.serving_keys(sites[site]["keys"], nodes)  # one that still serves with a key that leaves is online
        if missed and site not in denied:
            away.append(f"{len(missed)} of {len(used)} of {site}")
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
        for variable, words in _OWN.items():
            found += _entries(host, own.get(variable) or {}, words)
        site = ((own.get(_SITES) or {}).get("sites") or {}).get(host)
        if site and not site.get("failed"):
            found += _entries(host, site, str(site.get("msg") or "SuperNodes"))
    return found


def _entries(host: str, result: Mapping[str, Any], words: str) -> list[dict[str, str]]:
    if not result.get("changed"):
        return []
    changed = [one for one in result.get("objects") or [] if one.get("change") in ("created", "changed", "deleted")]
    listed = [(f"{one['kind']} {'/'.join(filter(None, (one.get('namespace'), one['name'])))}", str(one["change"])) for one in changed] or [(words, "changed")]
    return [{"host": host, "object": name, "change": change, "text": f"{host}: {name} would be {change}"} for name, change in listed]


def sites_to_report(hostvars: Mapping[str, Mapping[str, Any]], sites: Iterable[str], variable: str) -> list[str]:
    """Those of some sites that failed, were changed, or have warnings.

    If all of these failed, a site that did not is among them: ansible-core ends the run after a play in which every host failed.

    Args:
        hostvars: the variables of all hosts; empty where playbooks are only listed.
        sites: inventory names.
        variable: in which the task registered its result, which is the same for all hosts of its play. Hosts outside of a limit have none.
    """
    names = [str(site) for site in sites]
    registered: Mapping[str, Any] = next((found for name in names if (found := (hostvars.get(name) or {}).get(variable))), {})
    results = {name: result for name in names if (result := (registered.get("sites") or {}).get(name))}
    reported = [name for name, result in results.items() if any(result.get(key) for key in ("failed", "changed", "warnings"))]
    if all(results[name].get("failed") for name in reported):
        keeper = next((name for name, result in results.items() if not result.get("failed")), None)
        return [name for name in names if name in reported or (reported and name == keeper)]
    return reported
