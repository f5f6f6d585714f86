# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""From requests to what is done: unknown sites are refused, requests are brought together, and nothing is repeated endlessly. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .event_request import DEPLOY, FETCH, HEAL, OF_SITES, REPAIR, REPORT, ROTATE, Request
from .known_fleet import Fleet

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

    def __init__(self, repairs: int = RATES[REPAIR].a_day, pause: float = RATES[REPAIR].pause, most: int = MOST, fetch: bool = True) -> None:
        self._rates = {**RATES, **dict.fromkeys((REPAIR, HEAL), Rate(pause, repairs))}
        self._most = most
        self._fetch = fetch
        self._done: dict[Request, list[float]] = {}

    def plan(self, requests: Iterable[Request], fleet: Fleet, now: float) -> tuple[list[dict[str, Any]], list[str]]:
        """Events for the rules.

        Args:
            now: seconds of a clock that is never set back.

        Returns:
            Events with C(do), C(meta.hosts) (the limit of the playbook) and, for C(fetch), C(run_ids) (separated by commas), one for each
            kind of action; and what is not done, each with the reason. Those that come too often are left out without a word if
            the last time was less than a pause ago.
        """
        within_a_day = {one: [time for time in times if now - time < DAY] for one, times in self._done.items()}
        self._done = {one: times for one, times in within_a_day.items() if times}
        refused: list[str] = []
        by_kind: dict[str, list[str]] = {}
        for one in sorted(set(requests)):
            if one.do == FETCH and not self._fetch:
                refused.append(f"outputs of run {one.target} are not fetched: flower_outputs_directory is not set")
            elif one.do in OF_SITES and (fault := fleet.fault(one.target)):
                refused.append(fault)
            elif len(self._done.get(one, ())) >= (most := self._rates[one.do].a_day):
                refused.append(f"{f'{one.do} {one.target}'.rstrip()}: was done {most} times in 24 hours, so it is not repeated. Find the cause")
            elif not self._recent(one, now):
                by_kind.setdefault(one.do, []).append(one.target)
        for do in OF_SITES:
            if len(by_kind.get(do, [])) > self._most:
                refused.append(
                    f"{do} of {len(by_kind[do])} sites at once exceeds the maximum of {self._most}, and was not done. The cause may be the hub, "
                    "the network or a change to all sites: check the report, and run federated.flower.site"
                )
                by_kind[do] = []
                if not self._recent(Request(REPORT), now):
                    by_kind[REPORT] = [""]
        events = []
        for do in (*OF_SITES, ROTATE, FETCH, REPORT):
            if targets := by_kind.get(do):
                for target in targets:
                    self._done.setdefault(Request(do, target), []).append(now)
                event: dict[str, Any] = {"do": do, "meta": {"hosts": targets if do in OF_SITES else fleet.whole}}
                events.append({**event, "run_ids": ",".join(targets)} if do == FETCH else event)
        return events, refused

    def _recent(self, one: Request, now: float) -> bool:
        return any(now - time < self._rates[one.do].pause for time in self._done.get(one, [])[-1:])
