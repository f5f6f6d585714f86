# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host's variables, checked before its cluster is contacted: names, templates, values, inventory."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..preflight import hub_place, inventory, variables
from ..spec.hub_spec import HubSpec
from ..validate.superlink_faults import superlink_faults
from .cluster_action import ClusterAction
from .role_options import BESIDE, role_options, type_faults

_CHECKED = ("client_certificate_days", "wait_timeout")  # variables of the run, which are no part of a specification
variables.known()  # read once, in the parent of all forks


def inventory_faults(action: ClusterAction, host: str, names: Iterable[str], own: Any, *, is_site: bool) -> list[str]:
    """Faults of the groups of the inventory and of the names of a host's variables.

    Args:
        action: any action of the run.
        host: inventory name.
        names: names of its variables.
        own: its variable C(flower_own_variables).
        is_site: whether it is a site; C(--limit) may leave out the sites on purpose.
    """
    found = variables.faults(host, names, own if isinstance(own, list) else [])
    hub_group = str(action.variable("flower_hub_group", "flower_hub"))
    sites_group = str(action.variable("flower_sites_group", "flower_sites"))
    groups = action.task_vars.get("groups") or {}
    name, group, usual = ("flower_sites_group", sites_group, inventory.SITES) if is_site else ("flower_hub_group", hub_group, inventory.HUB)
    if group != usual and host not in (groups.get(group) or []):
        found.append(
            f"{host}: {name} is {group}, and this host of the play is not in that group: in the inventory the variable has no effect on the hosts "
            f"of plays. Remove it from the inventory, and give it with -e {name}={group}, or name the group {usual}"
        )
    if is_site:
        found += inventory.group_faults(groups, hub_group, sites_group)
    elif len(groups.get(hub_group) or [host]) > 1:
        found += inventory.group_faults({**groups, sites_group: [host]}, hub_group, sites_group)
    return found


def given_spec(action: ClusterAction, spec: dict[str, Any] | None, platform: str = "") -> HubSpec:
    """The hub of a run, without faults.

    Args:
        spec: the option of the task; None for what the role assembles from its variables.
        platform: of its cluster, once it is known.

    Raises:
        ClusterError: names every fault.
    """
    own = action.variable(variables.OWN, [])
    found = inventory_faults(action, action.inventory_host, action.task_vars, own, is_site=False)
    if not platform:  # that is known with a second look
        found += _faults_of_variables(action)
    if spec is None:
        spec = {} if found else action.variable(f"__{SUPERLINK}_spec", {})
        if not found:
            names = [name for pair in hub_place.VARIABLES.values() for name in pair]
            found += hub_place.faults(action.inventory_host, {name: action.variable(name, None) for name in names})
    if platform:
        spec = {**spec, "platform": platform}
    if not found:
        found += superlink_faults({**{name: action.variable(f"superlink_{name}", None) for name in _CHECKED}, **spec})
    if found:
        raise ClusterError(variables.with_origins("\n".join(found), action.task_vars))
    return HubSpec.parse(spec)


def _faults_of_variables(action: ClusterAction) -> list[str]:
    """Variables of roles whose templates cannot be evaluated, or that are of another type."""
    host, given, found = action.inventory_host, {}, []
    for name in (name for role in (SUPERLINK, *BESIDE) for name in role_options(role) if name in action.task_vars):
        try:
            given[name] = action.variable(name, None)
        except ClusterError as fault:
            found.append(f"{host}: {fault.message}")
    return found + [f"{host}: {fault}" for fault in type_faults(given, (SUPERLINK, *BESIDE))]
