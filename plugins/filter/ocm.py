# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters for delivery through Open Cluster Management. The work is done by plugin_utils/reach/site_access.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.base.choices import OCM
from ansible_collections.federated.flower.plugins.plugin_utils.base.names import WORKLOAD
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site_access import delivered_by


def ocm_sites(hostvars: Mapping[str, Mapping[str, Any]], hosts: Iterable[str]) -> list[str]:
    """Those of some hosts that are reached through Open Cluster Management."""
    return delivered_by(OCM, hostvars, hosts)


def clientapp_sites(hostvars: Mapping[str, Mapping[str, Any]], hosts: Iterable[str]) -> list[str]:
    """Those of them whose ClientApps are in their own pods (C(flower_clientapp: workload))."""
    return [host for host in ocm_sites(hostvars, hosts) if str(hostvars[host].get("flower_clientapp")) == WORKLOAD]


class FilterModule(Filters):
    """Filters of the role ocm_addon and of playbooks."""

    FUNCTIONS = {"clientapp_sites": clientapp_sites, "ocm_sites": ocm_sites}
