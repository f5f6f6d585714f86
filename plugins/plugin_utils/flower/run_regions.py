# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a run in some regions: it starts only while no SuperNode of another region is online, and ends when one comes.

Flower lets an app address every SuperNode that is registered, and a run cannot be limited to some of them. What is offline gets no messages,
so that is what is checked: before the run, at every look while it runs, and afterwards by the times that the SuperLink has noted.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..base.errors import ClusterError
from ..base.formats import counted
from ..kube.api_errors import Forbidden
from ..state.ledger import NODES
from . import run_sites
from .cli import FlowerCLI, FlowerError
from .following import RunReport, Watch

# Seconds for which it may stay unknown where a SuperNode is, before it counts as one of another region.
_UNKNOWN = 60.0
# Seconds for which the SuperLink may not list its SuperNodes while it answers about the run, before the run counts as unwatched and ends.
# One try takes up to a minute at a SuperLink that is busy.
_UNLISTED = 300.0
_PAUSE = 3.0  # seconds between two looks at SuperNodes that go offline
_REMEDY = (
    "Deny these sites for the time of the run: -e flower_run_regions_only=true does it and admits them afterwards, with the rights of a fleet "
    "operator; or federated.flower.site_access"
)


class LeftRegion(ClusterError):
    """A SuperNode of another region is online while the run is active, or that cannot be known any more."""


@dataclass(frozen=True)
class Regions:
    """Where the SuperNodes of a federation are.

    Attributes:
        wanted: the regions of the run.
        homes: node id -> site.
        places: site -> its region; empty for none.
    """

    wanted: tuple[str, ...]
    homes: Mapping[str, str]
    places: Mapping[str, str]

    def inside(self) -> list[str]:
        """Sites of these regions."""
        return sorted(site for site, region in self.places.items() if region in self.wanted)

    def outside(self, nodes: Iterable[str]) -> list[str]:
        """Those of some SuperNodes that are not in these regions, by site, in words."""
        sites = Counter(self.homes.get(node, "") for node in nodes)
        found = []
        for site, count in sorted(sites.items()):
            many, region = counted(count, "SuperNode"), self.places.get(site, "")
            if not site:
                found.append(f"{many} of no known site")
            elif region not in self.wanted:
                found.append(f"{many} of {site} ({f'region {region}' if region else 'without a region'})")
        return found


def read(cli: FlowerCLI, wanted: Sequence[str]) -> Regions:
    """Where the SuperNodes are, from the hub's records.

    Raises:
        FlowerError: no site is in one of the regions, or it cannot be known.
    """
    found = known(cli, tuple(dict.fromkeys(wanted)))
    unknown = [region for region in found.wanted if region not in found.places.values()]
    if unknown:
        listed = ", ".join(sorted(set(filter(None, found.places.values())))) or "none: set flower_region for the sites and run federated.flower.site"
        raise FlowerError(f"no site is in the region {', '.join(unknown)} (flower_run_regions). Regions: {listed}")
    return found


def known(cli: FlowerCLI, wanted: tuple[str, ...]) -> Regions:
    """As C(read), also where no site is in one of the regions."""
    try:
        return Regions(wanted, *run_sites.read_places(cli))
    except Forbidden as error:
        raise FlowerError(
            f"the regions of the SuperNodes are unknown: {error.message} The playbook federated.flower.rbac gives data scientists the right to "
            f"read ConfigMap {cli.namespace}/{NODES}"
        ) from error


def require(cli: FlowerCLI, border: Border, seconds: float, say: Callable[[str], None]) -> dict[str, Any]:
    """Check that only SuperNodes of these regions are online.

    Args:
        seconds: how long others may take to be offline.

    Returns:
        For the result of a module: C(regions), and C(region_sites), the sites that are in them.

    Raises:
        ClusterError: others are online, or none of these is, or where one is cannot be known.
    """
    deadline, wanted = time.monotonic() + seconds, ", ".join(border.regions.wanted)
    shown: list[str] = []
    while True:
        online = [node for node, facts in cli.nodes().items() if facts.get("status") == "online"]
        others = border.outside(online)
        if not others:
            break
        if time.monotonic() >= deadline:
            raise FlowerError(
                f"nothing was submitted, because SuperNodes outside of {wanted} (flower_run_regions) are online, and an app "
                f"can address every SuperNode: {', '.join(others)}. {_REMEDY}"
            )
        if others != shown:
            say(f"waiting until they are offline: {', '.join(others)}")
            shown = others
        time.sleep(_PAUSE)  # until they are offline, or the deadline
    if not online:
        raise FlowerError(f"nothing was submitted: no SuperNode of {wanted} is online; federated.flower.status shows the cause")
    return {"regions": list(border.regions.wanted), "region_sites": border.regions.inside()}


