# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which SuperNodes the sites of a federation have, for people who may read nothing else of the ledger. Pure functions on plain data.

Shape of the index::

    {"regions": {"site-a": "eu"}, "sites": {"site-a": {"default": {"nodes": ["123…"]}}}}

Site, pool, and Flower's ids of its SuperNodes. It is written by the deployment of sites, before new SuperNodes start, and read before a run is
submitted. Earlier releases kept lists of packages in it as well: they are left out when it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from .records import Record, serving_ids

Index = dict[str, Any]

REGIONS, SITES = "regions", "sites"


def updated(index: Mapping[str, Any], records: Mapping[str, Record], *, unreadable: Collection[str] = ()) -> Index:
    """The index after a deployment.

    Args:
        index: as it was; not changed.
        records: site -> its record in the ledger. A site without one has left.
        unreadable: sites whose records cannot be read. Theirs stay as they are.
    """
    sites = {site: {pool: {"nodes": entry["nodes"]} for pool, entry in pools.items()} for site, pools in _sites(index).items() if site in unreadable}
    places = {site: region for site, region in regions(index).items() if site in unreadable}
    for site, record in records.items():
        nodes: dict[str, list[str]] = {}
        for node, key in serving_ids(record).items():
            nodes.setdefault(key["pool"], []).append(node)
        sites[site] = {pool: {"nodes": sorted(found)} for pool, found in sorted(nodes.items())}
        places[site] = str(record.get("region") or "")
    if not sites and not index:
        return {}
    return {SITES: dict(sorted(sites.items())), **({REGIONS: dict(sorted(places.items()))} if any(places.values()) else {})}


def without(index: Mapping[str, Any], sites: Collection[str]) -> Index:
    """The index without sites that left."""
    return {part: {site: entry for site, entry in index[part].items() if site not in sites} for part in (SITES, REGIONS) if part in index}


def pools_of(index: Mapping[str, Any], nodes: Collection[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Site -> its pools with one of some SuperNodes; and those nodes that are in none."""
    present, known = {*nodes}, {*homes(index)}
    found = {
        site: [pool for pool, entry in sorted(pools.items()) if present & {*entry["nodes"]}] for site, pools in sorted(_sites(index).items())
    }
    return {site: pools for site, pools in found.items() if pools}, sorted(present - known)


def homes(index: Mapping[str, Any]) -> dict[str, str]:
    """Node id -> site, of all SuperNodes that it knows."""
    return {node: site for site, pools in _sites(index).items() for entry in pools.values() for node in entry["nodes"]}


def regions(index: Mapping[str, Any]) -> dict[str, str]:
    """Site -> its region, empty for none, of all sites that it knows."""
    return {site: str(index.get(REGIONS, {}).get(site, "")) for site in _sites(index)}


def _sites(index: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = index.get(SITES, {})
    return found


def index_fault(index: Any) -> str:
    """What is wrong with the shape of an index that was read; empty for a good one."""
    good = (
        isinstance(index, dict)
        and isinstance(index.get(SITES), dict)
        and all(isinstance(pools, dict) and all(map(_is_pool, pools.values())) for pools in index[SITES].values())
        and isinstance(index.get(REGIONS, {}), dict)
        and all(isinstance(region, str) for region in index.get(REGIONS, {}).values())
    )
    return "" if good else "it does not list SuperNodes of the pools of sites"


def _is_pool(value: Any) -> bool:
    return isinstance(value, dict) and isinstance(value.get("nodes"), list)
