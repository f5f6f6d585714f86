# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the hub keeps of its sites for quick answers: their last actions, their SuperNodes and their datasets. Pure functions on plain data.

Shape, of acceptances and of deployments::

    {"sites": {"site-a": {"at": "2026-11-24T10:00:00+00:00", "score": 96, "accepted": true, "reasons": ["…"]}}}
    {"sites": {"site-a": {"at": "2026-11-24T10:00:00+00:00", "version": "1.41.0"}}}

Shape of the index::

    {"regions": {"site-a": "eu"}, "sites": {"site-a": {"default": {"nodes": ["123…"]}}}}

Site, pool, and Flower's ids of its SuperNodes. It is written by the deployment of sites, before new SuperNodes start, and read before a run is
submitted. Earlier releases kept lists of packages in it as well: they are left out when it is written.

    {"site-a": {"default": {"datasets": ["ct"], "nodes": ["123…"]}}}

Site, pool, names of the pool's datasets, and Flower's ids of its SuperNodes. It is written by the deployment of a site, after its objects were
applied, and read before a run is submitted: by identities that may read nothing else of the ledger, too. Hence the node ids in it.

C("promised": {"mri": 5}) beside C(datasets) is of a site whose people apply files themselves: version 5 of these has the dataset C(mri), and
nothing shows that it was applied.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from .records import Record, serving_ids

SiteIndex = dict[str, Any]

NodeIndex = dict[str, Any]
DatasetIndex = dict[str, dict[str, dict[str, Any]]]

SITES, REGIONS, PROMISED = "sites", "regions", "promised"


def updated_sites(index: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]]) -> SiteIndex:
    """The index with new results of some sites."""
    return {SITES: dict(sorted({**index.get(SITES, {}), **results}.items()))}


def without_site(index: Mapping[str, Any], sites: Collection[str]) -> dict[str, Any]:
    """An index, but that of datasets, without sites that left."""
    return {part: {site: entry for site, entry in index[part].items() if site not in sites} for part in (SITES, REGIONS) if part in index}


def site_index_error(index: Any) -> str:
    """What is wrong with the shape of an index that was read; empty for a good one."""
    sites = index.get(SITES, {}) if isinstance(index, dict) else None
    good = isinstance(sites, dict) and all(isinstance(one, dict) and isinstance(one.get("at"), str) for one in sites.values())
    return "" if good else "it does not list results of sites"


