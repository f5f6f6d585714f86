# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From wishes to what is done: unknown sites are refused, wishes are brought together, and nothing is repeated endlessly. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .known_fleet import Fleet
from .request import DEPLOY, FETCH, HEAL, OF_SITES, REPAIR, REPORT, ROTATE, Request

DAY = 24 * 3600.0


@dataclass(frozen=True)
class Rate:
    """How often the same thing is done: seconds in between, and times in 24 hours."""

    pause: float
    a_day: int


# An alert that comes and goes must not have a site deployed again and again: if three repairs a day do not help, a person has to look.
RATES: Mapping[str, Rate] = {
    REPAIR: Rate(900, 3),
    HEAL: Rate(900, 3),
    DEPLOY: Rate(0, 24),
    ROTATE: Rate(3600, 4),
    FETCH: Rate(60, 12),
    REPORT: Rate(60, 288),
}
# Sites at once. If more fail or change at the same time, the reason is elsewhere, and the remedy is a decision.
MOST = 20


class Planner:
    """Decides what is done, and remembers what was.

    Args:
        repairs: repairs of a site in 24 hours, and as many times its SuperNodes are healed.
        pause: seconds between two repairs of a site.
        most: sites that are repaired, healed or deployed at once.
        fetch: whether there is a place for outputs.
    """

    def __init__(
        self, repairs: int = RATES[REPAIR].a_day, pause: float = RATES[REPAIR].pause, most: int = MOST, fetch: bool = True
    ) -> None:
        self._rates = {**RATES, **dict.fromkeys((REPAIR, HEAL), Rate(pause, repairs))}
        self._most = most
        self._fetch = fetch
        self._done: dict[Request, list[float]] = {}

    def plan(self, wishes: Iterable[Request], fleet: Fleet, now: float) -> tuple[list[dict[str, Any]], list[str]]:
        """Events for the rules.

        Args:
            wishes: what is asked for; the same ones count once.
            fleet: the fleet.
            now: seconds of a clock that is never set back.

        Returns:
            Events with C(do), C(meta.hosts) (the limit of the playbook) and, for C(fetch), C(run_ids) (separated by commas), one for each
            kind of action; and what is not done, each with the reason. Those that come too often are left out without a word if
            the last time was less than a pause ago.
        """
        self._forget(now)
        refused: list[str] = []
        by_kind: dict[str, list[str]] = {}
        for wish in sorted(set(wishes)):
            fault = self._fault(wish, fleet) or self._worn_out(wish)
            if fault:
                refused.append(fault)
            elif not self._recent(wish, now):
                by_kind.setdefault(wish.do, []).append(wish.target)
        for do in OF_SITES:
            if len(by_kind.get(do, [])) > self._most:
                refused.append(
                    f"{do} of {len(by_kind[do])} sites at once is not done, {self._most} are the most. The reason may be the hub, the network or "
                    "a change for all: look at the report, and run federated.flower.site"
                )
                by_kind[do] = []
                if not self._recent(Request(REPORT), now):
                    by_kind[REPORT] = [""]
        events = []
        for do in (*OF_SITES, ROTATE, FETCH, REPORT):
            targets = by_kind.get(do)
            if targets:
                for target in targets:
                    self._done.setdefault(Request(do, target), []).append(now)
                event: dict[str, Any] = {"do": do, "meta": {"hosts": targets if do in OF_SITES else fleet.whole}}
                events.append({**event, "run_ids": ",".join(targets)} if do == FETCH else event)
        return events, refused

    def _fault(self, wish: Request, fleet: Fleet) -> str:
        if wish.do == FETCH and not self._fetch:
            return f"outputs of run {wish.target} are not fetched: flower_outputs_directory is not set"
        return fleet.fault(wish.target) if wish.do in OF_SITES else ""

    def _recent(self, wish: Request, now: float) -> bool:
        times = self._done.get(wish, [])
        return any(now - time < self._rates[wish.do].pause for time in times[-1:])

    def _worn_out(self, wish: Request) -> str:
        """The reason if something was done too often; empty otherwise."""
        most = self._rates[wish.do].a_day
        if len(self._done.get(wish, ())) < most:
            return ""
        return f"{wish.do} {wish.target}".rstrip() + f": was done {most} times in 24 hours, so it is not repeated. Look for the reason"

    def _forget(self, now: float) -> None:
        """Remove what is more than a day ago."""
        kept = {wish: [time for time in times if now - time < DAY] for wish, times in self._done.items()}
        self._done = {wish: times for wish, times in kept.items() if times}
