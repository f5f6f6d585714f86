# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The filter of the role C(cert_rotation)."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import marked
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import proof_table


class FilterModule:
    """Filters of the role C(cert_rotation)."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return marked({"handshake_table": proof_table.handshake_table})
