# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the hub keeps of the last time that something was done for each site. Pure functions on plain data.

Shape, of acceptances and of deployments::

    {"sites": {"site-a": {"at": "2026-11-24T10:00:00+00:00", "score": 96, "accepted": true, "reasons": ["…"]}}}
    {"sites": {"site-a": {"at": "2026-11-24T10:00:00+00:00", "version": "1.41.0"}}}
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

Index = dict[str, Any]

SITES = "sites"


def updated(index: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> Index:
    """The index with new results of some sites."""
    return {SITES: dict(sorted({**index.get(SITES, {}), **results}.items()))}


def without(index: Mapping[str, Any], sites: Collection[str]) -> Index:
    """The index without sites that left."""
    return {SITES: {site: found for site, found in index[SITES].items() if site not in sites}} if index else {}


def fault(index: Any) -> str:
    """What is wrong with the shape of an index that was read; empty for a good one."""
    sites = index.get(SITES, {}) if isinstance(index, dict) else None
    good = isinstance(sites, dict) and all(isinstance(one, dict) and isinstance(one.get("at"), str) for one in sites.values())
    return "" if good else "it does not list results of sites"
