# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An upgrade that is not complete: what ran before it, and how far it is. Kept in a ConfigMap of the hub.

The clusters say what runs; this only keeps what they no longer show. Every step can be repeated, so whenever a control node dies, the next run reads
it, looks at the clusters, and continues.

  C(target)   release that the hub is to run.
  C(started)  time, ISO 8601.
  C(backup)   archive that was written before the hub was changed, or C(WAIVED).
  C(waves)    lists of sites, for people.
  C(hub)      C(was) (see C(what_runs)) and C(state): C(WAITING), C(BEGUN) or C(DONE).
  C(sites)    site -> the same with C(why), where it was rolled back (C(BACK)).
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
from .what_runs import What, differs

NAME = UPGRADE_CONFIG
WAITING, BEGUN, DONE, BACK = "waiting", "begun", "done", "rolled back"
WAIVED = "waived"  # instead of a backup
_KEY = "upgrade.json"

Progress = dict[str, Any]


def is_hub_begun(known: Progress, live: What, target: str, *, answers: bool) -> bool:
    """Whether an earlier run began with the hub and its end is open, so that what ran before that run is still the way back.

    It is not if the SuperLink answers and runs what it ran before that run; or the release of that run, while another release is wanted
    now. Its database has the format of what runs then, and this upgrade begins there, with its own backup.

    Args:
        known: what an earlier run left; empty for none.
        live: what runs at the hub.
        target: release that is wanted there.
        answers: whether the SuperLink answers.
    """
    hub = known.get("hub") or {}
    if hub.get("state") != BEGUN:
        return False
    is_done = live["version"] == known["target"] != target
    return not answers or not (live == hub["was"] or is_done)


def begin(
    known: Progress,
    now: str,
    waves: Sequence[Sequence[str]],
    hub: tuple[What, What],
    sites: Mapping[str, tuple[What, What]],
    *,
    hub_begun: bool,
) -> Progress:
    """The progress at the start of a run.

    What ran before is kept for a place that an earlier run has begun and not completed, since it may run anything now. The backup of the hub
    is kept as long as what ran before it is.

    Args:
        known: what an earlier run left; empty for none.
        now: the time.
        waves: see above.
        hub: what runs there, and what is wanted.
        sites: site -> the same.
        hub_begun: see C(is_hub_begun).
    """

    def place(earlier: Mapping[str, Any], live: What, want: What, *, begun: bool) -> dict[str, Any]:
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
        | {
            site: place(before.get(site) or {}, *pair, begun=(before.get(site) or {}).get("state") == BEGUN)
            for site, pair in sites.items()
        },
    }


def words(progress: Progress) -> str:
    """How far it is, in a sentence; empty where there is no upgrade."""
    if not progress:
        return ""
    sites = progress["sites"]
    done = sum(site["state"] == DONE for site in sites.values())
    back = sorted(name for name, site in sites.items() if site["state"] == BACK)
    rolled = f", {', '.join(back)} rolled back" if back else ""
    archive = progress.get("backup", "")
    backed_up = f", the backup before it is {archive}" if archive not in ("", WAIVED) else ""
    return (
        f"the upgrade to {progress['target']} of {progress['started']} is not complete: hub {progress['hub']['state']}, "
        f"{done} of {len(sites)} sites done{rolled}{backed_up}; federated.flower.upgrade continues it"
    )


def held(progress: Progress, hub: str) -> list[str]:
    """The hosts whose turn in an upgrade that is not complete has not come, or that were rolled back: only the upgrade deploys them.

    Args:
        progress: see above; empty for none.
        hub: inventory name of the hub.
    """
    places = {hub: progress["hub"], **progress["sites"]} if progress else {}
    return [name for name, place in places.items() if place["state"] != DONE]


class Store:
    """The ConfigMap.

    Args:
        cluster: a connection to the hub.
        namespace: the SuperLink's.
        federation: its name, for labels.
        check: True writes nothing.
    """

    def __init__(self, cluster: Cluster, namespace: str, federation: str, *, check: bool = False) -> None:
        self.cluster, self.namespace, self.federation, self.check = cluster, namespace, federation, check

    def read(self) -> Progress:
        """What is kept; empty for nothing.

        Raises:
            ClusterError: it cannot be read.
        """
        return self._parse(self._item())

    def change(self, to: Callable[[Progress], Progress]) -> bool:
        """Change it; returns whether it differs. C(to): old -> new."""
        if self.check:
            return False

        def attempt() -> bool:
            item = self._item()
            old = self._parse(item)
            new = to(old)
            if new == old:
                return False
            data = {_KEY: json.dumps(new, sort_keys=True, indent=1)}
            if item is None:
                item = config_map(self.federation, self.namespace, NAME, data, application=NAME, component="upgrade")
            write(self.cluster, {**item, "data": data})
            return True

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

    def _parse(self, item: Mapping[str, Any] | None) -> Progress:
        if item is None:
            return {}
        text = (
            f"ConfigMap {self.namespace}/{NAME} on {self.cluster.name} cannot be read. It keeps what ran before an upgrade. Restore it, or delete it: "
            "then an upgrade takes what runs now for what ran before."
        )
        with foreign_data.expect_shape(ClusterError(text)):
            found = foreign_data.read_json(item["data"][_KEY])
            return {**found, **{name: found[name] for name in ("target", "started", "hub", "sites")}}
