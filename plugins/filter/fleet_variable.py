# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Filters for keywords of plays. The work is done by plugin_utils/preflight/play_keywords.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.preflight import play_keywords as rules


def fleet_variable(hostvars: Mapping[str, Mapping[str, Any]], hosts: Iterable[str], name: str, given: Any = "", default: Any = "") -> Any:
    """The value of a variable of the whole fleet."""
    return rules.fleet_variable(hostvars, hosts, name, given, default)


def sites_where(hostvars: Mapping[str, Mapping[str, Any]], sites: Iterable[str], name: str, hub: str = "") -> list[str]:
    """Those of some sites for which a variable is true."""
    return rules.sites_where(hostvars, sites, name, hub)


def batch_faults(serial: Any, max_failed: Any) -> list[str]:
    """All that is wrong with the size of batches."""
    return rules.batch_faults(plain(serial), plain(max_failed))


class FilterModule(Filters):
    """Filters of the playbooks."""

    FUNCTIONS = {"batch_faults": batch_faults, "fleet_variable": fleet_variable, "sites_where": sites_where}
