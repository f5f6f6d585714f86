# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that combine hub and sites to a report, or select what is reported.

They import what they need when they are called: to find one filter, Ansible imports all files of this folder in the process of each
task (C(Jinja2Loader), ansible-core 2.19), and what a report needs takes half a second.
"""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters, lazy


class FilterModule(Filters):
    """Filters of playbooks."""

    FUNCTIONS = {
        "fleet_drift": lazy("fleet.summary", "fleet_drift"),
        "fleet_page": lazy("fleet.fleet_page", "fleet_page"),
        "fleet_report": lazy("fleet.fleet_report", "fleet_report"),
        "fleet_table": lazy("fleet.fleet_table", "fleet_table"),
        "fleet_summary": lazy("fleet.summary", "fleet_summary"),
        "sites_to_report": lazy("fleet.summary", "sites_to_report"),
    }
