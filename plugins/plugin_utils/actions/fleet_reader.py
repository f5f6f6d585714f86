# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Base of actions that read pods at the hub and at sites in one task."""

from __future__ import annotations

import datetime
import re

from ..base import formats
from ..base.errors import ClusterError
from ..fleet.outcome import Outcome, Outcomes
from ..fleet.pod_logs import OF_HUB, OF_SITE, Place, Wanted
from ..flower import run_table, runs
from ..flower.cli import FlowerCLI, FlowerError
from ..sites.site import Site
from .fleet_action import FleetAction

_LINES = 10_000
_AFTER = datetime.timedelta(seconds=2)  # after the end of a run, which Flower has in whole seconds


class FleetReader(FleetAction):
    """An action that reads pods at the hub and at sites. The hub is one of the hosts in its result."""

    def places(self, sites: dict[str, Site], outcomes: Outcomes, *, hub: bool) -> dict[str, list[Place]]:
        """Host -> where its pods are. A host whose API server cannot be reached from here fails: nothing is read through others."""
        every: list[Place] = []
        if hub and (name := self.hub_host()):
            outcomes.sites.setdefault(name, Outcome())
            every.append(Place(name, self.of_hub("namespace", name), self.of_hub("federation", name), OF_HUB))
        every += [Place(name, site.namespace, site.federation, OF_SITE) for name, site in sites.items()]
        found: dict[str, list[Place]] = {}
        for place in every:
            try:
                self.auth_of(place.host)  # what templates is not for several threads
            except ClusterError as error:
                outcomes.fail(place.host, f"{error.message} federated.flower.status shows its last known state")
            else:
                found.setdefault(place.host, []).append(place)
        return found

    def wanted_lines(self, lines: int, since: str | None = None, grep: str | None = None, run_id: str | None = None, *, previous: bool = False) -> Wanted:
        """Which lines of logs are wanted.

        Raises:
            ClusterError: with every fault in these options, or the hub cannot be queried for the run.
        """
        faults, pattern, earliest, latest = [], None, None, None
        if not 1 <= lines <= _LINES:
            faults.append(f"lines: {lines} is not a number from 1 to {_LINES}")
        try:
            pattern = re.compile(grep) if grep else None
        except re.error as error:
            faults.append(f"grep: {grep!r} is not a regular expression: {error}")
        try:
            earliest = formats.since(since, datetime.datetime.now(datetime.timezone.utc)) if since else None
        except ValueError as error:
            faults.append(f"since: {error}")
        try:
            runs.ids([run_id] if run_id else [], "run_id")
        except FlowerError as error:
            faults.append(error.message)
        if faults:
            raise ClusterError("; ".join(faults))
        if run_id:
            begun, latest = self._time_of(run_id)
            earliest = max(filter(None, (begun, earliest)), default=None)
        return Wanted(lines, earliest, latest, pattern, previous)

    def _time_of(self, run_id: str) -> tuple[datetime.datetime | None, datetime.datetime | None]:
        """When a run was submitted, and when it ended; None for one that has not."""
        name = self.hub_host()
        with self.connect(name) as hub:
            listed = run_table.entries(runs.read_some(FlowerCLI(hub, self.of_hub("namespace", name)), [run_id]))
        if run_table.missing([run_id], listed):
            raise ClusterError(f"run_id: the SuperLink on {name} has no run {run_id}. federated.flower.runs lists its runs")
        ended = formats.moment(listed[0]["finished_at"])
        return formats.moment(listed[0]["pending_at"]), ended and ended + _AFTER
