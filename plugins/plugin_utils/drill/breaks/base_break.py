# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a drill can do. A class for each is in a file of its own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

from ..bench import Bench
from ..drill_verdict import Measured


class Break(ABC):
    """A drill; without more it needs nothing but the SuperLink, and leaves nothing to be undone.

    Attributes:
        place: inventory name of what is broken.
        is_quick: whether C(undo) takes a few seconds only, so that a process that outlives its playbook can still do it.
    """

    is_quick = True

    def __init__(self, bench: Bench) -> None:
        """Take the hub on which it is conducted; nothing is read."""
        self._bench = bench
        self.place = bench.hub.name

    def faults(self) -> list[str]:
        """Why it cannot be conducted: sentences with the remedy. Finds C(place)."""
        return []

    def facts(self) -> dict[str, Any]:
        """What C(undo) needs; kept on the hub before anything is broken."""
        return {}

    @abstractmethod
    def conduct(self) -> Measured:
        """Break it, repair it, and measure.

        Raises:
            ClusterError: it could not be completed.
        """

    def undo(self, facts: Mapping[str, Any]) -> list[str]:
        """Undo what is still broken, in this run or a later one; sentences on what was undone, none where nothing was left.

        Raises:
            ClusterError: it could not; the text has the remedy.
        """
        return []
