# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Check what plays need before they have hosts. The work is done by play_fleet.py, inventory.py and batches.py of plugin_utils/checks."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_faults
author: the federated.flower authors (@federated-flower)
version_added: 1.0.0
short_description: Validate the inventory of a fleet
description:
  - Returns the faults of the inventory's groups, of the limit and of the names of the hub's variables, or of variables that play keywords read.
  - The hub's variables include those of the command line. Play keywords see them once a play has had a host.
  - This lookup is a step of the playbooks of this collection. Its options may change in any release.
options:
  _terms:
    description:
      - C(inventory) for one hub and at least one site. Sites may be missing in a run with a limit, since the hub alone can be deployed.
      - C(joining) for the same, or sites that all join a SuperLink that is not in the inventory (C(supernode_superlink)).
      - C(hub) for one hub, which a limit must contain. Sites may be missing.
      - C(sites) for one hub and at least one site. A limit must contain a site.
      - C(batches) for C(flower_serial) and C(flower_max_fail_percentage).
      - C(standby) for one hub and one standby, C(flower_standby_follow) and C(flower_standby_interval).
    required: true
    choices: [inventory, joining, hub, sites, batches, standby]
"""

EXAMPLES = r"""
- name: Fail if the inventory is invalid
  ansible.builtin.assert:
    that: query('federated.flower.fleet_faults', 'inventory') | length == 0
"""

RETURN = r"""
_raw:
  description: One message for each fault.
  type: list
  elements: str
"""

from collections.abc import Callable
from functools import partial
from typing import Any

from ansible.plugins.lookup import LookupBase

from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.plugins.plugin_utils.checks import batches, inventory
from ansible_collections.federated.flower.plugins.plugin_utils.checks.play_fleet import Fleet, fleet_faults


class LookupModule(LookupBase):
    """The lookup."""

    def run(self, terms: list[str], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """Faults of each of the terms."""
        fleet = Fleet(variables or {}, self._templar.template)
        return [fault for term in terms for fault in _CHECKS[term](fleet)]


def _batches(fleet: Fleet) -> list[str]:
    serial, failed = fleet.variable("flower_serial", "100%"), fleet.variable("flower_max_fail_percentage", 100)
    return batches.batch_faults(to_json_data(serial), to_json_data(failed))


def _standby(fleet: Fleet) -> list[str]:
    follow, interval = (fleet.given(f"flower_standby_{name}") for name in ("follow", "interval"))
    return inventory.standby_faults(fleet.groups, fleet.hub_group, follow, interval)


_CHECKS: dict[str, Callable[[Fleet], list[str]]] = {
    "inventory": fleet_faults,
    "joining": partial(fleet_faults, needs="joining"),
    "hub": partial(fleet_faults, needs="hub"),
    "sites": partial(fleet_faults, needs="sites"),
    "batches": _batches,
    "standby": _standby,
}