def updated_nodes(index: Mapping[str, Any], records: Mapping[str, Record], *, unreadable: Collection[str] = ()) -> NodeIndex:
    """The index after a deployment.

    Args:
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


def pools_of(index: Mapping[str, Any], nodes: Collection[str]) -> tuple[dict[str, list[str]], list[str]]:
    """Site -> its pools with one of some SuperNodes; and those nodes that are in none."""
    present, known = {*nodes}, {*sites_by_node(index)}
    found = {
        site: [pool for pool, entry in sorted(pools.items()) if present & {*entry["nodes"]}] for site, pools in sorted(_sites(index).items())
    }
    return {site: pools for site, pools in found.items() if pools}, sorted(present - known)


def sites_by_node(index: Mapping[str, Any]) -> dict[str, str]:
    """Node id -> site, of all SuperNodes that it knows."""
    return {node: site for site, pools in _sites(index).items() for entry in pools.values() for node in entry["nodes"]}


def regions(index: Mapping[str, Any]) -> dict[str, str]:
    """Site -> its region, empty for none, of all sites that it knows."""
    return {site: str(index.get(REGIONS, {}).get(site, "")) for site in _sites(index)}


def _sites(index: Mapping[str, Any]) -> dict[str, dict[str, dict[str, Any]]]:
    found: dict[str, dict[str, dict[str, Any]]] = index.get(SITES, {})
    return found


def node_index_error(index: Any) -> str:
    """What is wrong with the shape of an index that was read; empty for a good one."""
    sites, places = (index.get(SITES), index.get(REGIONS, {})) if isinstance(index, dict) else (None, None)
    good = _have_pools(sites, {"nodes": list}) and isinstance(places, dict) and all(isinstance(region, str) for region in places.values())
    return "" if good else "it does not list SuperNodes of the pools of sites"


def _have_pools(sites: Any, parts: Mapping[str, type]) -> bool:
    """Whether each pool of each site is a mapping that has parts of these types."""
    found = [[*pools.values()] if isinstance(pools, dict) else [None] for pools in sites.values()] if isinstance(sites, dict) else [[None]]
    return all(isinstance(pool, dict) and all(isinstance(pool.get(part), kind) for part, kind in parts.items()) for pools in found for pool in pools)


class Files(NamedTuple):
    """What the people of a site apply, whenever they do.

    Attributes:
        version: of the files that were written last.
        answered: the last version that the site has answered, which shows that it was applied; 0 for none.
    """

    version: int
    answered: int


def updated_datasets(
    index: Mapping[str, Any],
    deployed: Mapping[str, Mapping[str, Sequence[str]]],
    records: Mapping[str, Record],
    *,
    by_hand: Mapping[str, Files] | None = None,
    doubtful: Collection[str] = (),
    unreadable: Collection[str] = (),
) -> DatasetIndex:
    """The index after a deployment.

    Args:
        deployed: site -> pool -> names of its datasets, of the sites that were deployed now.
        records: site -> its record in the ledger. A site without one has left.
        by_hand: those of C(deployed) whose people apply files themselves. What is new in the files is promised, until a version with it is answered.
        doubtful: those of C(deployed) whose deployment failed on the way. Their pods may have what was, or what is wanted: what is in both
            counts.
        unreadable: sites whose records cannot be read. Theirs stay as they are.

    Returns:
        The new index; empty as long as no site has a dataset.
    """
    found: DatasetIndex = {site: index[site] for site in unreadable if site in index}
    for site, record in sorted(records.items()):
        nodes: dict[str, list[str]] = {}
        for node, key in serving_ids(record).items():
            nodes.setdefault(key["pool"], []).append(node)
        before = {pool: entry["datasets"] for pool, entry in index.get(site, {}).items()}
        promises, wanted, files = promised(index, site), deployed.get(site), (by_hand or {}).get(site)
        if wanted is None:
            names: Mapping[str, Sequence[str]] = before
        elif site in doubtful:
            names = {pool: sorted({*listed} & {*before.get(pool, [])}) for pool, listed in wanted.items()}
            promises = {pool: {name: first for name, first in promises.get(pool, {}).items() if name in listed} for pool, listed in wanted.items()}
        elif files is None:
            names, promises = wanted, {}
        else:
            promises = {pool: _promised(listed, before.get(pool, []), promises.get(pool, {}), files) for pool, listed in wanted.items()}
            shown = {pool: [name for name in listed if name not in promises[pool]] for pool, listed in wanted.items()}
            # A pool that is dropped serves until its people apply that.
            names = {**{pool: listed for pool, listed in before.items() if pool in nodes}, **shown}
        found[site] = {
            pool: {
                "datasets": sorted(names.get(pool, [])),
                "nodes": sorted(nodes.get(pool, [])),
                **({PROMISED: dict(sorted(promises[pool].items()))} if promises.get(pool) else {}),
            }
            for pool in sorted({*nodes, *names})
        }
    has_some = any(entry["datasets"] or entry.get(PROMISED) for pools in found.values() for entry in pools.values())
    return dict(sorted(found.items())) if has_some or index else {}


def _promised(wanted: Sequence[str], before: Sequence[str], known: Mapping[str, int], files: Files) -> dict[str, int]:
    """Dataset -> first version of the files with it, of the datasets of a pool that no answered version has."""
    first = {name: known.get(name, files.version) for name in wanted if name not in before}
    return {name: version for name, version in first.items() if version > files.answered}


def without_datasets(index: Mapping[str, Any], sites: Collection[str]) -> DatasetIndex:
    """The index without sites that left."""
    return {site: pools for site, pools in index.items() if site not in sites}


def sites_by_dataset(index: Mapping[str, Any], names: Iterable[str] = ()) -> dict[str, list[str]]:
    """Dataset -> sites of which a pool has it, of all datasets in the index and of C(names)."""
    found: dict[str, list[str]] = {name: [] for name in names}
    for site, pools in index.items():
        for name in sorted({name for entry in pools.values() for name in entry["datasets"]}):
            found.setdefault(name, []).append(site)
    return {name: sorted(sites) for name, sites in sorted(found.items())}


def datasets_of(index: Mapping[str, Any], site: str) -> dict[str, list[str]]:
    """Pool -> its datasets, of one site; pools without datasets are left out."""
    return {pool: list(entry["datasets"]) for pool, entry in index.get(site, {}).items() if entry["datasets"]}


def promised(index: Mapping[str, Any], site: str) -> dict[str, dict[str, int]]:
    """Pool -> dataset -> first version of the site's files with it, of the datasets of which nothing shows that the site has applied them."""
    return {pool: dict(entry[PROMISED]) for pool, entry in index.get(site, {}).items() if entry.get(PROMISED)}


