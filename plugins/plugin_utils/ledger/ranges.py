# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who has which partition numbers. Pure arithmetic on plain data; reading and writing is done in C(store).

A pool that counts across the fleet owns one unbroken range of partition numbers, since a StatefulSet counts its pods
upwards from C(spec.ordinals.start). A range never moves because another site came or went.
"""

from __future__ import annotations

import copy
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Shape of the ledger's book:
#   {"partitions": 3, "sites": {"site-a": {"partitions": 3, "pools": {"default": {"offset": 0, "size": 2}}}},
#    "left": {"site-b": ["SHA256:…"]}, "id": "5d0c…"}
# "id" identifies the hub for its sites; it lasts as long as the ledger.
Book = dict[str, Any]


def empty_book() -> Book:
    """A ledger in which nobody has joined."""
    return {"partitions": 0, "sites": {}}


def identified(book: Mapping[str, Any]) -> Book:
    """The ledger with an identity; the same ledger when it has one."""
    return {**book, "id": book.get("id") or str(uuid.uuid4())}


@dataclass
class Allocation:
    """Outcome of C(allocate).

    Attributes:
        book: the new ledger.
        moved: sentences on pools that had to take other numbers.
        stale: sites that still count the fleet with an older number of partitions.
    """

    book: Book
    moved: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


def _taken(book: Book) -> list[tuple[int, int]]:
    """All ranges as (first, end) with the end not included, in order."""
    return sorted(
        (pool["offset"], pool["offset"] + pool["size"])
        for site in book["sites"].values()
        for pool in site["pools"].values()
        if pool["size"]
    )


def _first_gap(book: Book, size: int) -> int:
    """Lowest number from which C(size) numbers are free."""
    start = 0
    for first, end in _taken(book):
        if first - start >= size:
            return start
        start = max(start, end)
    return start


def _room(book: Book, offset: int) -> int | None:
    """How many numbers are free from C(offset) on; None for no limit."""
    later = [first for first, _end in _taken(book) if first >= offset]
    return later[0] - offset if later else None


def span(book: Book) -> int:
    """Highest partition number in use plus one."""
    return max((end for _first, end in _taken(book)), default=0)


def allocate(
    book: Mapping[str, Any],
    wanted: Mapping[str, Mapping[str, int]],
    *,
    partitions: int | None = None,
    repartition: bool = False,
    order: Sequence[str] = (),
) -> Allocation:
    """Give every pool of some sites its range.

    A pool that shrinks gives its last numbers back. A pool that grows keeps its first number when the numbers behind it
    are free, and otherwise moves as a whole to the lowest place where it fits. New pools take the lowest place. The
    number of partitions that a site counts with stays as it is when others join, because changing it restarts its pods;
    it follows when the site's own numbers reach beyond it, and C(repartition) brings all named sites to the present
    number.

    Args:
        book: the ledger as read; not changed.
        wanted: site -> pool -> number of replicas, for the pools that count across the fleet. Pools of a named site
            that are missing give their range back.
        partitions: a fixed number of partitions for the whole fleet.
        repartition: whether sites that have joined take over a changed number.
        order: sites in the order in which newcomers are served; the rest follow by name.

    Raises:
        ValueError: when C(partitions) is fixed and too small.
    """
    result = Allocation(copy.deepcopy(dict(book)))
    new = result.book
    sites = new["sites"]
    for site, pools in wanted.items():
        entry = sites.get(site)
        if entry:
            for name in set(entry["pools"]) - set(pools):
                del entry["pools"][name]
            for name, size in pools.items():
                if name in entry["pools"] and entry["pools"][name]["size"] > size:
                    entry["pools"][name]["size"] = size
    rank = {site: number for number, site in enumerate(order)}
    for site in sorted(wanted, key=lambda name: (rank.get(name, len(rank)), name)):
        pools = wanted[site]
        entry = sites.get(site)
        if entry is None:
            if not pools:
                continue
            entry = sites[site] = {"partitions": 0, "pools": {}}
        for name in pools:  # in the order of the inventory, so that the first pool has the first numbers
            _place(result, site, entry, name, pools[name])
        if not entry["pools"]:
            del sites[site]
    if partitions is None:
        new["partitions"] = span(new) if repartition else max(new["partitions"], span(new))
    elif partitions < span(new):
        raise ValueError(
            f"flower_partitions is {partitions}, but the fleet's pools need the numbers 0 to {span(new) - 1}; "
            f"set it to {span(new)} or more, or leave it out"
        )
    else:
        new["partitions"] = partitions
    for site in wanted:
        entry = sites.get(site)
        if entry and (repartition or partitions is not None or entry["partitions"] < _own_end(entry)):
            entry["partitions"] = new["partitions"]
    result.stale = sorted(site for site, entry in sites.items() if entry["partitions"] != new["partitions"])
    return result


def _own_end(entry: Mapping[str, Any]) -> int:
    """A site must count at least as many partitions as its own highest number needs."""
    return max((pool["offset"] + pool["size"] for pool in entry["pools"].values()), default=0)


def _place(result: Allocation, site: str, entry: dict[str, Any], name: str, size: int) -> None:
    old = entry["pools"].pop(name, None)
    if old is not None:
        room = _room(result.book, old["offset"])
        if room is None or room >= size:
            entry["pools"][name] = {"offset": old["offset"], "size": size}
            return
    offset = _first_gap(result.book, size)
    entry["pools"][name] = {"offset": offset, "size": size}
    if old is not None:
        result.moved.append(
            f"pool {name} of {site} grew from {old['size']} to {size} replicas and the numbers behind it are taken: "
            f"its partitions move from {old['offset']} to {offset}"
        )


def forget(book: Mapping[str, Any], keys: Mapping[str, Sequence[str]]) -> Book:
    """The ledger without some sites; their numbers are free again.

    Args:
        book: the ledger as read; not changed.
        keys: site -> fingerprints of its keys, which are dead from now on. A site that comes back is told so.
    """
    new = copy.deepcopy(dict(book))
    for site, fingerprints in keys.items():
        new["sites"].pop(site, None)
        left = sorted({*new.get("left", {}).get(site, []), *fingerprints})
        if left:
            new.setdefault("left", {})[site] = left
    return new


def left_keys(book: Mapping[str, Any], site: str) -> list[str]:
    """Fingerprints of keys that a site had before it left."""
    return list(book.get("left", {}).get(site, []))
