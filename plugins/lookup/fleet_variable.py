# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read a variable of the whole fleet. The work is done by plugin_utils/checks/play_fleet.py."""

from __future__ import annotations

DOCUMENTATION = r"""
name: fleet_variable
author: the federated.flower authors (@federated-flower)
version_added: 1.0.0
short_description: Read a variable of the whole fleet
description:
  - Returns the first value that is not empty. It comes from the command line or the host of the task, from the hub, or from the first site.
  - Play keywords, such as C(serial), cannot read variables of the inventory in any other way.
  - This lookup is a step of the playbooks of this collection. Its options may change in any release.
options:
  _terms:
    description: Name of the variable.
    required: true
  default:
    description: The value if the variable is not set.
    type: raw
    default: ""
"""

EXAMPLES = r"""
- name: Show the size of batches
  ansible.builtin.debug:
    msg: "{{ lookup('federated.flower.fleet_variable', 'flower_serial', default='100%') }}"
"""

RETURN = r"""
_raw:
  description: The value.
  type: list
  elements: raw
"""

from typing import Any

from ansible.plugins.lookup import LookupBase

from ansible_collections.federated.flower.plugins.plugin_utils.checks.play_fleet import Fleet


class LookupModule(LookupBase):
    """The lookup."""

    def run(self, terms: list[Any], variables: dict[str, Any] | None = None, **kwargs: Any) -> list[Any]:
        """The value of each variable."""
        self.set_options(var_options=variables, direct=kwargs)
        fleet = Fleet(variables or {}, self._templar.template)
        return [fleet.variable(str(name), self.get_option("default")) for name in terms]
