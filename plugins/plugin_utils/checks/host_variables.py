# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Variables of hosts that plays ask for again and again, such as who is reached through Skupper. What cannot have changed is read once.

Ansible merges the variables of a host each time that C(hostvars) is asked, which takes 2 ms of CPU, and a run of site.yml asks 16 times for each site.
What the process of the playbook has read, the processes of its tasks have as well.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

# Others are not kept: the more memory a process has, the longer takes each fork.
_OURS = ("flower_", "supernode_")
_CONSTANTS = (str, bool, int, float, type(None))
_MARKS = ("{{", "{%", "{#")


class _Variables(Mapping[str, Any]):
    """The variables of a host. Those that are templates, or that a task has set, are asked for each time.

    Args:
        hostvars: Ansible's. Each play has its own, of the same manager.
        host: as the inventory has it.

    Attributes:
        set_by_tasks: names of those that tasks have set.
    """

    def __init__(self, hostvars: Any, host: Any) -> None:
        self.hostvars, self._manager, self._host = hostvars, hostvars._variable_manager, host
        self._own = dict(host.vars)
        self._raw = {name: value for name, value in hostvars.raw_get(host.name).items() if name.startswith(_OURS)}
        self.set_by_tasks: Collection[str] = ()

    def is_of(self, manager: Any, host: Any) -> bool:
        """Whether the inventory still has this host with these variables: C(add_host) and C(meta: refresh_inventory) change it."""
        return manager is self._manager and host is self._host and bool(host.vars == self._own)

    def __getitem__(self, name: str) -> Any:
        if name.startswith(_OURS) and name not in self.set_by_tasks:
            value = self._raw[name]
            if isinstance(value, _CONSTANTS) and not (isinstance(value, str) and any(mark in value for mark in _MARKS)):
                return value
        return self.hostvars[self._host.name][name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.hostvars[self._host.name])

    def __len__(self) -> int:
        return len(self.hostvars[self._host.name])


_read: dict[str, _Variables] = {}  # by inventory name


def variables_of(hostvars: Mapping[str, Mapping[str, Any]], name: str) -> Mapping[str, Any]:
    """The variables of a host, templated when they are read; none if there is no such host.

    Args:
        hostvars: Ansible's, or another mapping of this form.
        name: inventory name.
    """
    inventory, manager = (getattr(hostvars, one, None) for one in ("_inventory", "_variable_manager"))
    host = inventory.get_host(name) if inventory and manager else None
    if inventory is None or manager is None or host is None:
        return hostvars.get(name) or {}
    known = _read.get(name)
    if known is None or not known.is_of(manager, host):
        known = _read[name] = _Variables(hostvars, host)
    known.hostvars = hostvars
    known.set_by_tasks = {*manager._nonpersistent_fact_cache.get(name, ()), *manager._vars_cache.get(name, ()), *_facts(manager._fact_cache, name)}
    return known


def _facts(cache: Any, name: str) -> Collection[str]:
    try:
        return cache.get(name) or ()
    except KeyError:  # ansible-core 2.19
        return ()
