# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filters of playbooks/check_inventory.yml and standby_check.yml."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import marked
from ansible_collections.federated.flower.plugins.plugin_utils.preflight.inventory import group_faults, standby_faults


class FilterModule:
    """Filters of playbooks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return marked({"fleet_faults": group_faults, "standby_faults": standby_faults})
