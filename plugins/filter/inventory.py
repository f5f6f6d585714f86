# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that check an inventory, and those for keywords of plays. The work is done by plugin_utils/preflight and plugin_utils/reach."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.plugins.plugin_utils.checks import batches, inventory


def batch_faults(serial: Any, max_failed: Any) -> list[str]:
    """All that is wrong with the size of batches."""
    return batches.batch_faults(to_json_data(serial), to_json_data(max_failed))


class FilterModule(Filters):
    """Filters of the playbooks."""

    FUNCTIONS = {
        "batch_faults": batch_faults,
        "fleet_faults": inventory.group_faults,
        "standby_faults": inventory.standby_faults,
    }
