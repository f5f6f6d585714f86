# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The restarts at one site: whose turn it is, and what came of it. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .heal_plan import Lost

Nodes = Mapping[str, Mapping[str, Any]]


class Turn:
    """SuperNodes of one site, of which each is restarted when the one before it is online again, or all at once.

    Args:
        lost: those to restart, in this order.
        together: whether all are restarted at once.
        seconds: how long a restarted one may take to be online.

    Attributes:
        batch: those that are restarted now, and are waited for.
        healed: those that are online after their restart, for a result.
        waiting: those that are left alone, for a result.
    """

    def __init__(self, lost: Sequence[Lost], *, together: bool, seconds: float) -> None:
        self.seconds = seconds
        self.batch: list[Lost] = []
        self.healed: list[dict[str, Any]] = []
        self.waiting: list[dict[str, Any]] = []
        self._left = [list(lost)] if together else [[one] for one in lost]
        self._before: dict[str, Any] = {}
        self._begun = 0.0

    def take(self, nodes: Nodes) -> bool:
        """Whether a restart is due: then C(batch) is the next one, without those that came back before their turn.

        Args:
            nodes: node id -> its state at Flower.
        """
        while self._left and not self.batch:
            self.batch = [one for one in self._left.pop(0) if nodes.get(one.node, {}).get("status") != "online"]
            self._before = {one.node: nodes.get(one.node, {}).get("online-at") for one in self.batch}
            if self.batch:
                return True
        return False

    def begin(self, now: float) -> None:
        """The restart begins at a time in seconds."""
        self._begun = now

    def hear(self, nodes: Nodes, now: float) -> bool:
        """Take in what Flower lists at a time in seconds; returns whether what was restarted is not waited for any longer.

        If one of them is not online in time, nothing more is restarted.
        """
        if not self.batch:
            return False
        seconds = now - self._begun
        back = [one for one in self.batch if self._is_back(nodes.get(one.node, {}), one.node)]
        self.healed += [{**one.as_dict(), "seconds": round(seconds, 1)} for one in back]
        self.batch = [one for one in self.batch if one not in back]
        if self.batch and seconds < self.seconds:
            return False
        if self.batch:
            first = self.batch[0]
            late = f"it was restarted and is not online after {self.seconds:g} s"
            self.waiting += [{**one.as_dict(), "why": late} for one in self.batch]
            self.batch = []
            self.leave(f"restart of {first.pool}/{first.name} did not help, so this one was left alone")
        return True

    def _is_back(self, state: Mapping[str, Any], node: str) -> bool:
        return state.get("status") == "online" and state.get("online-at") != self._before[node]

    def leave(self, why: str) -> None:
        """Leave those alone whose turn has not come."""
        self.waiting += [{**one.as_dict(), "why": why} for batch in self._left for one in batch]
        self._left = []

    def stop(self, why: str) -> None:
        """Restart nothing more, and do not wait for what was restarted."""
        self.waiting += [{**one.as_dict(), "why": why} for one in self.batch]
        self.batch = []
        self.leave(why)

    def drop(self) -> None:
        """Forget what was not done: the site has an error, which is reported instead."""
        self.batch, self._left = [], []
