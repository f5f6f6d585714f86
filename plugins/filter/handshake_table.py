# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter of the role C(cert_rotation)."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import proof_table


class FilterModule(Filters):
    """Filters of the role C(cert_rotation)."""

    FUNCTIONS = {"handshake_table": proof_table.handshake_table}
