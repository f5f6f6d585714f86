# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Which SuperNodes are restarted because they run, but are not online at the SuperLink. Pure.

A SuperNode can lose its SuperLink and stay alive, with a liveness probe that succeeds; flwr 1.41 then does not connect again. Part of a
site's record (see C(records)), for nodes that were restarted and are not online yet::

    {"healing": {"123…": {"tries": ["2026-11-21T10:00:00+00:00", …]}}}
"""

from __future__ import annotations

import copy
import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..base import formats
from ..base.foreign_data import cleaned
from ..base.values import Object
from ..kube import pod_health
from ..rotation import restart_conditions, site_proof
from ..state import records
from ..state.partition_numbers import Book

HEALING = "healing"
# Time between one restart and the next. After the last one, people have to look.
PAUSES = tuple(datetime.timedelta(minutes=minutes) for minutes in (5, 15, 60))
TRIES = len(PAUSES) + 1


@dataclass(frozen=True)
class Lost:
    """A SuperNode that should be online and is not.

    Attributes:
        name: of its key.
        node: its id at Flower.
        why: what was seen, or why nothing is done.
        pod: the pod to restart; empty where none is.
    """

    site: str
    pool: str
    name: str
    node: str
    why: str
    pod: Object = field(default_factory=dict, compare=False)

    def as_dict(self) -> dict[str, str]:
        """For a result."""
        return {
            "site": self.site,
            "pool": self.pool,
            "name": self.name,
            "node_id": self.node,
            "pod": (self.pod.get("metadata") or {}).get("name", ""),
            "why": self.why,
        }


@dataclass
class Plan:
    """What is done about the SuperNodes of all sites that are not online.

    Attributes:
        restart: site -> those to restart, in this order, each when the one before it is online again.
        waiting: those that are left alone for now.
        given_up: those that were restarted C(TRIES) times, or that no restart helps.
        fault: what is wrong at the hub, so that nothing is restarted anywhere; empty where nothing is.
        pause: why nothing is restarted yet; empty where that is not so.
    """

    restart: dict[str, list[Lost]] = field(default_factory=dict)
    waiting: list[Lost] = field(default_factory=list)
    given_up: list[Lost] = field(default_factory=list)
    fault: str = ""
    pause: str = ""


@dataclass(frozen=True)
class Hub:
    """What the hub knows.

    Attributes:
        nodes: node id -> its state at Flower.
        since: when the SuperLink's container started; None if that is not known.
    """

    records: Mapping[str, records.Record]
    book: Book
    nodes: Mapping[str, Mapping[str, Any]]
    since: datetime.datetime | None


def plan(hub: Hub, pods: Mapping[str, Sequence[Object] | None], now: datetime.datetime, after: datetime.timedelta) -> Plan:
    """Decide about every SuperNode that is not online.

    Args:
        pods: site -> C(seen) of live pods of its SuperNodes; None where they cannot be restarted from here. Sites that are not in it are not asked.
        after: for how long a pod must have been ready, and its node offline.
    """
    found = Plan()
    serving = [site for site in hub.records if not restart_conditions.exemption(site, hub.book, hub.records)]
    # One that still serves with a key that leaves is not lost: it may compute for a run.
    away = {site: keys for site in serving if (keys := restart_conditions.not_serving(hub.records[site], hub.nodes))}
    down = [site for site in serving if len(away.get(site, ())) == len(restart_conditions.expected_keys(hub.records[site]))]
    if len(serving) > 1 and down == serving:
        found.fault = (
            f"the SuperNodes of all {len(serving)} sites are offline, so the cause is at the hub or on the path to it, and a "
            "restart does not help: check the SuperLink's pod, its gateway and its address"
        )
    elif away and hub.since is not None and now - hub.since < after:
        seconds = (now - hub.since).total_seconds()
        found.pause = f"the SuperLink started {seconds:.0f} s ago: its SuperNodes have {after.total_seconds():.0f} s to come back"
    for site in sorted(set(away) & set(pods)):
        lost = [_judged(one, hub, site, pods[site], now, after) for one in away[site]]
        if found.fault or found.pause:
            found.waiting += [replace(one, why=found.fault or found.pause) for one, _verdict in lost]
            continue
        found.waiting += [one for one, verdict in lost if verdict == _WAIT]
        found.given_up += [one for one, verdict in lost if verdict == _GIVE_UP]
        todo = [one for one, verdict in lost if verdict == _RESTART]
        if todo and site in down and len(lost) > 1:
            # The site may be cut off: one restart shows it, and the others are tried when it has helped.
            pause = _whole_site(hub.records[site], now)
            if pause:
                found.waiting += [replace(one, why=pause) for one in todo]
                continue
        if todo:
            found.restart[site] = todo
    return found


_RESTART, _WAIT, _GIVE_UP = "restart", "wait", "give up"


def _judged(
    key: Mapping[str, str], hub: Hub, site: str, pods: Sequence[Object] | None, now: datetime.datetime, after: datetime.timedelta
) -> tuple[Lost, str]:
    """What is wrong with one, and what is done."""
    node = key["node_id"]
    status = str(hub.nodes.get(node, {}).get("status", "unknown to the SuperLink"))
    own = [pod for pod in pods or () if pod["key"] == (key["pool"], key["name"])]
    pod = own[0] if own else {}
    ready = pod.get("ready")
    tries = _tries(hub.records[site], node)
    due = tries[-1] + PAUSES[len(tries) - 1] if 0 < len(tries) < TRIES else now
    left = formats.moment(hub.nodes.get(node, {}).get("offline-at"))
    since = max(ready, left) if ready and left else ready or now
    seconds = max((now - since).total_seconds(), 0)
    why, verdict = f"its pod is ready, and it has been {status} at the SuperLink for {seconds:.0f} s", _RESTART
    if status not in ("offline", "registered"):
        why, verdict = f"it is {status}, so its key is no longer valid: run site.yml", _GIVE_UP
    elif pods is None:
        why, verdict = f"it is {status}, and its pods cannot be reached from the control node: restart its pod in its cluster", _GIVE_UP
    elif not own:
        why, verdict = f"it is {status} and has no pod: its pool may be smaller, or its node deleted. Run site.yml", _WAIT
    elif ready is None:
        why, verdict = f"it is {status} and its pod is not ready: {pod['trouble']}", _WAIT
    elif now - since < after:
        why, verdict = f"it has been {status} for {seconds:.0f} s, and has {after.total_seconds():.0f} s", _WAIT
    elif len(tries) >= TRIES:
        where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
        why, verdict = (
            f"it is {status}, and {TRIES} restarts since {tries[0].isoformat()} did not help: check the log of pod {where}, the "
            "connection from its cluster to the hub, and its certificate (status.yml)"
        ), _GIVE_UP
    elif now < due:
        why, verdict = f"restart {len(tries)} did not help; the next one is due at {due.isoformat()}", _WAIT
    return Lost(site, key["pool"], key["name"], node, why, pod), verdict


def seen(pod: Object) -> Object:
    """A live pod, reduced to what C(plan) and a restart use of it. Raises one of C(site.DATA_FAULTS) where it has another shape."""
    ready = None if pod["metadata"].get("deletionTimestamp") else _ready_since(pod)
    meta = {name: str(pod["metadata"][name]) for name in ("name", "namespace", "uid")}
    trouble = "" if ready else cleaned(pod_health.describe(pod))
    return {"metadata": meta, "key": site_proof.key_of_pod(pod), "ready": ready, "trouble": trouble}


def _ready_since(pod: Object) -> datetime.datetime | None:
    for condition in (pod.get("status") or {}).get("conditions") or []:
        if condition["type"] == "Ready" and condition["status"] == "True":
            return formats.moment(condition.get("lastTransitionTime"))
    return None


def _tries(record: Mapping[str, Any], node: str) -> list[datetime.datetime]:
    noted = (record.get(HEALING) or {}).get(node, {}).get("tries", [])
    return [time for text in noted if (time := formats.moment(text))]


def _whole_site(record: Mapping[str, Any], now: datetime.datetime) -> str:
    """Why none of a site without any online SuperNode is restarted now; empty where one is due."""
    tried = sorted(tries for node in record.get(HEALING) or {} if (tries := _tries(record, node)))
    if not tried:
        return ""
    last = max(tries[-1] for tries in tried)
    due = last + PAUSES[min(max(map(len, tried)), len(PAUSES)) - 1]
    if now >= due:
        return ""
    return f"no SuperNode of the site is online and a restart did not help: it may be disconnected; the next one is due at {due.isoformat()}"


def with_restart(record: Mapping[str, Any], nodes: Sequence[str], now: str) -> records.Record:
    """The record with one more restart of some nodes at a time in ISO 8601."""
    new = copy.deepcopy(dict(record))
    for node in nodes:
        new.setdefault(HEALING, {}).setdefault(node, {"tries": []})["tries"].append(now)
    return new


def without_healed(record: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> records.Record:
    """The record without the restarts of nodes that are online, or not the site's any more."""
    kept = {
        node: noted
        for node, noted in (record.get(HEALING) or {}).items()
        if node in records.node_ids(record) and nodes.get(node, {}).get("status") != "online"
    }
    new = {name: copy.deepcopy(value) for name, value in record.items() if name != HEALING}
    return {**new, HEALING: copy.deepcopy(kept)} if kept else new
