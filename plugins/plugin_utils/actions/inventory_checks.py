# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Groups of the inventory and names of a host's variables, checked before its cluster is contacted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..checks import inventory, variables
from .cluster_action import ClusterAction

variables.known()  # read once, in the parent of all forks


def inventory_faults(action: ClusterAction, host: str, names: Iterable[str], own: Any, *, is_site: bool, has_hub: bool = True) -> list[str]:
    """Faults of the groups of the inventory and of the names of a host's variables.

    Args:
        action: any action of the run.
        host: inventory name.
        names: names of its variables.
        own: its variable C(flower_own_variables).
        is_site: whether it is a site; C(--limit) may leave out the sites on purpose.
        has_hub: whether the inventory must have a hub.
    """
    found = variables.faults(host, names, own)
    hub_group = str(action.variable("flower_hub_group", "flower_hub"))
    sites_group = str(action.variable("flower_sites_group", "flower_sites"))
    groups = action.task_vars.get("groups") or {}
    name, group, usual = ("flower_sites_group", sites_group, inventory.SITES) if is_site else ("flower_hub_group", hub_group, inventory.HUB)
    if group != usual and host not in (groups.get(group) or []):
        found.append(
            f"{host}: {name} is {group}, and this host of the play is not in that group: in the inventory the variable has no effect on the hosts "
            f"of plays. Remove it from the inventory, and set it with -e {name}={group}, or name the group {usual}"
        )
    if is_site and has_hub:
        found += inventory.group_faults(groups, hub_group, sites_group)
    elif is_site:
        found += inventory.mixed_faults(groups, hub_group, host)
    elif len(groups.get(hub_group) or [host]) > 1:
        found += inventory.group_faults({**groups, sites_group: [host]}, hub_group, sites_group)
    return found
