# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters on sites that are reached through Skupper. The work is done by plugin_utils/reach/site_access.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site_access import SKUPPER, connected_by


def skupper_sites(hostvars: Mapping[str, Mapping[str, Any]], sites: Iterable[str]) -> list[str]:
    """Those of some hosts whose SuperNodes reach the hub through Skupper."""
    return connected_by(SKUPPER, hostvars, sites)


class FilterModule(Filters):
    """Filters of the playbooks."""

    FUNCTIONS = {"skupper_sites": skupper_sites}
