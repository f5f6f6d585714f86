# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Batches of sites: which sites are changed together, and in which order. Pure.

A batch is a number of sites or a percentage of all of them, as for C(serial) of a play: C(flower_serial) is a size or a list of sizes, of which the
last one repeats. The waves of an upgrade are the same batches, which may also be named: C(flower_upgrade_waves) is a list of sizes, sites, groups of
the inventory, and lists of these.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import chain, cycle
from typing import Any

SERIAL, WAVES = "flower_serial", "flower_upgrade_waves"
_SIZE = re.compile(r"([1-9][0-9]{0,8})(%?)")


def _listed(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple)) else [value]


def _size(value: Any) -> re.Match[str] | None:
    """A number of sites or a percentage of them, as ansible-core takes them for C(serial)."""
    return None if isinstance(value, bool) else _SIZE.fullmatch(str(value).strip())


def batch_faults(serial: Any, max_failed: Any) -> list[str]:
    """Sentences on C(flower_serial) and C(flower_max_fail_percentage): with a wrong value ansible-core would end in the middle of a run.

    Args:
        serial: a number of sites, a percentage, or a list of these.
        max_failed: a percentage.
    """
    found = [
        f"{SERIAL}: {one!r} is neither a number of sites nor a percentage of them. Set it to a number such as 10, to 25%, or to a list of "
        "these; without it, all sites are one batch"
        for one in _listed(serial)
        if not _size(one)
    ]
    percentage = re.fullmatch(r"([0-9]{1,3}(\.[0-9]+)?)%?", str(max_failed).strip())
    if not percentage or float(percentage[1]) > 100:
        found.append(
            f"flower_max_fail_percentage: {max_failed!r} is not a percentage. Set it to a number from 0 to 100; without it, a batch in which "
            "sites failed does not stop the others"
        )
    return found


def waves(
    given: Any, serial: Any, sites: Sequence[str], groups: Mapping[str, Collection[str]], unproven: Collection[str] = ()
) -> list[list[str]]:
    """The waves of an upgrade: each site is in exactly one, and none is empty. What no entry names is the last one.

    Args:
        given: C(flower_upgrade_waves); text with commas is a list, as C(-e) gives it. Empty for one site, then all others in batches of C(serial).
        serial: C(flower_serial), without faults.
        sites: all sites, in the order of the inventory.
        groups: name -> hosts, of the groups of the inventory.
        unproven: sites that prove nothing, such as those that are denied access; the first wave of the default avoids them.

    Raises:
        ValueError: names every entry that cannot be used, and what could be set instead.
    """
    if not sites:
        return []
    if given in (None, "", []):
        entries = [next((site for site in sites if site not in unproven), sites[0]), *_listed(serial)]
    else:
        entries = given.split(",") if isinstance(given, str) else given
    if not isinstance(entries, list):
        raise ValueError(f"{WAVES}: {given!r} is not a list of waves, such as [{sites[0]}, 25%]")
    listed = [[word.strip() if isinstance(word, str) else word for word in _listed(entry)] for entry in entries]
    known = {*sites, *groups}
    if faults := [
        f"{WAVES}: wave {number}: {word!r} is neither a site nor a group of the inventory, nor a number of sites or a share such as '25%'. Sites: "
        f"{', '.join(sites)}. Correct or remove the name: sites that no wave names are the last wave"
        for number, words in enumerate(listed, 1)
        for word in words
        if not _size(word) and not (isinstance(word, str) and word in known)
    ]:
        raise ValueError("\n".join(faults))
    found, left = [], list(sites)
    for words in chain(listed, cycle([listed[-1] if _size(entries[-1]) else ["100%"]])):
        if not left:
            break
        chosen: set[str] = set()
        for word in words:
            if word in left:
                chosen.add(word)
            elif word in groups:
                chosen |= set(groups[word])
            elif size := _size(word):
                # As C(ansible.utils.helpers.pct_to_int): rounded down, and at least 1.
                count = (len(sites) * int(size[1]) // 100 or 1) if size[2] else int(size[1])
                chosen |= set([site for site in left if site not in chosen][:count])
        found.append([site for site in left if site in chosen])
        left = [site for site in left if site not in chosen]
    return [wave for wave in found if wave]
