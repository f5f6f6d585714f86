# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of an upgrade that is not complete: what ran before it, and how far it is. A ConfigMap of the hub.

The clusters say what runs; the record has what they no longer show. When a control node dies, the next run reads it, reads the clusters, and continues.

  C(target)   release that the hub is to run.
  C(started)  time, ISO 8601.
  C(backup)   archive that was written before the hub was changed, or C(WAIVED).
  C(waves)    lists of sites, for people.
  C(hub)      C(was) (see C(flower_versions)) and C(state): C(WAITING), C(BEGUN) or C(DONE).
  C(sites)    site -> the same with C(why), where it was rolled back (C(BACK)).

It is stored with C(versions), a list of what ran at sites, and C(was) of a site is the number of its entry: written at each site, as earlier releases did,
1000 sites would not fit into a ConfigMap.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import UPGRADE_CONFIG
from ..kube.client import Cluster
from ..kube.configmaps import config_map, remove, retry_on_conflict, write
from .flower_versions import Versions, differs

NAME = UPGRADE_CONFIG
WAITING, BEGUN, DONE, BACK = "waiting", "begun", "done", "rolled back"
WAIVED = "waived"  # instead of a backup
_KEY = "upgrade.json"
_WHY = 500  # characters

Record = dict[str, Any]


def is_hub_begun(known: Record, live: Versions, target: str, *, answers: bool) -> bool:
    """Whether an earlier run, which left C(known), began with the hub and its end is open, so that what ran before that run is still the way back.

    It is not if the SuperLink answers and runs what it ran before that run; or the release of that run, while another release (C(target)) is wanted
    now. Its database has the format of what runs then, and this upgrade begins there, with its own backup.
    """
    hub = known.get("hub") or {}
    if hub.get("state") != BEGUN:
        return False
    is_done = live["version"] == known["target"] != target
    return not answers or not (live == hub["was"] or is_done)


def begin(
    known: Record,
    now: str,
    waves: Sequence[Sequence[str]],
    hub: tuple[Versions, Versions],
    sites: Mapping[str, tuple[Versions, Versions]],
    *,
    hub_begun: bool,
) -> Record:
    """The progress at the start of a run: what an earlier one left, changed by what runs and what is wanted at the hub and at each site.

    What ran before is kept for a place that an earlier run has begun and not completed, since it may run anything now. The backup of the hub
    is kept as long as what ran before it is. C(hub_begun): see C(is_hub_begun).
    """

    def place(earlier: Mapping[str, Any], live: Versions, want: Versions, *, begun: bool) -> dict[str, Any]:
        if begun:
            return dict(earlier)
        return {"was": live, "state": WAITING if differs(live, want) or not live["workloads"] else DONE}

    same = known.get("target") == hub[1]["version"]
    hub_before, before = known.get("hub") or {}, known.get("sites") or {}
    hub_now = place(hub_before, *hub, begun=hub_begun)
    backed_up = hub_before.get("state") == BEGUN and hub_now["was"] == hub_before["was"]
    # Of a site that takes no part in this run it is still known what ran there before.
    half = {site: one for site, one in before.items() if site not in sites and one["state"] == BEGUN}
    return {
        "target": hub[1]["version"],
        "started": known["started"] if same else now,
        "backup": known.get("backup", "") if backed_up else "",
        "waves": [list(wave) for wave in waves],
        "hub": hub_now,
        "sites": half
        | {site: place(before.get(site) or {}, *pair, begun=(before.get(site) or {}).get("state") == BEGUN) for site, pair in sites.items()},
    }


def describe(record: Record) -> str:
    """How far an upgrade is, in a sentence; empty if there is none."""
    if not record:
        return ""
    sites = record["sites"]
    done = sum(site["state"] == DONE for site in sites.values())
    back = sorted(name for name, site in sites.items() if site["state"] == BACK)
    rolled = f", {', '.join(back)} rolled back" if back else ""
    archive = record.get("backup", "")
    backed_up = f", the backup before it is {archive}" if archive not in ("", WAIVED) else ""
    return (
        f"the upgrade to {record['target']} of {record['started']} is not complete: hub {record['hub']['state']}, "
        f"{done} of {len(sites)} sites done{rolled}{backed_up}; federated.flower.upgrade continues it"
    )


