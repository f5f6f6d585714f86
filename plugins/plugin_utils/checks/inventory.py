# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an inventory must have before any connection to a cluster, and what plays read from it before they have a host. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from .host_variables import variables_of

_SHOWN = 5
_INTERVAL = r"(?!0+(\.0*)?$)[0-9]{1,4}(\.[0-9]+)?"
OTHER = "supernode_superlink"
#: Variables of site.yml for what needs a hub.
_OF_HUB = ("flower_forget_sites", "flower_forget_clusters", "flower_plan", "flower_plan_hash", "flower_join_verify")
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
_EMPTY = ("", None)
_TRUE = ("1", "on", "t", "true", "y", "yes")


def other_superlink_faults(fleet: Fleet, joining: bool) -> list[str] | None:
    """Sentences on an inventory whose sites join a SuperLink that is not in it (C(supernode_superlink)); None where no site does.

    Args:
        joining: whether the playbook works without a hub.
    """
    others = [site for site in fleet.sites if fleet.of(OTHER, site)]
    if not others:
        return None
    shown = ", ".join(others[:_SHOWN])
    if fleet.groups.get(fleet.hub_group):
        return None  # the check of each such site refuses it
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
        self.hub_group, self.sites_group = str(self.given("flower_hub_group", HUB)), str(self.given("flower_sites_group", SITES))
        self.sites = [str(site) for site in self.groups.get(self.sites_group) or []]
        self._first = [str(host) for host in [*(self.groups.get(self.hub_group) or []), *self.sites[:1]]]

    def given(self, name: str, default: Any = "") -> Any:
        """The value that the play or the task sees, such as that of the command line."""
        return self._template(self._variables[name]) if name in self._variables else default

    def variable(self, name: str, default: Any = "") -> Any:
        """The first value that is not empty: of the command line or the task, of the hub, of the first site. Questions of a controller give empty ones."""
        return next((value for value in (self.given(name), *self._of(name, *self._first)) if value not in _EMPTY), default)

    def of(self, name: str, host: str) -> Any:
        """The value for a host, as the command line or the inventory gives it."""
        return self.given(name) or next(self._of(name, host))

    def is_enabled(self, name: str, site: str) -> bool:
        """Whether a variable is true for a site. What a site does not say itself, the hub says."""
        value = next((value for value in self._of(name, site, *self._first[:1]) if value not in _EMPTY), False)
        return str(value).strip().lower() in _TRUE

    def _of(self, name: str, *hosts: str) -> Iterator[Any]:
        return (variables_of(self.hostvars, host).get(name) for host in hosts)
