# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Allocate partition numbers to sites, from 0 without gaps that stay. Pure.

A pool that counts across the fleet owns one unbroken range of partition numbers, since a StatefulSet counts its pods
upwards from C(spec.ordinals.start). A range never moves because another site joined or left.
"""

from __future__ import annotations

import bisect
import copy
import math
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

# Shape of the ledger's book:
#   {"partitions": 3, "sites": {"site-a": {"partitions": 3, "pools": {"default": {"offset": 0, "size": 2}}}},
#    "left": {"site-b": ["SHA256:…"]}, "left_since": {"site-b": "2026-11-21T10:00:00+00:00"}, "id": "5d0c…"}
# "id" identifies the hub for its sites; it lasts as long as the ledger.
Book = dict[str, Any]


def empty_book() -> Book:
    """A ledger without sites."""
    return {"partitions": 0, "sites": {}}


def identified(book: Mapping[str, Any], noted: str = "") -> Book:
    """The ledger with an identity; the same ledger when it has one.

    Args:
        noted: the identity that is noted elsewhere, for a ledger that was lost.
    """
    return {**book, "id": book.get("id") or noted or str(uuid.uuid4())}


@dataclass
class Allocation:
    """Outcome of C(allocate).

    Attributes:
        book: the new ledger.
        moved: sentences on pools whose numbers had to change.
        stale: sites that still count the fleet with an older number of partitions.
    """

    book: Book
    moved: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)


def span(book: Book) -> int:
    """Highest partition number in use plus one."""
    return max((end for _first, end in _ranges(book)), default=0)


def _ranges(book: Mapping[str, Any]) -> list[tuple[int, int]]:
    """All ranges as (first, end) with the end not included, sorted."""
    pools = [pool for site in book["sites"].values() for pool in site["pools"].values() if pool["size"]]
    return sorted((pool["offset"], pool["offset"] + pool["size"]) for pool in pools)


def _room(taken: Sequence[tuple[int, int]], first: int) -> float:
    """How many numbers are free from C(first) on; infinite behind the last range that is taken."""
    return max(min((start for start, end in taken if end > first), default=math.inf) - first, 0)


def _lowest(taken: Sequence[tuple[int, int]], size: int) -> int:
    """Lowest number from which C(size) numbers are free."""
    free = 0
    for start, end in taken:
        if start - free >= size:
            break
        free = max(free, end)
    return free


def allocate(
    book: Mapping[str, Any],
    wanted: Mapping[str, Mapping[str, int]],
    *,
    partitions: int | None = None,
    repartition: bool = False,
    order: Sequence[str] = (),
    recorded: Mapping[str, Mapping[str, tuple[int, int]]] | None = None,
) -> Allocation:
    """Allocate the range of every pool of some sites.

    A pool that shrinks releases its last numbers. A pool that grows keeps its first number when the numbers behind it
    are free, and otherwise moves as a whole to the lowest place where it fits. New pools take the lowest place. The
    number of partitions that a site counts with stays as it is when others join, because changing it restarts its pods;
    it follows when the site's own numbers reach beyond it, and C(repartition) updates all named sites to the current
    number.

    Args:
        wanted: site -> pool -> number of replicas, for the pools that count across the fleet. Pools of a named site
            that are missing release their range.
        partitions: a fixed number of partitions for the whole fleet.
        repartition: whether sites that have joined take over a changed number.
        order: sites in the order in which newcomers are served; then the rest by name.
        recorded: site -> pool -> first number and number of the keys in the site's record (C(records.numbers)), or of the pods
            that it runs. A site that the book does not have gets these numbers back if they are free: its range is lost, for
            example with the whole book. Then the numbers of sites that are not among C(wanted) are restored as well. A book with an
            identity (C(identified)) is not lost: no pool of its fleet counts across it.

    Raises:
        ValueError: when C(partitions) is fixed and too small.
    """
    sites = {site: {**entry, "pools": {name: dict(pool) for name, pool in entry["pools"].items()}} for site, entry in book["sites"].items()}
    result = Allocation({**book, "sites": sites})
    new = result.book
    for site, pools in wanted.items():
        kept = sites[site]["pools"] if site in sites else {}
        for name in [*kept]:
            if name not in pools:
                del kept[name]
            else:
                kept[name]["size"] = min(kept[name]["size"], pools[name])
    taken = _ranges(new)
    restored = _restore(new, taken, wanted, recorded or {})
    rank = {site: number for number, site in enumerate(order)}
    for site in sorted(wanted, key=lambda name: (rank.get(name, len(rank)), name)):
        entry = sites.setdefault(site, {"partitions": 0, "pools": {}})
        for name, size in wanted[site].items():  # in the order of the inventory, so that the first pool has the first numbers
            if moved := _place(taken, entry["pools"], name, size):
                result.moved.append(f"pool {name} of {site} {moved}")
        if not entry["pools"]:
            del sites[site]
    needed = span(new)
    if partitions is not None and partitions < needed:
        raise ValueError(
            f"flower_partitions is {partitions}, but the fleet's pools need the numbers 0 to {needed - 1}; set it to {needed} or more, or remove it"
        )
    new["partitions"] = partitions if partitions is not None else needed if repartition else max(new["partitions"], needed)
    for entry in (sites[site] for site in {*wanted, *restored} if site in sites):
        own_end = max(pool["offset"] + pool["size"] for pool in entry["pools"].values())
        if repartition or partitions is not None or entry["partitions"] < own_end:
            entry["partitions"] = new["partitions"]
    # A site without a SuperNode that counts has no number yet.
    result.stale = sorted(site for site, entry in sites.items() if entry["partitions"] not in (0, new["partitions"]))
    return result


def _place(taken: list[tuple[int, int]], pools: dict[str, Any], name: str, size: int) -> str:
    """Give a pool its range; how it moved, if it had another one."""
    old = pools.pop(name, None)
    first, end = (old["offset"], old["offset"] + old["size"]) if old else (0, 0)
    stays = old is not None and (size == old["size"] or _room(taken, end) >= size - old["size"])
    offset = first if stays else _lowest(taken, size)
    pools[name] = {"offset": offset, "size": size}
    if pools[name] == old:
        return ""
    if first < end:
        # Not before: where the ranges overlap, a pod stays that runs with the key of another number, whose own pod is refused then.
        taken.remove((first, end))
    if size:
        bisect.insort(taken, (offset, offset + size))
    if stays or first == end:
        return ""
    return f"grew from {end - first} to {size} replicas and the following numbers are in use: its partitions move from {first} to {offset}"


def _restore(
    new: Book, taken: list[tuple[int, int]], wanted: Mapping[str, Mapping[str, int]], recorded: Mapping[str, Mapping[str, tuple[int, int]]]
) -> list[str]:
    """Restore the ranges of sites without one from the numbers of their keys; returns these sites."""
    is_lost = not new["sites"] and not new.get("id")
    restored = []
    for site in [*(site for site in wanted if site in recorded), *(sorted({*recorded} - {*wanted}) if is_lost else ())]:
        if site in new["sites"]:
            continue
        pools = {}
        for name, (offset, number) in recorded[site].items():
            size = number if site not in wanted else wanted[site].get(name, 0)
            if _room(taken, offset) >= size > 0:
                bisect.insort(taken, (offset, offset + size))
                pools[name] = {"offset": offset, "size": size}
        if pools:
            new["sites"][site] = {"partitions": 0, "pools": pools}
            restored.append(site)
    return restored


def forget(book: Mapping[str, Any], keys: Mapping[str, Sequence[str]], now: str = "") -> Book:
    """The ledger without some sites; their numbers are free again.

    Args:
        keys: site -> fingerprints of its keys, which are dead from now on. A site that joins again gets this list.
        now: ISO 8601.
    """
    new = copy.deepcopy(dict(book))
    for site, fingerprints in keys.items():
        new["sites"].pop(site, None)
        known = new.get("left", {}).get(site, [])
        left = sorted({*known, *fingerprints})
        if left != known:
            new.setdefault("left", {})[site] = left
            if now:
                new.setdefault("left_since", {})[site] = now
    return new


def without_left(book: Mapping[str, Any], before: str) -> Book:
    """The ledger without dead keys of sites that left long ago; without them, a site that joins again needs one more exec.

    Args:
        before: ISO 8601; what is older is removed, and so is what has no date, from an earlier release.
    """
    since = book.get("left_since", {})
    old = [site for site in book.get("left", {}) if since.get(site, "") < before]
    if not old:
        return dict(book)
    new = copy.deepcopy(dict(book))
    for part in ("left", "left_since"):
        kept = {site: value for site, value in new.pop(part, {}).items() if site not in old}
        if kept:
            new[part] = kept
    return new


def left_keys(book: Mapping[str, Any], site: str) -> list[str]:
    """Fingerprints of keys that a site had before it left."""
    return list(book.get("left", {}).get(site, []))
