# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is known of releases of Flower: which SuperLink and SuperNodes work together, and which share the format of the database. Pure.

Sources: the wheels of flwr on the package index, whose revisions of the database are in C(flwr/supercore/state/alembic/versions), and the
runs that are named in the table.
"""

from __future__ import annotations

import re
from typing import NamedTuple

_RELEASE = re.compile(r"v?(\d{1,9})\.(\d{1,9})(?:\.(\d{1,9}))?(.*)")


class Pair(NamedTuple):
    """Releases (major, minor) of a SuperLink and of SuperNodes, and what shows that they work together."""

    superlink: tuple[int, int]
    supernode: tuple[int, int]
    source: str


#: Pairs of different releases that work. Of equal ones it is Flower's own promise. Flower itself only warns of the others in its log.
PAIRS = (
    Pair((1, 41), (1, 40), "an upgrade on clusters: SuperNodes online, with runs; the wheels differ in one status code for a retry"),
    Pair((1, 42), (1, 41), "tests/integration/scenarios/test_33_upgrade.py; the wheels are equal in all that SuperNodes and their calls have"),
)

#: Newest revision of the database, by release. A release refuses to start with a revision that it does not know (seen with the database of
#: 1.41.0 and flwr 1.40.0: «Can't locate revision identified by 'd90a2f91f23c'»).
REVISIONS = {"1.40.0": "8f4785e2dc47", "1.41.0": "d90a2f91f23c", "1.42.0": "d9bd9d502cf9"}


def release_of(version: str) -> tuple[int, int, int]:
    """Major, minor and patch number; zeros where it is not a release."""
    found = _RELEASE.fullmatch(version)
    return (int(found[1]), int(found[2]), int(found[3] or 0)) if found else (0, 0, 0)


def is_older(version: str, other: str) -> bool:
    """Whether the first release is older than the second; false where one of them is not known."""
    first, second = release_of(version), release_of(other)
    return bool(any(first) and any(second) and first < second)


def untested(superlink: str, supernode: str) -> bool:
    """Whether nothing shows that these releases work together."""
    pair = release_of(superlink)[:2], release_of(supernode)[:2]
    return pair[0] != pair[1] and pair not in {(one.superlink, one.supernode) for one in PAIRS}


def same_database(before: str, after: str) -> bool:
    """Whether a SuperLink of the first release can open a database that one of the second has opened."""
    known = REVISIONS.get(before)
    return before == after or (known is not None and known == REVISIONS.get(after))
