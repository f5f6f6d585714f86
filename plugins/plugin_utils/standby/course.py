# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Following a hub: when its standby needs another copy. Pure, apart from C(database_mark) and C(all_digests).

Whether nodes or runs have changed is asked often, since that is one short query. Objects and outputs are listed after such a change, which mostly
goes with one of theirs, and otherwise now and then.
"""

from __future__ import annotations

import hashlib
import json
import math
from dataclasses import dataclass
from typing import Any

from ..backup.database import Volume
from ..manifests import superlink
from . import copying
from .copying import End

CLOSELY = 30.0  # seconds between two looks at objects and outputs
NOTED = 60.0  # seconds after which it is noted that the copy is still current


@dataclass(frozen=True)
class Seen:
    """What a hub has, as digests of it.

    Attributes:
        database: its nodes and runs.
        objects: its Secrets and ConfigMaps.
        outputs: its files of outputs; empty where they are not copied, or were being written.
    """

    database: str = ""
    objects: str = ""
    outputs: str = ""


@dataclass
class Course:
    """What the standby has of it.

    Attributes:
        known: what was seen right before the last copy.
        claim: uid of the volume claim that has the database.
        copies: how many copies were made.
        looked: when objects and outputs were looked at last, in seconds of the monotonic clock.
        noted: when the record was written last.
        current: the time of that, as the record has it; empty before.
    """

    known: Seen = Seen()
    claim: str = ""
    copies: int = 0
    looked: float = -math.inf
    noted: float = -math.inf
    current: str = ""

    def looks_closely(self, database: str, now: float) -> bool:
        """Whether objects and outputs are looked at, too."""
        return database != self.known.database or now >= self.looked + CLOSELY

    def is_behind(self, seen: Seen) -> bool:
        """Whether the standby needs a copy."""
        return seen != self.known

    def is_silent(self, now: float) -> bool:
        """Whether it is to be noted that the copy is current."""
        return now >= self.noted + NOTED

    def claim_of(self, seen: Seen) -> str:
        """The claim whose database has all that was seen; empty if it is copied again."""
        return self.claim if seen.database == self.known.database else ""


def database_mark(source: End) -> str:
    """The digest of a hub's nodes and runs.

    Raises:
        ClusterError: its SuperLink cannot be asked.
    """
    return str(Volume(source.cluster, source.spec.namespace, superlink.POD).ask("events")["mark"])


def all_digests(source: End, database: str, *, with_outputs: bool) -> Seen:
    """All digests of a hub.

    Args:
        source: the hub.
        database: what C(database_mark) found.
        with_outputs: whether outputs are copied.
    """
    objects = _digest(copying.objects_of(source))
    if not (with_outputs and source.spec.outputs_enabled):
        return Seen(database, objects)
    files = copying.outputs_of(source).files()
    return Seen(database, objects, _digest([sorted(files.known.items()), sorted(files.others)]))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
