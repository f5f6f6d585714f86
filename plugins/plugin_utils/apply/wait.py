# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Wait until objects are ready or gone, and report faults and outdated pods when they are not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..base.labels import query
from ..kube import pod_health
from ..kube.api_errors import ApiError, Forbidden, NotServed, Unavailable, Unreachable
from ..kube.client import Cluster
from ..kube.pod_health import pod_faults
from ..kube.stuck_pods import Patience, event_time, refusal
from ..marks import proof
from .order import Id, id_of
from .readiness import State, state, updated

_FIRST_PAUSE = 0.2  # seconds
_LONGEST_PAUSE = 1.0
_GROWTH = 1.4
_POD_INTERVAL = 3.0  # seconds between two lists of the pods of what is not ready
_LONGEST = 4 * 3600.0  # seconds by which pods that are replaced extend a wait: a site tells their number, and all other sites wait for it
_EVENTS = 3
_PODS = 3
_SELECTOR_KINDS = ("Deployment", "StatefulSet", "DaemonSet", "Job")

Objects = Sequence[dict[str, Any]]
_Objects = Sequence[Mapping[str, Any]]

# How long a controller may take to see a new template, and a container that starts to end or to be ready.
_SECONDS = 10.0


class Clock:
    """Pauses that grow from 0.2 to 1 second, until a deadline.

    Attributes:
        grown: what extended the deadline, see C(follow).
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.deadline = time.monotonic() + seconds
        self._end = self.deadline + _LONGEST
        self._pause = _FIRST_PAUSE
        self._counts: dict[Any, int] = {}
        self.grown: set[Any] = set()

    def is_over(self) -> bool:
        """Is time up?"""
        return time.monotonic() >= self.deadline

    def follow(self, which: Any, count: int) -> None:
        """Extend the deadline when more pods of a workload are replaced: each has to be ready before the next one, so the time is that of one pod."""
        before = self._counts.get(which, 0)
        if count > before > 0:
            self.deadline = min(time.monotonic() + self.seconds, self._end)
            self.grown.add(which)
        self._counts[which] = max(count, before)

    def tick(self) -> bool:
        """Sleep; False when time is up."""
        left = self.deadline - time.monotonic()
        if left <= 0:
            return False
        time.sleep(min(self._pause, left))
        self._pause = min(self._pause * _GROWTH, _LONGEST_PAUSE)
        return True


class Waiter:
    """Waits on one cluster.

    Args:
        cluster: a connection.
        seconds: how long. While a workload replaces its pods one after the other, counted from the last one that was replaced.
        image_seconds: how long a node may fail to get an image before waiting ends; 0 waits until the end for a registry that may come back.
        away: DaemonSet -> how many of its nodes are not ready. Their pods are not waited for.
    """

    def __init__(
        self, cluster: Cluster, seconds: float, image_seconds: float = 0, away: Mapping[Id, int] | None = None
    ) -> None:
        self.cluster = cluster
        self.away = away or {}
        self.clock = Clock(seconds)
        self._patience = Patience(cluster, image_seconds)
        self._given_up: set[Id] = set()
        self._pods_listed = time.monotonic()
        self._late_binding: dict[str, bool] = {}

    def until_ready(self, objects: Objects) -> tuple[dict[Id, dict[str, Any]], dict[Id, str]]:
        """Wait for all of them. Returns the objects as last seen, and for each that is not ready why not."""
        seen = {id_of(obj): obj for obj in objects}
        waiting = {which: self._state(obj) for which, obj in seen.items()}
        waiting = {which: one for which, one in waiting.items() if not one.ready}
        lost: Unreachable | Unavailable | None = None
        passed: list[Id] = []
        while waiting or passed:
            over = all(one.failed for one in waiting.values()) or not self.clock.tick()
            # At the end also those that passed: a container that crashes at once was ready for a moment.
            again = passed if over else []
            asked = [which for which, one in waiting.items() if not one.failed] + again
            passed = [] if over else passed
            try:
                for which in asked:
                    fresh = self._read(seen[which])
                    if fresh is None:
                        if which in waiting:  # what passed may go: a Job that was done has a time to live
                            waiting[which] = State(False, "it was deleted by someone else", failed=True)
                        continue
                    seen[which] = fresh
                    self.clock.follow(which, updated(fresh))
                    waiting[which] = self._state(fresh)
                    if waiting[which].ready:
                        del waiting[which]
                        if not over:
                            passed.append(which)
                self._give_up(seen, waiting)
                lost = None
            except (Unreachable, Unavailable) as error:  # an API server that restarts is not a reason to fail early
                lost, passed = error, passed + again
                if over:
                    self.clock.tick()
            if over and (self.clock.is_over() or (lost is None and all(one.failed for one in waiting.values()))):
                break
        if lost is not None:
            raise lost
        return seen, {
            which: f"not ready: {one.why}" if which in self._given_up else self._describe_unready(seen[which], one)
            for which, one in waiting.items()
        }

    def _give_up(self, seen: Mapping[Id, dict[str, Any]], waiting: dict[Id, State]) -> None:
        """Mark what waits for pods that the cluster refuses, or for an image that its nodes do not get."""
        now = time.monotonic()
        if now - self._pods_listed < _POD_INTERVAL:
            return
        self._pods_listed = now
        for which, one in waiting.items():
            obj = seen[which]
            if one.failed or obj["kind"] not in (*_SELECTOR_KINDS, "Pod"):
                continue
            why = self._patience.is_over(obj, partial(self._unready_pods, obj))
            if why:
                waiting[which] = State(False, why, failed=True)
                self._given_up.add(which)

    def until_gone(self, objects: _Objects) -> dict[Id, str]:
        """Wait for deleted objects to be gone. Returns those that are not, with what blocks them."""
        left = {id_of(obj): obj for obj in objects}
        while True:
            over = time.monotonic() >= self.clock.deadline
            for which, obj in list(left.items()):
                try:
                    fresh = self._read(obj)
                except (Unreachable, Unavailable):
                    if over:
                        raise
                    break
                uid = obj["metadata"].get("uid")
                if fresh is None or (uid and fresh["metadata"].get("uid") != uid):
                    del left[which]
                    continue
                left[which] = fresh
                if not over:
                    break  # all must be gone: as long as one exists, the others need not be read
            if not left or over:
                return {which: self._describe_blocking(obj) for which, obj in left.items()}
            self.clock.tick()

    def until(self, done: Callable[[], bool]) -> bool:
        """Wait for something else; False when time is up."""
        while not done():
            if not self.clock.tick():
                return False
        return True

    def _read(self, obj: Mapping[str, Any]) -> dict[str, Any] | None:
        meta = obj["metadata"]
        try:
            return self.cluster.get(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))
        except NotServed:
            return None
        except Forbidden:
            if obj["kind"] == "Project":
                return None  # the rights in it go before it does
            raise

    def _state(self, obj: dict[str, Any]) -> State:
        late = obj["kind"] == "PersistentVolumeClaim" and self._binds_late(obj)
        return state(obj, first_consumer=late, away=self.away.get(id_of(obj), 0))

    def _binds_late(self, claim: dict[str, Any]) -> bool:
        """Does the claim's storage class wait for the first consumer? Unknown counts as no."""
        name = (claim.get("spec") or {}).get("storageClassName")
        if not name or (claim.get("status") or {}).get("phase") == "Bound":
            return False
        if name not in self._late_binding:
            try:
                storage = self.cluster.get("storage.k8s.io/v1", "StorageClass", name)
            except ApiError:
                storage = None
            self._late_binding[name] = (storage or {}).get("volumeBindingMode") == "WaitForFirstConsumer"
        return self._late_binding[name]

    # ---- what is wrong -----------------------------------------------------------------------------------------------

    def _describe_unready(self, obj: dict[str, Any], one: State) -> str:
        since = " without progress" if id_of(obj) in self.clock.grown else ""
        when = "" if one.failed else f" after {self.clock.seconds:g} s{since}"
        reported = [f"not ready{when}: {one.why}"]
        pods = self._unready_pods(obj)
        for pod in pods[:_PODS]:
            reported.append(f"pod {pod['metadata']['name']}: {'; '.join(pod_faults(pod)) or 'no reason reported'}")
        if len(pods) > _PODS:
            reported.append(f"and {len(pods) - _PODS} more pods")
        refused = self._refusal(obj)
        reported.extend([refused] if refused else self.events([obj, *pods[:_PODS]]))
        return ". ".join(reported)

    def _unready_pods(self, obj: dict[str, Any]) -> list[dict[str, Any]]:
        if obj["kind"] not in _SELECTOR_KINDS:
            return [obj] if obj["kind"] == "Pod" else []
        labels = ((obj.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}
        if not labels:
            return []
        selector = query(labels)
        try:
            pods = self.cluster.list("v1", "Pod", obj["metadata"].get("namespace"), labels=selector)
        except (ApiError, Unreachable):
            return []
        return [pod for pod in pods if not state(pod).ready]

    def _refusal(self, obj: dict[str, Any]) -> str:
        try:
            return refusal(self.cluster, obj)
        except (ApiError, Unreachable):
            return ""

    def events(self, objects: _Objects) -> list[str]:
        """The last events of some live objects, a sentence each; none of earlier objects of the same name."""
        events: list[dict[str, Any]] = []
        for obj in objects:
            meta = obj["metadata"]
            chosen = f"involvedObject.uid={meta['uid']}" if meta.get("uid") else f"involvedObject.name={meta['name']}"
            try:
                events.extend(self.cluster.list("v1", "Event", meta.get("namespace") or "default", fields=chosen))
            except (ApiError, Unreachable) as error:
                return [f"events cannot be read ({error.message.rpartition(': ')[2]})"]
        events.sort(key=lambda one: (one.get("type") == "Warning", event_time(one)))
        lines = []
        for one in events[-_EVENTS:]:
            what = one.get("involvedObject") or {}
            times = f" ({one['count']} times)" if (one.get("count") or 0) > 1 else ""
            message = " ".join(str(one.get("message", "")).split())
            lines.append(f"event of {what.get('kind')} {what.get('name')}: {one.get('reason')}: {message}{times}")
        return lines

    def _describe_blocking(self, obj: Mapping[str, Any]) -> str:
        meta = obj["metadata"]
        reported = "not gone yet"
        if meta.get("finalizers"):
            reported += f"; blocked by the finalizers {', '.join(meta['finalizers'])}"
        for one in (obj.get("status") or {}).get("conditions") or []:
            if str(one.get("type", "")).startswith("Namespace") and one.get("status") == "True":
                reported += f"; {one.get('message', '')}"
        return reported + "".join(f"; {words}" for words in self._ending_pods(obj))

    def _ending_pods(self, obj: Mapping[str, Any]) -> list[str]:
        """The pods that are to end with an object, and have not, with their nodes."""
        labels = query(((obj.get("spec") or {}).get("selector") or {}).get("matchLabels") or {}) if obj["kind"] in _SELECTOR_KINDS else ""
        if not labels and obj["kind"] != "Namespace":
            return []
        place = obj["metadata"]["name"] if obj["kind"] == "Namespace" else obj["metadata"].get("namespace")
        try:
            pods = self.cluster.list("v1", "Pod", place, labels=labels or None)
        except (ApiError, Unreachable):
            return []
        ending = [pod for pod in pods if pod["metadata"].get("deletionTimestamp")]
        return [f"pod {pod_health.describe(pod)}" for pod in ending[:_PODS]]


def outdated_pods(cluster: Cluster, live: Mapping[str, Any], now: Mapping[str, Any], *, check: bool = False) -> list[dict[str, Any]]:
    """The pods of a StatefulSet of this collection that wait to be deleted, see C(pod_health.is_outdated).

    Looked for only where it starts its pods in order, and not all of them are ready and up to date; for some seconds, while it is not known of
    a pod that is not ready whether it waits.

    Args:
        cluster: a connection.
        live: the object before it was applied.
        now: the object as it was applied.
        check: it was not applied: look once, with the template that it would have.

    Raises:
        ApiError: a request was refused.
    """
    if now["kind"] != "StatefulSet" or not proof.is_managed(now):
        return []
    meta, spec, status = now["metadata"], now.get("spec") or {}, now.get("status") or {}
    wanted = spec.get("replicas", 1)
    is_seen = status.get("observedGeneration", 0) >= meta.get("generation", 0)
    done = is_seen and wanted == status.get("readyReplicas", 0) == status.get("updatedReplicas", 0)
    if not wanted or spec.get("podManagementPolicy") == "Parallel" or done:
        return []
    changes = check and live["spec"]["template"] != spec["template"]
    federation, container = proof.federation_of(now), spec["template"]["spec"]["containers"][0]["name"]
    clock = Clock(0 if check else _SECONDS)
    while True:
        owner = cluster.get(now["apiVersion"], now["kind"], meta["name"], meta["namespace"])
        if owner is None:
            return []
        pods = cluster.list("v1", "Pod", meta["namespace"], labels=query(spec["selector"]["matchLabels"]))
        outdated = [pod_health.is_outdated(pod, owner, federation, container, changes=changes) for pod in pods]
        if any(outdated) or None not in outdated or not clock.tick():
            return [pod for pod, found in zip(pods, outdated) if found]
