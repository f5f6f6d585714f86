# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which sites are upgraded together, and in which order. Pure.

A wish is a list of waves. Each is the name of a site or of a group of the inventory, a share of what is left such as C("25%"), or a list of
these. What no wave names is the last wave. Without a wish: one site, then all the others.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

VARIABLE = "flower_upgrade_waves"
_SHARE = re.compile(r"(\d{1,3})\s*%")


def make(
    wish: Any, sites: Sequence[str], groups: Mapping[str, Collection[str]], poor: Collection[str] = ()
) -> list[list[str]]:
    """The waves; every site is in exactly one of them, and none is empty.

    Args:
        wish: value of the variable; nothing for the default. Text with commas is a list, as C(-e) gives it.
        sites: all sites, in the order of the inventory.
        groups: name -> hosts, of the groups of the inventory.
        poor: sites that prove nothing, such as those that are denied access; the first wave of the default avoids them.

    Raises:
        ValueError: names every entry that cannot be used, and what could stand there.
    """
    if not sites:
        return []
    if wish in (None, "", []):
        first = next((site for site in sites if site not in poor), sites[0])
        rest = [site for site in sites if site != first]
        return [[first], rest] if rest else [[first]]
    entries = wish.split(",") if isinstance(wish, str) else wish
    if not isinstance(entries, list):
        raise ValueError(f"{VARIABLE}: {wish!r} is not a list of waves, such as [{sites[0]}, 25%]")
    faults = _faults(entries, sites, groups)
    if faults:
        raise ValueError("\n".join(faults))
    found, left = [], list(sites)
    for entry in entries:
        wave = _members(entry, left, groups)
        left = [site for site in left if site not in wave]
        found.append(wave)
    return [wave for wave in [*found, left] if wave]


def _words(entry: Any) -> list[Any]:
    return [word.strip() if isinstance(word, str) else word for word in (entry if isinstance(entry, list) else [entry])]


def _members(entry: Any, left: Sequence[str], groups: Mapping[str, Collection[str]]) -> list[str]:
    """The sites of one wave, in the order of the inventory."""
    chosen: set[str] = set()
    for word in _words(entry):
        share = _SHARE.fullmatch(word)
        if share:
            rest = [site for site in left if site not in chosen]
            chosen |= set(rest[: -(-len(rest) * int(share[1]) // 100)])
        else:
            chosen |= {word} if word in left else set(groups.get(word, ()))
    return [site for site in left if site in chosen]


def _faults(entries: Sequence[Any], sites: Sequence[str], groups: Mapping[str, Collection[str]]) -> list[str]:
    faults: list[str] = []
    named: dict[str, int] = {}
    for number, entry in enumerate(entries, 1):
        for word in _words(entry):
            where = f"{VARIABLE}: wave {number}: {word!r}"
            share = _SHARE.fullmatch(word) if isinstance(word, str) else None
            if share:
                if not 1 <= int(share[1]) <= 100:
                    faults.append(f"{where} is not a share from 1% to 100%")
            elif isinstance(word, str) and word in sites:
                if named.setdefault(word, number) != number:
                    faults.append(f"{where} is in wave {named[word]} already; name each site once")
            elif not isinstance(word, str) or not word or word not in groups:
                faults.append(
                    f"{where} is neither a site nor a group of the inventory, nor a share such as '25%'. Sites: {', '.join(sites)}. Correct the "
                    "name, or leave it out: sites that no wave names are the last wave"
                )
            elif not set(groups[word]) & set(sites):
                faults.append(f"{where} is a group without a site. Leave it out, or add sites to the group")
    return faults
