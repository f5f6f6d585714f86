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
from dataclasses import dataclass, replace
from typing import Any

from ..backup.database import Volume
from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK_POD
from ..manifests import outputs
from ..marks import proof
from . import copying
from .copying import End
from .terms import ACTIVE, STANDBY, Term

CLOSELY = 30.0  # seconds between two looks at objects and outputs
_SECONDS = 30.0  # for an answer of a hub's database
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
        again: whether the database is copied once more at the next close look: what Flower writes right after a run has ended is behind its state.
        copies: how many copies were made.
        looked: when objects and outputs were looked at last, in seconds of the monotonic clock.
        noted: when the record was written last.
        current: the time of that, as the record has it; empty before.
    """

    known: Seen = Seen()
    claim: str = ""
    again: bool = False
    copies: int = 0
    looked: float = -math.inf
    noted: float = -math.inf
    current: str = ""

    def looks_closely(self, database: str, now: float) -> bool:
        """Whether objects and outputs are looked at, too."""
        return database != self.known.database or now >= self.looked + CLOSELY

    def is_behind(self, seen: Seen, closely: bool) -> bool:
        """Whether the standby needs a copy.

        Args:
            seen: what the hub has.
            closely: whether objects and outputs were looked at, too.
        """
        return seen != self.known or (closely and self.again)

    def is_silent(self, now: float) -> bool:
        """Whether it is to be noted that the copy is current."""
        return now >= self.noted + NOTED

    def is_copied(self, standby: Term, hub: Term) -> bool:
        """Whether the records are those of the last copy, so that their time may be renewed."""
        names = (standby.number, standby.serves, standby.claim)
        return (standby.state, hub.state) == (STANDBY, ACTIVE) and names == (hub.number, hub.serves, self.claim)

    def claim_of(self, seen: Seen) -> str:
        """The claim whose database has all that was seen; empty if it is copied again."""
        return "" if self.again or seen.database != self.known.database else self.claim

    def copied(self, seen: Seen, claim: str, *, is_whole: bool, with_database: bool) -> None:
        """A copy was made of what was seen.

        Args:
            seen: what the hub had before.
            claim: uid of the volume claim with the database.
            is_whole: whether no file was being written.
            with_database: whether the database was copied.
        """
        self.again = with_database and seen.database != self.known.database
        self.known = seen if is_whole else replace(seen, outputs="")
        self.claim = claim
        self.copies += 1


def database_mark(source: End) -> str:
    """The digest of a hub's nodes and runs.

    Raises:
        ClusterError: its SuperLink cannot be asked.
    """
    return str(Volume(source.cluster, source.spec.namespace, SUPERLINK_POD).ask("events", seconds=_SECONDS)["mark"])


def all_digests(source: End, database: str, *, with_outputs: bool) -> Seen:
    """All digests of a hub.

    Args:
        source: the hub.
        database: what C(database_mark) found.
        with_outputs: whether outputs are copied.
    """
    objects = _digest(copying.objects_of(source))
    live = source.cluster.get("v1", "Pod", SUPERLINK_POD, source.spec.namespace)
    if bool(proof.annotations_of(live).get(outputs.PLACE)) != source.spec.outputs_enabled:
        raise ClusterError(
            f"{source.host}: superlink_outputs_enabled was changed. Run federated.flower.standby again, after federated.flower.site for both."
        )
    if not (with_outputs and source.spec.outputs_enabled):
        return Seen(database, objects)
    files = copying.outputs_of(source).files()
    return Seen(database, objects, _digest([sorted(files.known.items()), sorted(files.others)]))


def _digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