class Border:
    """Judges SuperNodes before a run, while it is active, and after it. Sites can join, grow or move into its regions meanwhile.

    One that moves out of them counts as inside until the records are read again, because a SuperNode seems to be outside.

    Args:
        regions: where the SuperNodes are.
        again: reads where they are now.

    Attributes:
        regions: as they were read last.
        unseen: seconds of the run for which the online SuperNodes were unknown, in gaps of more than a minute.
    """

    def __init__(self, regions: Regions, again: Callable[[], Regions]) -> None:
        self.regions, self._again = regions, again
        self.unseen = 0.0
        self._known_at = time.monotonic()  # the last time that all SuperNodes which were online were judged
        self._unknown_since: float | None = None  # the first look after it that could not judge them

    def watched(self, watch: Watch) -> Border:
        """Watch a run from now on, for what is shown of it and for SuperNodes of other regions. C(watch) receives the news, too."""
        self._watch, self.log, self.trouble = watch, watch.log, watch.trouble
        self.unseen, self._known_at = 0.0, time.monotonic()
        return self

    def report(self, report: RunReport) -> None:
        """See C(following.Watch).

        Raises:
            LeftRegion: one is online, or which ones are could not be read for C(_UNLISTED) seconds.
            FlowerError: where one is cannot be known now.
        """
        self._watch.report(report)
        if report.run.finished:
            self._all_known()
        elif report.online is None:
            if (unlisted := self._unknown_for()) >= _UNLISTED:
                raise LeftRegion(f"the SuperLink has not listed its SuperNodes for {unlisted:.0f} s, so others may have come online")
        elif others := self.outside(report.online_ids):
            wanted = ", ".join(self.regions.wanted)
            raise LeftRegion(f"SuperNodes outside of {wanted} came online while it ran: {', '.join(others)}. The app may have addressed them")

    def renew(self) -> Regions:
        """Read again where the SuperNodes are. What is not in the records any more, such as SuperNodes that were unregistered, stays where it was.

        Raises:
            ClusterError: that cannot be known.
        """
        old, new = self.regions, self._again()
        self.regions = replace(new, homes={**old.homes, **new.homes}, places={**old.places, **new.places})
        return self.regions

    def _all_known(self) -> None:
        """All that are online were judged, or the run is over."""
        now = time.monotonic()
        self.unseen += now - self._known_at if now - self._known_at > _UNKNOWN else 0.0
        self._known_at, self._unknown_since = now, None

    def _unknown_for(self) -> float:
        """A look could not judge all that are online; returns for how many seconds none could, since the first of these looks."""
        now = time.monotonic()
        self._unknown_since = now if self._unknown_since is None else self._unknown_since
        return now - self._unknown_since

    def outside(self, nodes: Sequence[str]) -> list[str]:
        """As C(Regions.outside), after the records were read again if a SuperNode seems to be outside.

        While they cannot be read, a SuperNode of no known site is outside after C(_UNKNOWN) seconds: the app can address it.

        Raises:
            FlowerError: they cannot be read now, and SuperNodes are of no known site.
        """
        try:
            found = self.regions.outside(nodes) and self.renew().outside(nodes)
        except ClusterError as error:
            is_late = self._unknown_for() >= _UNKNOWN
            if others := self.regions.outside(node for node in nodes if is_late or node in self.regions.homes):
                return others
            raise FlowerError(f"the regions of SuperNodes that came online are unknown: {error.message}") from error
        self._all_known()
        return found


def fault_afterwards(cli: FlowerCLI, border: Border, run: Mapping[str, Any]) -> str:
    """What was online during a run (an entry of C(run_table)) and should not have been, in words; empty for nothing.

    Raises:
        ClusterError: it cannot be known.
    """
    nodes = cli.nodes()

    def strangers(regions: Regions) -> list[str]:
        """Sites outside of the regions, and SuperNodes of no known site, that were online during the run."""
        unknown = {node: f"node {node}" for node in nodes if node not in regions.homes}
        during = run_sites.during(nodes, {**regions.homes, **unknown}, run)
        return [site for site in during if regions.places.get(site, "") not in regions.wanted]

    found = strangers(border.regions) and strangers(border.renew())
    if not found:
        return ""
    wanted = ", ".join(border.regions.wanted)
    return f"{', '.join(found)} had SuperNodes online during it, outside of {wanted}, and the app may have addressed them"
