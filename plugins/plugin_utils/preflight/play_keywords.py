# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of the inventory that keywords of plays read: a play that has no host yet sees them in C(hostvars) only. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_EMPTY = ("", None)
_TRUE = ("1", "on", "t", "true", "y", "yes")


def fleet_variable(hostvars: Mapping[str, Mapping[str, Any]], hosts: Iterable[str], name: str, given: Any = "", default: Any = "") -> Any:
    """The value of a variable of the whole fleet: the first one that is not empty. A controller sends empty ones for questions without an answer.

    Args:
        hostvars: the variables of all hosts; empty where playbooks are only listed.
        hosts: inventory names in the order in which they count: the hub and a site see what is set for their groups, and for all.
        name: of the variable.
        given: the value that a play sees without a host, such as that of the command line.
        default: the value if there is none.
    """
    if given not in _EMPTY:
        return given
    values = ((hostvars.get(host) or {}).get(name) for host in map(str, hosts))
    return next((value for value in values if value not in _EMPTY), default)


def sites_where(hostvars: Mapping[str, Mapping[str, Any]], sites: Iterable[str], name: str, hub: str = "") -> list[str]:
    """Those of some sites for which a variable is true. What a site does not say itself, the hub says.

    Args:
        hostvars: the variables of all hosts; empty where playbooks are only listed.
        sites: inventory names.
        name: of the variable.
        hub: inventory name.
    """
    of_hub = fleet_variable(hostvars, [hub], name)
    return [site for site in map(str, sites) if str(_or(fleet_variable(hostvars, [site], name), of_hub)).strip().lower() in _TRUE]


def _or(value: Any, other: Any) -> Any:
    return other if value in _EMPTY else value
