# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters for results of rotations, and of other tasks that worked on many sites."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import proof_table, site_results


class FilterModule(Filters):
    """Filters for results of rotations, and of other tasks that worked on many sites."""

    FUNCTIONS = {
        "handshake_table": proof_table.handshake_table,
        "results_of": site_results.results_of,
        "sites_failed": site_results.sites_failed,
    }
