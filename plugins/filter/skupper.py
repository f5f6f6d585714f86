# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters on sites that are reached through Skupper. The work is done by plugin_utils/validate/skupper_faults.py."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Callable

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import marked
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site_access import SKUPPER, connected_by
from ansible_collections.federated.flower.plugins.plugin_utils.validate import skupper_faults as rules


def skupper_sites(hostvars: Mapping[str, Mapping[str, Any]], sites: Iterable[str]) -> list[str]:
    """Those of some hosts whose SuperNodes reach the hub through Skupper."""
    return connected_by(SKUPPER, hostvars, sites)


def skupper_faults(site: Any, listener: Any, link: Any = None) -> list[str]:
    """All that is wrong with the specifications of a Site, its listener and, unless it is the hub, its link."""
    return rules.all_faults(plain(site), plain(listener), plain(link or {}))


class FilterModule:
    """Filters of the playbooks."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return marked({"skupper_faults": skupper_faults, "skupper_sites": skupper_sites})
