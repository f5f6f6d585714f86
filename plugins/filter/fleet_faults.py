# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters of playbooks/check_inventory.yml and standby_check.yml."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.preflight.inventory import group_faults, standby_faults


class FilterModule(Filters):
    """Filters of playbooks."""

    FUNCTIONS = {"fleet_faults": group_faults, "standby_faults": standby_faults}
