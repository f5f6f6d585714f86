# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which packages the images of a federation's apps hold, as the hub knows it without asking sites. Pure functions on plain data.

Shape of the index::

    {"lists": {"3f…": "eJyr…"}, "regions": {"site-a": "eu"},
     "serverapp": {"image": "r/app:3", "digest": "r/app@sha256:…", "revision": "…", "list": "3f…", "why": "", "installs": false},
     "sites": {"site-a": {"default": {…, "nodes": ["123…"]}}}}

Lists are packed (C(base/package_list.py)) and stored once for all images that hold the same. The index is written by the deployment of
sites, when their pods are ready, and read before a run is submitted. It is one object for all sites, and what they say of themselves is of
any size: what has no room in it is left out, with the reason, and never what others have in it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.digests import canonical
from ..base.package_list import PACKED
from .records import Record, serving_ids

Index = dict[str, Any]

LISTS, REGIONS, SERVERAPP, SITES = "lists", "regions", "serverapp", "sites"
# Why nothing is known of the images of a site that is being deployed.
NOT_ASKED = "its pods have not been asked yet: run federated.flower.site"
#: Characters of all lists of a site, of the whole index (a ConfigMap has up to 1 MiB), and of any other text in it.
SITE, WHOLE, LONGEST = 2 * PACKED, 768 * 1024, 512
_NO_ROOM = "its list of packages is too large to be recorded"
_TEXTS = ("image", "digest", "revision", "list", "why")
_DIGITS = 32


@dataclass(frozen=True)
class Held:
    """What is known of the packages of one image.

    Attributes:
        image: its reference in the pod.
        digest: what runs, according to the kubelet; empty if it is not known.
        revision: of the pod's template: variables and volumes decide what can be imported, too.
        listed: the packed list; empty if it is not known.
        why: why it is not known.
        installs: whether apps install their packages when they start.
    """

    image: str
    digest: str = ""
    revision: str = ""
    listed: str = ""
    why: str = ""
    installs: bool = False

    def is_like(self, other: Held | None) -> bool:
        """Whether the other's list is this one's, too."""
        return (
            other is not None
            and bool(self.digest and other.listed)
            and (self.digest, self.revision) == (other.digest, other.revision)
        )


def key_of(listed: str) -> str:
    """The key of a packed list."""
    return hashlib.sha256(listed.encode()).hexdigest()[:_DIGITS]


def updated(
    index: Mapping[str, Any],
    deployed: Mapping[str, Mapping[str, Held]],
    records: Mapping[str, Record],
    serverapp: Held | None,
    *,
    unreadable: Collection[str] = (),
) -> Index:
    """The index after a deployment.

    Args:
        index: as it was; not changed.
        deployed: site -> pool -> what its image holds, of the sites that were deployed now.
        records: site -> its record in the ledger. A site without one has left.
        serverapp: what the ServerApp's image holds; None to keep what was.
        unreadable: sites whose records cannot be read. Theirs stay as they are.
    """
    lists: dict[str, str] = {}
    sites: dict[str, Any] = {}
    for site in {*index.get(SITES, {}), *deployed}:
        if site in unreadable and site not in deployed:
            sites[site] = {pool: {**entry} for pool, entry in index[SITES][site].items()}
            continue
        if site not in records:
            continue
        nodes: dict[str, list[str]] = {}
        for node, key in serving_ids(records[site]).items():
            nodes.setdefault(key["pool"], []).append(node)
        known = of_site(index, site)
        # A pool that is dropped serves until its pods end.
        pools = {**{pool: held for pool, held in known.items() if pool in nodes}, **deployed[site]} if site in deployed else known
        sites[site] = {
            pool: {**_entry(held, lists), "nodes": sorted(nodes.get(pool, []))} for pool, held in sorted(pools.items())
        }
    found: Index = {SITES: dict(sorted(sites.items()))}
    hub = of_serverapp(index) if serverapp is None else serverapp
    if hub is not None:
        found[SERVERAPP] = _entry(hub, lists)
    for entry in _entries(found):  # of sites that were copied
        if entry["list"] and entry["list"] not in lists:
            lists[entry["list"]] = index.get(LISTS, {}).get(entry["list"], "")
    found[LISTS] = dict(sorted(_fitting(found, lists, index).items()))
    places = {site: str(records[site].get("region") or "") for site in sites if site in records}
    if any(places.values()):
        found[REGIONS] = dict(sorted(places.items()))
    return found if sites or hub is not None or index else {}


def _fitting(found: Index, lists: Mapping[str, str], index: Mapping[str, Any]) -> dict[str, str]:
    """Those of some lists for which there is room; entries of others lose theirs, and get the reason.

    The ServerApp's comes first, then those that were there, then the short ones: no site takes the place of another one.
    """
    own = found.get(SERVERAPP, {}).get("list")
    order = sorted(lists, key=lambda key: (key != own, key not in index.get(LISTS, {}), len(lists[key])))
    room = WHOLE - len(canonical(found))
    kept = {}
    for key in order:
        if len(lists[key]) <= min(room, PACKED):
            kept[key] = lists[key]
            room -= len(lists[key])
    for pools in ({"": found.get(SERVERAPP, {"list": ""})}, *found[SITES].values()):
        share = SITE
        for key in sorted({entry["list"] for entry in pools.values()} - {""}, key=lambda key: len(lists[key])):
            share -= len(lists[key])
            for entry in pools.values() if key not in kept or share < 0 else ():
                entry.update({"list": "", "why": _NO_ROOM} if entry["list"] == key else {})
    used = {entry["list"] for entry in _entries(found)}
    return {key: text for key, text in kept.items() if key in used}


