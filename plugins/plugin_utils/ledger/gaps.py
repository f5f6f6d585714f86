# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Free partition numbers, from 0 without end. Pure; each operation is a binary search."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterable


class Gaps:
    """Free ranges between ranges that are taken.

    Args:
        taken: pairs of first number and end, the end not included, in any order. Ranges may overlap.
    """

    def __init__(self, taken: Iterable[tuple[int, int]]) -> None:
        self._firsts: list[int] = []
        self._ends: list[float] = []
        # Size -> number below which no gap of that size is free. It rises while numbers are taken and falls when some are freed.
        self._lowest: dict[int, int] = {}
        start = 0
        #: Whether no two ranges overlap. If some do, it is not known which numbers are free when one of them is released.
        self.exact = True
        for first, end in sorted(taken):
            self.exact = self.exact and first >= start
            if first > start:
                self._firsts.append(start)
                self._ends.append(first)
            start = max(start, end)
        self._firsts.append(start)
        self._ends.append(math.inf)

    def room(self, first: int) -> float:
        """How many numbers are free from C(first) on; infinite behind the last range that is taken."""
        at = bisect_right(self._firsts, first) - 1
        return max(self._ends[at] - first, 0) if at >= 0 else 0

    def lowest(self, size: int) -> int:
        """Lowest number from which C(size) numbers are free."""
        at = max(bisect_right(self._firsts, self._lowest.get(size, 0)) - 1, 0)
        while self._ends[at] - self._firsts[at] < size:
            at += 1
        self._lowest[size] = self._firsts[at]
        return self._firsts[at]

    def take(self, first: int, size: int) -> None:
        """Allocate free numbers, see C(room)."""
        if not size:
            return
        at = bisect_right(self._firsts, first) - 1
        start, end = self._firsts[at], self._ends[at]
        parts = [(low, high) for low, high in ((start, first), (first + size, end)) if low < high]
        self._firsts[at : at + 1] = [low for low, _high in parts]
        self._ends[at : at + 1] = [high for _low, high in parts]

    def free(self, first: int, size: int) -> None:
        """Release numbers; without effect when ranges overlapped from the beginning."""
        if not size or not self.exact:
            return
        at = bisect_left(self._firsts, first)
        start, end, until = first, float(first + size), at
        if at and self._ends[at - 1] == first:
            at -= 1
            start = self._firsts[at]
        if self._firsts[until] == end:
            end = self._ends[until]
            until += 1
        self._firsts[at:until] = [start]
        self._ends[at:until] = [end]
        self._lowest = {wanted: min(low, start) for wanted, low in self._lowest.items()}
