# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sites of a federation in a rotation: which must report, and what they reported. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..hub.authority import trust_bundle
from ..ledger.ranges import Book
from . import conditions
from .machine import Site

_ABSENT = (
    "the ledger has it, but this run does not reach it: it failed before, --limit excludes it, or it is not in the inventory. "
    "A site that has left is forgotten by site.yml -e flower_forget_sites=NAME"
)


def members(book: Book, found: Mapping[str, conditions.Record], inventory: Iterable[str]) -> dict[str, dict[str, Any]]:
    """All sites that may have to report.

    Args:
        book: the ledger's book.
        found: site -> its record.
        inventory: sites that this run reaches.

    Returns:
        Site -> C(expected) (its keys: C(pool), C(name), C(node_id)), C(excused) (why it need not be asked, or empty) and
        C(here) (whether this run reaches it).
    """
    here = set(inventory)
    return {
        site: {
            "expected": conditions.expected(found[site]) if site in found else [],
            "excused": conditions.exemption(site, book, found),
            "here": site in here,
        }
        for site in sorted({*found, *here})
    }


def heard(rolled: Mapping[str, Mapping[str, Any]], reports: Iterable[Mapping[str, Any]]) -> dict[str, Site]:
    """What the state machine needs of each site.

    Args:
        rolled: see C(members).
        reports: results of M(federated.flower.supernode), C(state=trusted); sites that have not reported yet have none.
    """
    said = {report["site"]: report for report in reports if report.get("site")}
    sites = {}
    for name, entry in rolled.items():
        if entry["excused"]:
            sites[name] = Site(excused=entry["excused"])
        elif not entry["here"]:
            sites[name] = Site(trouble=_ABSENT)
        elif name in said:
            report = said[name]
            trust = report.get("trust")
            sites[name] = Site(
                None if trust is None else trust_bundle(trust),
                frozenset(report.get("accepts") or []),
                report.get("trouble") or "",
            )
        else:
            sites[name] = Site()
    return sites
