# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Keep a run in some regions: it starts only while no SuperNode of another region is online, and ends when one comes.

Flower lets an app address every SuperNode that is registered, and a run cannot be limited to some of them. What is offline gets no messages,
so that is what is checked: before the run, at every look while it runs, and afterwards by the times that the SuperLink has noted.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden
from ..ledger import package_index
from ..ledger.records import node_ids
from ..ledger.store import PACKAGES, Ledger
from . import run_sites
from .cli import FlowerCLI, FlowerError
from .following import Sight, Watch

_LOOK = 3.0  # seconds between two looks at SuperNodes that go offline
_REMEDY = (
    "Deny these sites for the time of the run: -e flower_run_regions_only=true does it and admits them afterwards, with the rights of a fleet "
    "operator; or federated.flower.site_access"
)


class LeftRegion(ClusterError):
    """A SuperNode of another region is online while the run is active."""


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
        found: dict[str, int] = {}
        for node in nodes:
            site = self.homes.get(node, "")
            if not site or self.places.get(site, "") not in self.wanted:
                found[site] = found.get(site, 0) + 1
        return [self._words(site, count) for site, count in sorted(found.items())]

    def _words(self, site: str, count: int) -> str:
        many = f"{count} SuperNode{'' if count == 1 else 's'}"
        if not site:
            return f"{many} of no known site"
        region = self.places.get(site, "")
        return f"{many} of {site} ({f'region {region}' if region else 'without a region'})"


def read(cli: FlowerCLI, wanted: Sequence[str]) -> Regions:
    """Where the SuperNodes are, from the hub's records.

    Raises:
        FlowerError: no site is in one of the regions, or it cannot be known.
    """
    ledger = Ledger(cli.cluster, cli.namespace, "", check=True)
    try:
        records, _unreadable = ledger.read_sites()
        homes = {node: site for site, record in records.items() for node in node_ids(record)}
        places = {site: str(record.get("region") or "") for site, record in records.items()}
    except Forbidden:
        try:  # data scientists may read this one only
            index = ledger.read_packages()
        except Forbidden as error:
            raise FlowerError(
                f"where the SuperNodes are is not known: {error.message} The playbook federated.flower.rbac gives data scientists the right to "
                f"read ConfigMap {cli.namespace}/{PACKAGES}"
            ) from error
        homes, places = package_index.homes(index), package_index.regions(index)
    found = Regions(tuple(dict.fromkeys(wanted)), homes, places)
    unknown = [region for region in found.wanted if region not in places.values()]
    if unknown:
        known = ", ".join(sorted(set(filter(None, places.values())))) or "none: set flower_region for the sites and run federated.flower.site"
        raise FlowerError(f"nothing was submitted: no site is in the region {', '.join(unknown)} (flower_run_regions). Regions: {known}")
    return found


def require(cli: FlowerCLI, regions: Regions, seconds: float, say: Callable[[str], None]) -> dict[str, Any]:
    """Check that only SuperNodes of these regions are online.

    Args:
        cli: Flower's command line on the hub.
        regions: where the SuperNodes are.
        seconds: how long others may take to be offline.
        say: shows what is waited for.

    Returns:
        For the result of a module: C(regions), and C(region_sites), the sites that are in them.

    Raises:
        FlowerError: others are online, or none of these is.
    """
    deadline = time.monotonic() + seconds
    shown: list[str] = []
    while True:
        online = _online(cli)
        others = regions.outside(online)
        if not others:
            break
        if time.monotonic() >= deadline:
            raise FlowerError(
                f"nothing was submitted, because SuperNodes outside of {', '.join(regions.wanted)} (flower_run_regions) are online, and an app "
                f"can address every SuperNode: {', '.join(others)}. {_REMEDY}"
            )
        if others != shown:
            say(f"waiting until they are offline: {', '.join(others)}")
            shown = others
        time.sleep(_LOOK)  # until they are offline, or the deadline
    if not online:
        raise FlowerError(f"nothing was submitted: no SuperNode of {', '.join(regions.wanted)} is online; federated.flower.status says why")
    return {"regions": list(regions.wanted), "region_sites": regions.inside()}


def _online(cli: FlowerCLI) -> list[str]:
    return [node for node, facts in cli.nodes().items() if facts.get("status") == "online"]


class Fence:
    """Watches a run for what is shown of it, and for SuperNodes of other regions.

    Args:
        watch: receives the news, too.
        regions: where the SuperNodes are.
    """

    def __init__(self, watch: Watch, regions: Regions) -> None:
        self._watch, self._regions = watch, regions
        self.log, self.trouble = watch.log, watch.trouble

    def sight(self, sight: Sight) -> None:
        """See C(following.Watch).

        Raises:
            LeftRegion: one is online.
        """
        self._watch.sight(sight)
        others = [] if sight.run.finished else self._regions.outside(sight.online_ids)
        if others:
            raise LeftRegion(f"SuperNodes outside of {', '.join(self._regions.wanted)} came online while it ran: {', '.join(others)}")


def fault_afterwards(cli: FlowerCLI, regions: Regions, run: Mapping[str, Any]) -> str:
    """What was online during a run and should not have been, in words; empty for nothing.

    Args:
        cli: Flower's command line on the hub.
        regions: where the SuperNodes are.
        run: an entry of C(run_table).
    """
    nodes = cli.nodes()
    unknown = {node: f"node {node}" for node in nodes if node not in regions.homes}
    during = run_sites.during(nodes, {**regions.homes, **unknown}, run)
    found = [site for site in during if regions.places.get(site, "") not in regions.wanted]
    if not found:
        return ""
    return f"{', '.join(found)} had SuperNodes online during it, outside of {', '.join(regions.wanted)}, and the app may have addressed them"
