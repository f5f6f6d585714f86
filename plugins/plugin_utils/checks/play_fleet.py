# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What plays read from the inventory before they have a host, and what they refuse then: for lookups."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ..base.plain_data import to_json_data
from . import variables
from .host_variables import variables_of
from .inventory import HUB, OTHER, SITES, group_faults

_SHOWN = 5
#: Variables of site.yml for what needs a hub.
_OF_HUB = ("flower_forget_sites", "flower_forget_clusters", "flower_plan", "flower_plan_hash", "flower_join_verify")
_EMPTY = ("", None)
_TRUE = ("1", "on", "t", "true", "y", "yes")


class Fleet:
    """The hosts of the fleet and their variables, for plays that have no host yet: they see variables of the inventory only in C(hostvars).

    Args:
        variables: what the play or the task sees; without C(hostvars) where playbooks are only listed.
        template: returns a value with its templates resolved.
    """

    def __init__(self, variables: Mapping[str, Any], template: Callable[[Any], Any]) -> None:
        self._variables, self._template = variables, template
        self.hostvars: Mapping[str, Mapping[str, Any]] = variables.get("hostvars") or {}
        self.groups: Mapping[str, Sequence[str]] = variables.get("groups") or {}
        self.limited = "ansible_limit" in variables
        # In keywords of a play: all hosts of the limit.
        self.in_run = [str(host) for host in variables.get("ansible_play_hosts_all") or []]
        self.hub_group, self.sites_group = str(self.given("flower_hub_group", HUB)), str(self.given("flower_sites_group", SITES))
        self.hubs, self.sites = ([str(host) for host in self.groups.get(group) or []] for group in (self.hub_group, self.sites_group))
        self._first = [*self.hubs, *self.sites[:1]]

    def given(self, name: str, default: Any = "") -> Any:
        """The value that the play or the task sees, such as that of the command line."""
        return self._template(self._variables[name]) if name in self._variables else default

    def variable(self, name: str, default: Any = "") -> Any:
        """The first value that is not empty: of the command line or the task, of the hub, of the first site. Questions of a controller give empty ones."""
        return next((value for value in (self.given(name), *self._of(name, *self._first)) if value not in _EMPTY), default)

    def of(self, name: str, host: str) -> Any:
        """The value for a host, as the command line or the inventory gives it; a task of another host has values of that host."""
        return next(self._of(name, host)) if self.hostvars else self.given(name)

    def is_enabled(self, name: str, site: str) -> bool:
        """Whether a variable is true for a site. What a site does not say itself, the hub says."""
        value = next((value for value in self._of(name, site, *self._first[:1]) if value not in _EMPTY), False)
        return str(value).strip().lower() in _TRUE

    def _of(self, name: str, *hosts: str) -> Iterator[Any]:
        return (variables_of(self.hostvars, host).get(name) for host in hosts)


def fleet_faults(fleet: Fleet, needs: str = "") -> list[str]:
    """Sentences on groups that are no fleet, on a limit, and on names of the hub's variables.

    Args:
        needs: C(joining) for a playbook that works without a hub where all sites join another SuperLink; C(hub) or C(sites) for one that works there alone.
    """
    found = _other_superlink_faults(fleet, needs == "joining")
    if found is not None:
        return found
    found = group_faults(fleet.groups, fleet.hub_group, fleet.sites_group, fleet.limited or needs == "hub")
    return found + _limit_faults(fleet, needs) + _names_faults(fleet)


def _other_superlink_faults(fleet: Fleet, joining: bool) -> list[str] | None:
    """Sentences on an inventory without a hub whose sites join a SuperLink that is not in it (C(supernode_superlink)); None where no site does.

    Args:
        joining: whether the playbook works without a hub.
    """
    # With a hub, the check of each such site refuses it. Here the variables of all sites would be read for that.
    others = [] if fleet.hubs else [site for site in fleet.sites if fleet.of(OTHER, site)]
    if not others:
        return None
    shown = ", ".join(others[:_SHOWN])
    if own := [site for site in fleet.sites if site not in others]:
        return [f"{OTHER} is set for {shown}, but not for {', '.join(own[:_SHOWN])}: without a hub in the group {fleet.hub_group}, set it for all sites"]
    if not joining:
        return [
            f"the sites join a SuperLink that is not in the inventory ({OTHER}), and this playbook needs a hub. Without one there are "
            "federated.flower.site, rotate_certs, status and teardown"
        ]
    return [
        f"{name} is set, and needs a hub, which the inventory does not have: remove it"
        for name in _OF_HUB
        if str(fleet.variable(name)).strip().lower() not in ("", "false", "no") or any(fleet.is_enabled(name, site) for site in others)
    ]


def _limit_faults(fleet: Fleet, needs: str) -> list[str]:
    """A sentence on a limit without a host at which the playbook works: Ansible skips plays without hosts, and the run succeeds.

    Args:
        needs: C(hub) or C(sites), where the playbook works at nothing else.
    """
    hosts = {"hub": fleet.hubs, "sites": fleet.sites}.get(needs)
    if not fleet.limited or not hosts or set(hosts) & set(fleet.in_run):
        return []
    who, one = (f"the hub {hosts[0]}", hosts[0]) if needs == "hub" else ("all sites", "a site")
    return [f"--limit leaves out {who}, at which this playbook works: remove --limit, or add {one} to it"]


def _names_faults(fleet: Fleet) -> list[str]:
    """Faults of the names of the hub's variables. Those of sites are checked with their values."""
    if len(fleet.hubs) != 1:
        return []
    given = fleet.hostvars.get(fleet.hubs[0]) or {}  # with those of the command line
    return variables.faults(fleet.hubs[0], given, to_json_data(given.get(variables.OWN)))
