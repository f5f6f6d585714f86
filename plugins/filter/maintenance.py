# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter federated.flower.maintenance; documented in maintenance.yml."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible.errors import AnsibleFilterError

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.base.maintenance import VARIABLE, in_maintenance
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data


def maintenance(hosts: Mapping[str, Mapping[str, Any]], sites: Iterable[str]) -> dict[str, str]:
    """The sites that are in maintenance now."""
    wanted = list(sites)
    given = {site: {VARIABLE: to_json_data(hosts[site].get(VARIABLE))} for site in wanted if site in hosts}
    try:
        return in_maintenance(given, wanted)
    except ValueError as error:
        raise AnsibleFilterError(str(error)) from error


class FilterModule(Filters):
    """Filters of this file."""

    FUNCTIONS = {"maintenance": maintenance}
