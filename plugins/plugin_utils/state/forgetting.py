# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which sites are forgotten: only sites that are named, never all that are missing in an inventory. Pure.

Forgetting is permanent, and sites may be missing because an inventory was not read: Ansible only warns of a file that it cannot
parse.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

#: Without a bound, at most half of the known sites can be forgotten in one run, and no more than this.
MOST = 10
VARIABLE, BOUND = "flower_forget_sites", "flower_forget_max"
#: Former managed clusters of sites that have moved, from which what is left is deleted.
FORMER = "flower_forget_clusters"
_TRUE = ("true", "yes", "on", "y", "t", "1", "all", "*")
_FALSE = ("", "false", "no", "off", "n", "f", "0", "none")


def names(given: Any, no_names: Callable[[Any], str] | None = None) -> list[str]:
    """The names in a list, or in a text with commas between them; each once.

    Args:
        no_names: what to say of one that names nothing; by default, of C(VARIABLE).

    Raises:
        ValueError: the value is a boolean instead of names.
    """
    refused = no_names or (
        lambda value: f"{VARIABLE} is {value!r}, and must be names of sites: -e {VARIABLE}=site-b,site-c. The task «Show the federation» of site.yml "
        "and federated.flower.status name the sites that are not in the inventory"
    )
    if given is None or given is False:
        return []
    if given is True or not isinstance(given, (str, list, tuple)):
        raise ValueError(refused(given))
    parts = given.split(",") if isinstance(given, str) else list(given)
    found = [str(part).strip() for part in parts]
    if len(found) == 1 and found[0].lower() in _FALSE:
        return []
    if any(part.lower() in _TRUE for part in found) or not all(isinstance(part, str) for part in parts):
        raise ValueError(refused(given))
    return [name for name in dict.fromkeys(found) if name]


def former_clusters(given: Any) -> list[str]:
    """The value of C(FORMER): names of managed clusters, as C(names).

    Raises:
        ValueError: it names none.
    """
    return names(given, lambda value: f"{FORMER} is {value!r}, and must be names of managed clusters: -e {FORMER}=c1,c2")


def unknown_sites(chosen: Sequence[str], known: Collection[str], book: Mapping[str, Any]) -> list[str]:
    """Those of some names of which the ledger has nothing, such as misspelt ones. One that was forgotten before is not among them.

    Args:
        book: the ledger's ranges, see C(ranges); it also has the keys, the denials and the revoked certificates of sites that left.
    """
    revoked = {entry.get("site") for entry in book.get("revoked", [])}
    parts = (known, book.get("sites", {}), book.get("left", {}), book.get("denied", {}), revoked)
    return [name for name in chosen if not any(name in part for part in parts)]


def forget_error(
    chosen: Collection[str], known: Collection[str], inventory: Collection[str] | None, bound: int | None = None
) -> str:
    """Why some sites are not forgotten, with the remedy; empty when they may be.

    Args:
        inventory: sites of the inventory; None where those of the inventory may be forgotten too, as in a teardown, which names
            its hosts and is confirmed.
        bound: how many may be forgotten; by default half of the known sites, at least one and at most C(MOST); without an inventory,
            all of them.
    """
    if not chosen or (inventory is None and bound is None):
        return ""
    going = sorted(set(chosen) & set(known))
    most = bound if bound is not None else max(1, min(MOST, len(known) // 2))
    if inventory is not None:
        present = sorted(set(chosen) & set(inventory))
        if present:
            return (
                f"{VARIABLE}: {', '.join(present)} {'is' if len(present) == 1 else 'are'} in the inventory; remove the host "
                "from it first, or use federated.flower.teardown with --limit"
            )
        if not inventory and (bound is None or bound < len(chosen)):
            return (
                f"{VARIABLE}: the inventory has no sites. Check it with ansible-inventory --graph; "
                f"any_unparsed_is_failed in ansible.cfg stops a run that cannot read it. -e {BOUND}={len(chosen)} forgets them "
                "nevertheless"
            )
    if len(going) > most:
        return (
            f"{VARIABLE}: {len(going)} of {len(known)} known sites would be forgotten permanently, more than {most}. If that is intended, "
            f"repeat with -e {BOUND}={len(going)}"
        )
    return ""
