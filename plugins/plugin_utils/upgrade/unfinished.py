# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An upgrade that is not complete: what ran before it, and how far it is. Kept in a ConfigMap of the hub.

The clusters say what runs; this only keeps what they no longer show. Every step can be repeated, so whenever a control node dies, the next run reads
it, looks at the clusters, and continues.

  C(target)   release that the hub is to run.
  C(started)  time, ISO 8601.
  C(backup)   archive that was written before the hub was changed, or C(waived).
  C(waves)    lists of sites, for people.
  C(hub)      C(was) (see C(what_runs)) and C(state): C(WAITING), C(BEGUN) or C(DONE).
  C(sites)    site -> the same with C(why), where it was rolled back (C(BACK)).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..kube.api_errors import NotFound
from ..kube.client import Cluster
from ..kube.configmaps import config_map, retry_on_conflict, write
from ..marks import proof
from .what_runs import What, differs

NAME = "flower-upgrade"
WAITING, BEGUN, DONE, BACK = "waiting", "begun", "done", "rolled back"
_KEY = "upgrade.json"

Progress = dict[str, Any]


def begin(
    known: Progress,
    now: str,
    waves: Sequence[Sequence[str]],
    hub: tuple[What, What],
    sites: Mapping[str, tuple[What, What]],
) -> Progress:
    """The progress at the start of a run.

    What ran before is kept for a place that an earlier run has begun and not completed, since it may run anything now.

    Args:
        known: what an earlier run left; empty for none.
        now: the time.
        waves: see above.
        hub: what runs there, and what is wanted.
        sites: site -> the same.
    """

    def place(earlier: Mapping[str, Any], live: What, want: What) -> dict[str, Any]:
        if earlier.get("state") == BEGUN:
            return dict(earlier)
        return {"was": live, "state": WAITING if differs(live, want) or not live["workloads"] else DONE}

    same = known.get("target") == hub[1]["version"]
    # Of a site that takes no part in this run it is still known what ran there before.
    half = {site: one for site, one in (known.get("sites") or {}).items() if site not in sites and one["state"] == BEGUN}
    return {
        "target": hub[1]["version"],
        "started": known["started"] if same else now,
        "backup": known.get("backup", "") if same and known["hub"]["state"] == BEGUN else "",
        "waves": [list(wave) for wave in waves],
        "hub": place(known.get("hub") or {}, *hub),
        "sites": half
        | {site: place((known.get("sites") or {}).get(site) or {}, *pair) for site, pair in sites.items()},
    }


def words(progress: Progress) -> str:
    """How far it is, in a sentence; empty where there is no upgrade."""
    if not progress:
        return ""
    sites = progress["sites"]
    done = sum(site["state"] == DONE for site in sites.values())
    back = sorted(name for name, site in sites.items() if site["state"] == BACK)
    rolled = f", {', '.join(back)} rolled back" if back else ""
    return (
        f"the upgrade to {progress['target']} of {progress['started']} is not complete: hub {progress['hub']['state']}, "
        f"{done} of {len(sites)} sites done{rolled}; federated.flower.upgrade continues it"
    )


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
        item = None if self.check else self._item()
        if item is None:
            return False
        if not proof.may_delete(item, self.federation):
            raise ClusterError(
                f"ConfigMap {self.namespace}/{NAME} on {self.cluster.name} was not created by this federation, so it is not deleted."
            )
        try:
            self.cluster.delete("v1", "ConfigMap", NAME, self.namespace, uid=item["metadata"]["uid"])
        except NotFound:
            return False
        return True

    def _item(self) -> dict[str, Any] | None:
        item = self.cluster.get("v1", "ConfigMap", NAME, self.namespace)
        return None if item is None else {"apiVersion": "v1", "kind": "ConfigMap", **item}

    def _parse(self, item: Mapping[str, Any] | None) -> Progress:
        if item is None:
            return {}
        try:
            found = json.loads(item["data"][_KEY])
            if {"target", "started", "hub", "sites"} <= set(found):
                return dict(found)
        except (KeyError, TypeError, ValueError):
            pass
        raise ClusterError(
            f"ConfigMap {self.namespace}/{NAME} on {self.cluster.name} cannot be read. It keeps what ran before an upgrade. Restore it, or delete it: "
            "then an upgrade takes what runs now for what ran before."
        )
