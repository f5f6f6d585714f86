# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Select sites of the inventory by their variables. The work is done by plugin_utils/sites/registry.py and plugin_utils/checks/play_fleet.py."""

from __future__ import annotations

DOCUMENTATION = r"""
name: sites
author: the federated.flower authors (@federated-flower)
version_added: 1.0.0
short_description: Select sites by delivery and connectivity
description:
  - Returns the hosts of the group C(flower_sites), or of the one that C(flower_sites_group) names, whose variables have the given values.
    An option that is not set is ignored.
  - Play keywords, such as C(hosts), can use it. It returns no sites when playbooks are only listed.
  - This lookup is a step of the playbooks of this collection. Its options may change in any release.
options:
  _terms:
    description: Not used.
  delivery:
    description: Value of C(flower_delivery).
    type: str
    default: ""
  connectivity:
    description: Value of C(flower_connectivity).
    type: str
    default: ""
  clientapp:
    description: Value of C(flower_clientapp).
    type: str
    default: ""
  enabled:
    description: Name of a variable that is true for the site, or for the hub if the site does not have it.
    type: str
    default: ""
"""

EXAMPLES = r"""
- name: Show the sites that are reached through the hub
  ansible.builtin.debug:
    msg: "{{ query('federated.flower.sites', delivery='ocm') }}"
"""

RETURN = r"""
_raw:
  description: The names of the selected hosts, in the order of the inventory.
  type: list
  elements: str
"""

from typing import Any

from ansible.plugins.lookup import LookupBase

from ansible_collections.federated.flower.plugins.plugin_utils.checks.play_fleet import Fleet
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import sites_with


class LookupModule(LookupBase):
    """The lookup."""

    def run(self, terms: list[Any], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[str]:
        """Names of the sites."""
        self.set_options(var_options=variables, direct=kwargs)
        fleet = Fleet(variables or {}, self._templar.template)
        found = sites_with(fleet.hostvars, fleet.sites, **{name: self.get_option(name) for name in ("delivery", "connectivity", "clientapp")})
        enabled = self.get_option("enabled")
        return [site for site in found if not enabled or fleet.is_enabled(enabled, site)]
