# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which SuperNodes have which datasets, as the hub knows it without asking sites. Pure functions on plain data.

Shape of the index::

    {"site-a": {"default": {"datasets": ["ct"], "nodes": ["123…"]}}}

Site, pool, names of the pool's datasets, and Flower's ids of its SuperNodes. It is written by the deployment of a site, after its objects were
applied, and read before a run is submitted: by identities that may read nothing else of the ledger, too. Hence the node ids in it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from .records import Record, node_ids

Index = dict[str, dict[str, dict[str, list[str]]]]


def updated(
    index: Mapping[str, Any],
    deployed: Mapping[str, Mapping[str, Sequence[str]]],
    records: Mapping[str, Record],
    *,
    doubtful: Collection[str] = (),
    unreadable: Collection[str] = (),
) -> Index:
    """The index after a deployment.

    Args:
        index: as it was; not changed.
        deployed: site -> pool -> names of its datasets, of the sites that were deployed now.
        records: site -> its record in the ledger. A site without one has left.
        doubtful: those of C(deployed) whose deployment failed on the way. Their pods may have what was, or what is wanted: what is in both
            counts.
        unreadable: sites whose records cannot be read. Theirs stay as they are.

    Returns:
        The new index; empty as long as no site has a dataset.
    """
    found: Index = {site: index[site] for site in unreadable if site in index}
    for site, record in sorted(records.items()):
        before = {pool: entry["datasets"] for pool, entry in index.get(site, {}).items()}
        names: Mapping[str, Sequence[str]] = deployed.get(site, before)
        if site in doubtful:
            names = {pool: sorted({*listed} & {*before.get(pool, [])}) for pool, listed in names.items()}
        nodes: dict[str, list[str]] = {}
        for node, key in node_ids(record).items():
            nodes.setdefault(key["pool"], []).append(node)
        found[site] = {
            pool: {"datasets": sorted(names.get(pool, [])), "nodes": sorted(nodes.get(pool, []))}
            for pool in sorted({*nodes, *names})
        }
    has_some = any(entry["datasets"] for pools in found.values() for entry in pools.values())
    return dict(sorted(found.items())) if has_some or index else {}


def without(index: Mapping[str, Any], sites: Collection[str]) -> Index:
    """The index without sites that left."""
    return {site: pools for site, pools in index.items() if site not in sites}


def holders(index: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, list[str]]:
    """Dataset -> sites of which a pool has it, of all datasets in the index and of C(names)."""
    found: dict[str, list[str]] = {name: [] for name in names}
    for site, pools in index.items():
        for name in sorted({name for entry in pools.values() for name in entry["datasets"]}):
            found.setdefault(name, []).append(site)
    return {name: sorted(sites) for name, sites in sorted(found.items())}


def of_site(index: Mapping[str, Any], site: str) -> dict[str, list[str]]:
    """Pool -> its datasets, of one site; pools without datasets are left out."""
    return {pool: list(entry["datasets"]) for pool, entry in index.get(site, {}).items() if entry["datasets"]}


def absent(index: Mapping[str, Any], site: str, names: Iterable[str]) -> list[str]:
    """Those of some datasets that no pool of a site has."""
    present = {name for entry in index.get(site, {}).values() for name in entry["datasets"]}
    return sorted({*names} - present)


def changes(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Audit facts of what differs between two results of C(of_site): pool, dataset, and whether it was added or removed."""
    was, now = ({(pool, name) for pool, names in one.items() for name in names} for one in (before, after))
    return [
        {"pool": pool, "dataset": name, "change": "added" if (pool, name) in now else "removed"}
        for pool, name in sorted(was ^ now)
    ]


def lacking(index: Mapping[str, Any], wanted: Iterable[str], online: Iterable[str]) -> list[str]:
    """Sentences about the SuperNodes that are online and lack datasets, one for each dataset.

    Args:
        index: which SuperNodes have what.
        wanted: names of datasets.
        online: node ids of the SuperNodes that are online.
    """
    present = set(online)
    places = [(site, pool, entry) for site, pools in index.items() for pool, entry in pools.items()]
    known = {node for _site, _pool, entry in places for node in entry["nodes"]}
    sentences = []
    for name in dict.fromkeys(wanted):
        without = [
            f"{site} (pool {pool})"
            for site, pool, entry in places
            if name not in entry["datasets"] and present & set(entry["nodes"])
        ]
        unknown = sorted(present - known)
        if unknown:
            without.append(f"{len(unknown)} SuperNodes of sites without datasets ({', '.join(unknown[:3])})")
        if without:
            sentences.append(f"dataset {name}: {', '.join(without)}")
    return sentences


def index_fault(index: Any) -> str:
    """What is wrong with the shape of an index that was read; empty for a good one."""
    good = isinstance(index, dict) and all(
        isinstance(pools, dict)
        and all(
            isinstance(entry, dict) and isinstance(entry.get("datasets"), list) and isinstance(entry.get("nodes"), list)
            for entry in pools.values()
        )
        for pools in index.values()
    )
    return "" if good else "it does not list datasets and nodes of the pools of sites"
