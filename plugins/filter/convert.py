# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that turn other descriptions of a federation into variables of this collection."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.spec_filter import spec_filter
from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.convert import (
    federation_resource,
    helm_values,
    inventory_text,
)


class FilterModule(Filters):
    """Filters of playbooks/convert.yml."""

    FUNCTIONS = {
        "converted_report": spec_filter(inventory_text.converted_report),
        "converted_text": spec_filter(inventory_text.converted_text),
        "from_federation": spec_filter(federation_resource.from_federation),
        "from_helm_superlink_values": spec_filter(helm_values.from_helm_superlink_values),
        "from_helm_supernode_values": spec_filter(helm_values.from_helm_supernode_values),
    }
