# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory must have before any connection to a cluster. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

_SHOWN = 5
_INTERVAL = r"(?!0+(\.0*)?$)[0-9]{1,4}(\.[0-9]+)?"
OTHER = "supernode_superlink"
HUB, SITES, STANDBY = "flower_hub", "flower_sites", "flower_standby"
NAMESPACE, FEDERATION = "namespace", "federation"
DEFAULT = "flower"  # where no variable is set

# Part -> the variable of the role superlink, and the one that roles share. They may not contradict each other.
VARIABLES = {
    NAMESPACE: ("superlink_namespace", "flower_namespace"),
    FEDERATION: ("superlink_federation", "flower_federation"),
}
# Part -> the hosts for which the shared variable is set.
_HOSTS = {NAMESPACE: "this host or its group", FEDERATION: "the hub and all sites"}


def mixed_faults(groups: Mapping[str, Sequence[str]], hub_group: str, host: str) -> list[str]:
    """Sentences on a site that joins another SuperLink, in an inventory with a hub."""
    return [
        f"{host}: {OTHER} is set, and the inventory has the hub {hub}: sites that join another SuperLink are in an inventory of their own, without a hub. "
        "Remove the variable, or the host from this inventory."
        for hub in list(groups.get(hub_group) or [])[:1]
    ]


def group_faults(groups: Mapping[str, Sequence[str]], hub_group: str = HUB, sites_group: str = SITES, limited: bool = False) -> list[str]:
    """Sentences on groups that are no fleet: there is one hub, and at least one site.

    Args:
        groups: name -> hosts, as Ansible's C(groups).
        hub_group: name of the group with the hub.
        sites_group: name of the group with the sites.
        limited: whether the run has a limit; the hub alone may be deployed then.
    """
    hubs, sites = list(groups.get(hub_group) or []), list(groups.get(sites_group) or [])
    found = []
    if not hubs:
        found.append(
            f"the inventory group {hub_group} has no host: add the hub's cluster to it. Check that -i names the inventory, "
            "and that Ansible can parse it. If the groups have other names, set -e flower_hub_group=NAME and -e flower_sites_group=NAME; in the "
            "inventory these two have no effect"
        )
    if len(hubs) > 1:
        more = f" and {len(hubs) - _SHOWN} more" if len(hubs) > _SHOWN else ""
        found.append(
            f"the inventory group {hub_group} has {len(hubs)} hosts ({', '.join(hubs[:_SHOWN])}{more}): a federation has one hub. "
            "Create an inventory for each federation"
        )
    if not sites and not limited:
        found.append(
            f"the inventory group {sites_group} has no host: put a cluster into it for each site. To deploy the hub alone, add "
            f"--limit {hub_group}"
        )
    return found


def standby_faults(groups: Mapping[str, Sequence[str]], hub_group: str = HUB, follow: Any = "", interval: Any = "") -> list[str]:
    """Sentences on groups that are no hub with a standby: there is one host in each; and on how the hub is to be followed.

    Args:
        groups: name -> hosts, as Ansible's C(groups).
        hub_group: the name that was given to the group of the hub.
        follow: the variable C(flower_standby_follow), seconds; empty for none.
        interval: the variable C(flower_standby_interval), seconds; empty for none.
    """
    numbers = {"flower_standby_follow": (follow, r"[1-9][0-9]{0,6}", "a whole number"), "flower_standby_interval": (interval, _INTERVAL, "a number")}
    wrong = [
        f"{name} is {value!r}, which is not {words} of seconds above 0"
        for name, (value, pattern, words) in numbers.items()
        if value not in ("", None) and not re.fullmatch(pattern, str(value))
    ]
    if hub_group != HUB:
        return [*wrong, f"flower_hub_group is {hub_group}: a hub with a standby is in the group {HUB}, and the standby in {STANDBY}"]
    standbys = list(groups.get(STANDBY) or [])
    if len(standbys) != 1:
        shown = f" ({', '.join(standbys[:_SHOWN])})" if standbys else ""
        wrong.append(f"the inventory group {STANDBY} has {len(standbys)} hosts{shown}: a hub has one standby. Add its cluster to the group")
    if both := [host for host in standbys if host in (groups.get(HUB) or [])]:
        wrong.append(f"{', '.join(both)} is in the groups {HUB} and {STANDBY}: a standby is another host, of another cluster")
    return wrong


def peers(groups: Mapping[str, Sequence[str]], host: str) -> list[str]:
    """The hosts that may serve instead of a hub."""
    standbys = list(groups.get(STANDBY) or [])
    return [one for one in dict.fromkeys([*(groups.get(HUB) or []), *standbys]) if one != host] if standbys else []


def hub_place(read: Callable[[str], Any], part: str) -> str:
    """Its namespace, or the name of its federation.

    Args:
        read: the value of a variable of the hub, templated; None for one that is not set. Asked only for what decides.
        part: C(NAMESPACE) or C(FEDERATION).
    """
    return next((str(value) for name in VARIABLES[part] if (value := read(name))), DEFAULT)


def place_faults(host: str, values: Mapping[str, Any]) -> list[str]:
    """A sentence for each variable of the hub's role that says something else than the one that it shares with other roles.

    Args:
        host: inventory name of the hub.
        values: its C(VARIABLES), templated; None for one that is not set.
    """
    return [
        f"{host}: {own}: {given!r} differs from {shared}, {known!r}, which other roles read. "
        f"Set {shared} to {given!r} for {_HOSTS[part]}, and remove {own}."
        for part, (own, shared) in VARIABLES.items()
        for given, known in [(values.get(own), values.get(shared) or DEFAULT)]
        if given is not None and str(given) != str(known)
    ]
