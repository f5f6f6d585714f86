# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that combine hub and sites to a report, or select what is reported.

They import what they need when they are called: to find one filter, Ansible imports all files of this folder in the process of each
task (C(Jinja2Loader), ansible-core 2.19), and what a report needs takes half a second.
"""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters


def fleet_report(*args: Any) -> dict[str, Any]:
    """Hub and sites as one report."""
    from ansible_collections.federated.flower.plugins.plugin_utils.fleet import fleet_report as module

    return module.fleet_report(*args)


def fleet_table(*args: Any) -> str:
    """A report as a table."""
    from ansible_collections.federated.flower.plugins.plugin_utils.fleet import fleet_table as module

    return module.fleet_table(*args)


def fleet_page(*args: Any) -> str:
    """A report as a page in HTML."""
    from ansible_collections.federated.flower.plugins.plugin_utils.fleet import fleet_page as module

    return module.fleet_page(*args)


def fleet_summary(*args: Any) -> str:
    """The SuperNodes that are online, and the sites that are not, in a sentence."""
    from ansible_collections.federated.flower.plugins.plugin_utils.fleet import summary

    return summary.fleet_summary(*args)


def fleet_drift(*args: Any) -> list[dict[str, str]]:
    """What differs from the inventory, one entry for each object."""
    from ansible_collections.federated.flower.plugins.plugin_utils.fleet import summary

    return summary.fleet_drift(*args)


def sites_to_report(*args: Any) -> list[str]:
    """The sites that have something to report."""
    from ansible_collections.federated.flower.plugins.plugin_utils.fleet import summary

    return summary.sites_to_report(*args)


class FilterModule(Filters):
    """Filters of playbooks."""

    FUNCTIONS = {
        "fleet_drift": fleet_drift,
        "fleet_page": fleet_page,
        "fleet_report": fleet_report,
        "fleet_table": fleet_table,
        "fleet_summary": fleet_summary,
        "sites_to_report": sites_to_report,
    }
