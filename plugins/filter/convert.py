# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters that turn other descriptions of a federation into variables of this collection. Imports in functions: see fleet_report.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters, spec_filter


def from_federation(resource: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Variables out of a Federation, and their texts."""
    from ansible_collections.federated.flower.plugins.plugin_utils.migration import conversion, federation_resource

    return list(map(conversion.with_texts, federation_resource.from_federation(resource)))


def _from_helm_values(chart: str, values: Mapping[str, Any]) -> dict[str, Any]:
    from ansible_collections.federated.flower.plugins.plugin_utils.migration import conversion, helm_values

    return conversion.with_texts(helm_values.convert(chart, values))


def from_helm_superlink_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Variables out of the values of a SuperLink, and their texts."""
    return _from_helm_values("superlink", values)


def from_helm_supernode_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """Variables out of the values of SuperNodes, and their texts."""
    return _from_helm_values("supernode", values)


class FilterModule(Filters):
    """Filters of playbooks/convert.yml."""

    FUNCTIONS = {
        "from_federation": spec_filter(from_federation),
        "from_helm_superlink_values": spec_filter(from_helm_superlink_values),
        "from_helm_supernode_values": spec_filter(from_helm_supernode_values),
    }