def _entry(held: Held, lists: dict[str, str]) -> dict[str, Any]:
    key = key_of(held.listed) if held.listed else ""
    if key:
        lists[key] = held.listed
    return {
        "image": held.image[:LONGEST],
        "digest": held.digest[:LONGEST],
        "revision": held.revision[:LONGEST],
        "list": key,
        "why": "" if key else held.why[:LONGEST],
        "installs": held.installs,
    }


def _entries(index: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    if SERVERAPP in index:
        yield index[SERVERAPP]
    for pools in index.get(SITES, {}).values():
        yield from pools.values()


def without(index: Mapping[str, Any], sites: Collection[str]) -> Index:
    """The index without sites that left."""
    if not index:
        return {}
    kept = {site: pools for site, pools in index[SITES].items() if site not in sites}
    found: Index = {**index, SITES: kept}
    if REGIONS in index:
        found[REGIONS] = {site: region for site, region in index[REGIONS].items() if site not in sites}
    used = {entry["list"] for entry in _entries(found)}
    return {**found, LISTS: {key: text for key, text in index[LISTS].items() if key in used}}


def held_of(index: Mapping[str, Any], entry: Mapping[str, Any], pools: Mapping[str, Any]) -> Held:
    """An entry of the index. A list that an image with the same digest has is its own, too, if it is the ServerApp's or of the same site.

    So an image whose pods cannot be asked is known if its reference has a digest. What another site says of an image does not count.

    Args:
        index: the index.
        entry: the entry.
        pools: all entries of its site.
    """
    listed = index[LISTS].get(entry["list"], "")
    wanted = (entry["digest"] or entry["image"]).partition("@")[2]
    if not listed and wanted:
        for other in (index.get(SERVERAPP, entry), *pools.values()):
            if other["list"] and other["digest"].endswith(wanted):
                listed = index[LISTS].get(other["list"], "")
                break
    return Held(entry["image"], entry["digest"], entry["revision"], listed, entry["why"], entry["installs"])


def of_serverapp(index: Mapping[str, Any]) -> Held | None:
    """What the ServerApp's image holds; None if nothing was recorded."""
    return held_of(index, index[SERVERAPP], {}) if SERVERAPP in index else None


def of_site(index: Mapping[str, Any], site: str) -> dict[str, Held]:
    """Pool -> what its image holds, of one site. Without what is known from other places only."""
    return {
        pool: Held(
            entry["image"],
            entry["digest"],
            entry["revision"],
            index[LISTS].get(entry["list"], ""),
            entry["why"],
            entry["installs"],
        )
        for pool, entry in (index.get(SITES, {}).get(site) or {}).items()
    }


def asked_of_site(index: Mapping[str, Any], site: str) -> dict[str, Held]:
    """As C(of_site), without pools whose pods have not been asked yet."""
    return {pool: held for pool, held in of_site(index, site).items() if held.why != NOT_ASKED}


def of_nodes(index: Mapping[str, Any], nodes: Collection[str]) -> tuple[list[tuple[str, str, Held]], list[str]]:
    """Site, pool and what its image holds, of each pool with one of some SuperNodes; and those nodes that are in none."""
    present = {*nodes}
    known: set[str] = set()
    found = []
    for site, pools in index.get(SITES, {}).items():
        for pool, entry in pools.items():
            known |= {*entry["nodes"]}
            if present & {*entry["nodes"]}:
                found.append((site, pool, held_of(index, entry, pools)))
    return found, sorted(present - known)


def homes(index: Mapping[str, Any]) -> dict[str, str]:
    """Node id -> site, of all SuperNodes that it knows."""
    sites = index.get(SITES, {}).items()
    return {node: site for site, pools in sites for entry in pools.values() for node in entry["nodes"]}


def regions(index: Mapping[str, Any]) -> dict[str, str]:
    """Site -> its region, empty for none, of all sites that it knows."""
    return {site: str(index.get(REGIONS, {}).get(site, "")) for site in index.get(SITES, {})}


def changes(before: Mapping[str, Held], after: Mapping[str, Held]) -> list[str]:
    """Sentences about pools whose packages are others now, for the audit trail."""
    return [
        f"packages of pool {pool}: image {held.image}" + ("" if held.listed else " (not known)")
        for pool, held in sorted(after.items())
        if pool not in before or key_of(before[pool].listed) != key_of(held.listed)
    ]


def index_fault(index: Any) -> str:
    """What is wrong with the shape of an index that was read; empty for a good one."""
    good = (
        isinstance(index, dict)
        and _is_map(index.get(SITES), lambda pools: _is_map(pools, _is_pool))
        and _is_map(index.get(LISTS), lambda text: isinstance(text, str))
        and _is_map(index.get(REGIONS, {}), lambda text: isinstance(text, str))
        and (SERVERAPP not in index or _is_entry(index[SERVERAPP]))
    )
    return "" if good else "it does not list the packages of images"


def _is_map(value: Any, fits: Any) -> bool:
    return isinstance(value, dict) and all(map(fits, value.values()))


def _is_entry(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and all(isinstance(value.get(name), str) for name in _TEXTS)
        and isinstance(value.get("installs"), bool)
    )


def _is_pool(value: Any) -> bool:
    return _is_entry(value) and isinstance(value.get("nodes"), list)
