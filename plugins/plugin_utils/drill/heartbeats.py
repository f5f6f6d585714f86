# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which SuperNodes the SuperLink has heard of, and when. Pure.

The SuperLink keeps until when a SuperNode counts as online: two intervals after its last heartbeat (flwr 1.41, C(HEARTBEAT_PATIENCE)). So the time of
the last heartbeat is known, by the clock of the SuperLink.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from ..base.times import moment

_PATIENCE = 2


@dataclass(frozen=True)
class Heard:
    """Of one SuperNode.

    Attributes:
        beat: time of its last heartbeat, seconds since 1970; 0 without one.
        activated: when it began its last session.
    """

    beat: float = 0.0
    activated: float = 0.0


@dataclass(frozen=True)
class Sight:
    """One look at all SuperNodes.

    Attributes:
        now: time of the SuperLink.
        nodes: node id -> what was heard of it.
    """

    now: float
    nodes: Mapping[str, Heard]

    def back(self, wanted: Iterable[str], since: float, *, restarted: bool = False) -> list[str]:
        """Of some SuperNodes, those that were heard of after a time; C(restarted): that began a session after it."""
        found = []
        for node in wanted:
            heard = self.nodes.get(node, Heard())
            if (heard.activated if restarted else heard.beat) > since:
                found.append(node)
        return found


def sight_of(answer: Mapping[str, Any]) -> Sight:
    """The answer of C(heartbeat_program)."""
    nodes = {}
    for one in answer["nodes"]:
        until, interval = one["until"] or 0.0, one["interval"] or 0.0
        begun = moment(one["activated"])
        nodes[str(one["id"])] = Heard(max(until - _PATIENCE * interval, 0.0), begun.timestamp() if begun else 0.0)
    return Sight(float(answer["now"]), nodes)