def absent_datasets(index: Mapping[str, Any], site: str, names: Iterable[str]) -> list[str]:
    """Those of some datasets that no pool of a site has, or is to have by its files."""
    present = {name for entry in index.get(site, {}).values() for name in (*entry["datasets"], *entry.get(PROMISED, ()))}
    return sorted({*names} - present)


def changes(before: Mapping[str, Sequence[str]], after: Mapping[str, Sequence[str]]) -> list[dict[str, str]]:
    """Audit facts of what differs between two results of C(of_site): pool, dataset, and whether it was added or removed."""
    was, now = ({(pool, name) for pool, names in one.items() for name in names} for one in (before, after))
    return [
        {"pool": pool, "dataset": name, "change": "added" if (pool, name) in now else "removed"}
        for pool, name in sorted(was ^ now)
    ]


def missing_datasets(index: Mapping[str, Any], wanted: Iterable[str], online: Collection[str]) -> list[str]:
    """Sentences about the SuperNodes that are online and lack datasets, one for each dataset.

    Args:
        online: node ids of the SuperNodes that are online.
    """
    if not index:
        return [f"dataset {name}: no site has any dataset" for name in dict.fromkeys(wanted)] if online else []
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
            without.append(f"SuperNodes that the ledger does not have ({', '.join(unknown[:3])}{', …' if unknown[3:] else ''})")
        if without:
            sentences.append(f"dataset {name}: {', '.join(without)}")
    return sentences


def uncertain_datasets(index: Mapping[str, Any], wanted: Iterable[str], online: Iterable[str]) -> list[str]:
    """Sentences about the SuperNodes that are online and may have datasets, since files with them were written for their site's people.

    Args:
        online: node ids of the SuperNodes that are online.
    """
    present = set(online)
    found = [
        f"whether {site} has applied bundle version {version}, which has dataset {name}, is unknown"
        for name in dict.fromkeys(wanted)
        for site, pools in index.items()
        for entry in pools.values()
        if present & set(entry["nodes"]) and (version := entry.get(PROMISED, {}).get(name))
    ]
    return list(dict.fromkeys(found))


def dataset_index_error(index: Any) -> str:
    """What is wrong with the shape of an index that was read; empty for a good one."""
    good = _have_pools(index, {"datasets": list, "nodes": list})
    good = good and all(isinstance(pool.get(PROMISED, {}), dict) for pools in index.values() for pool in pools.values())
    return "" if good else "it does not list datasets and nodes of the pools of sites"
