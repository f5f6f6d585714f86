# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that combine hub and sites to a report, or select what is reported."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import (
    fleet_page,
    fleet_report,
    fleet_table,
    summary,
)


class FilterModule(Filters):
    """Filters of playbooks."""

    FUNCTIONS = {
        "fleet_drift": summary.fleet_drift,
        "fleet_page": fleet_page.fleet_page,
        "fleet_report": fleet_report.fleet_report,
        "fleet_table": fleet_table.fleet_table,
        "fleet_summary": summary.fleet_summary,
        "sites_to_report": summary.sites_to_report,
    }