def hosts_not_done(record: Record, hub: str) -> list[str]:
    """The hosts whose turn has not come, or that were rolled back: only the upgrade deploys them. C(hub): its inventory name."""
    places = {hub: record["hub"], **record["sites"]} if record else {}
    return [name for name, place in places.items() if place["state"] != DONE]


def with_hub(record: Record, **changes: Any) -> Record:
    """The record with other facts of the hub."""
    return {**record, "hub": {**record["hub"], **changes}}


def with_sites(record: Record, changes: Mapping[str, Mapping[str, Any]]) -> Record:
    """The record with other facts of some sites. C(changes): site -> its facts."""
    return {**record, "sites": {**record["sites"], **{name: {**record["sites"][name], **facts} for name, facts in changes.items()}}}


class Store:
    """The ConfigMap. With C(check), changes are remembered as if they had been written."""

    def __init__(self, cluster: Cluster, namespace: str, federation: str, *, check: bool = False) -> None:
        self.cluster, self.namespace, self.federation, self.check = cluster, namespace, federation, check
        self._unwritten: Record | None = None

    def read(self) -> Record:
        """The record; empty if there is none.

        Raises:
            ClusterError: it cannot be read.
        """
        return self._parse(self._item()) if self._unwritten is None else self._unwritten

    def change(self, to: Callable[[Record], Record]) -> Record:
        """Change it; returns the new one. C(to): old -> new."""
        if self.check:
            self._unwritten = to(self.read())
            return self._unwritten

        def attempt() -> Record:
            item = self._item()
            old = self._parse(item)
            new = to(old)
            if new == old:
                return new
            data = {_KEY: _stored(new)}
            if item is None:
                item = config_map(self.federation, self.namespace, NAME, data, application=NAME, component="upgrade")
            write(self.cluster, {**item, "data": data})
            return new

        return retry_on_conflict(f"ConfigMap {self.namespace}/{NAME} on {self.cluster.name}", attempt)

    def delete(self) -> bool:
        """Delete it, at the end of an upgrade; returns whether there was one.

        Raises:
            ClusterError: this collection did not create it.
        """
        return not self.check and remove(self.cluster, self.namespace, NAME, self.federation)

    def _item(self) -> dict[str, Any] | None:
        item = self.cluster.get("v1", "ConfigMap", NAME, self.namespace)
        return None if item is None else {"apiVersion": "v1", "kind": "ConfigMap", **item}

    def _parse(self, item: Mapping[str, Any] | None) -> Record:
        if item is None:
            return {}
        text = (
            f"ConfigMap {self.namespace}/{NAME} on {self.cluster.name} cannot be read. It records the versions before an upgrade. Restore it, or delete it; "
            "after that, an upgrade treats the current versions as the previous ones."
        )
        with foreign_data.expect_shape(ClusterError(text)):
            found = foreign_data.read_json(item["data"][_KEY])
            versions = found.pop("versions", [])
            sites = {
                name: {**site, "was": versions[site["was"]]} if isinstance(site.get("was"), int) else site for name, site in found["sites"].items()
            }
            return {**found, **{name: found[name] for name in ("target", "started", "hub")}, "sites": sites}


def _stored(record: Record) -> str:
    """The text of a record."""
    numbers: dict[str, int] = {}
    sites = {}
    for name, site in record["sites"].items():
        why = {"why": foreign_data.cleaned(site["why"], _WHY)} if "why" in site else {}
        sites[name] = {**site, **why, "was": numbers.setdefault(json.dumps(site["was"], sort_keys=True), len(numbers))}
    return json.dumps({**record, "sites": sites, "versions": list(map(json.loads, numbers))}, sort_keys=True)
