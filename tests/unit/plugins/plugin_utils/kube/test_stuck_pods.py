# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods that a quota, a LimitRange, Pod Security or a webhook refuses, and images that a registry refuses, are told at once; so is why others wait."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import wait
from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import id_of
from ansible_collections.federated.flower.plugins.plugin_utils.flower import cli
from ansible_collections.federated.flower.plugins.plugin_utils.kube import pod_health, stuck_pods
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden
from ansible_collections.federated.flower.plugins.plugin_utils.kube.stuck_pods import awaits_a_volume, nobody_binds
from ansible_collections.federated.flower.tests.unit.passing_time import Time
from ansible_collections.federated.flower.tests.unit.rows import each_row

# As Kubernetes 1.34 wrote them.
NO_LIMITS = 'pods "ws-0" is forbidden: failed quota: q: must specify limits.cpu for: c'
FULL = 'pods "ws-0" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1'
WEBHOOK = 'Internal error occurred: failed calling webhook "x": Post "https://x": dial tcp 10.0.0.9:443: connect: connection refused'
NOT_THERE = {"waiting": {"reason": "ErrImagePull", "message": 'failed to resolve reference "r/x:1": unexpected status from HEAD request: 401 Unauthorized'}}
BACK_OFF = {"waiting": {"reason": "ImagePullBackOff", "message": 'Back-off pulling image "r/x:1"'}}  # kubelets before 1.31 say no more
NO_ANSWER = {"waiting": {"reason": "ErrImagePull", "message": 'failed to do request: Head "https://r/v2/x@sha256:401403": dial tcp 10.0.0.9:443: i/o timeout'}}
SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "ws", "namespace": "n", "uid": "u", "generation": 1, "creationTimestamp": "2026-01-01T00:00:00Z"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "ws"}}},
    "status": {"observedGeneration": 1, "replicas": 0},
}
DEPLOYMENT = {**SET, "kind": "Deployment", "metadata": {**SET["metadata"], "name": "wd"}}  # type: ignore[dict-item]
DAEMON = {**SET, "kind": "DaemonSet", "status": {"observedGeneration": 1, "currentNumberScheduled": 1, "desiredNumberScheduled": 2}}


def stamp(seconds: float) -> str:
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).strftime("%Y-%m-%dT%H:%M:%SZ")


def event(message: str, kind: str = "StatefulSet", name: str = "ws", uid: str = "u", seconds: float = 3600) -> dict[str, Any]:
    about = {"kind": kind, "name": name, "uid": uid}
    return {"metadata": {}, "reason": "FailedCreate", "involvedObject": about, "lastTimestamp": stamp(seconds), "message": message}


def pod(state: dict[str, Any], revision: str = "") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "ws-0", "namespace": "n", "labels": {"controller-revision-hash": revision} if revision else {}},
        "spec": {"containers": [{"name": "c", "image": "r/x:1"}]},
        "status": {"containerStatuses": [{"name": "c", "state": state}]},
    }


class Cluster:
    """A cluster with some events and pods."""

    name, skew = "site", 0.0

    def __init__(self, *events: dict[str, Any], pods: list[dict[str, Any]] | None = None, live: dict[str, Any] | None = None) -> None:
        self.events, self.pods, self.live = list(events), pods or [], live
        self.hidden = False
        self.may_patch, self.patched = True, []  # type: ignore[var-annotated]

    def access_review(self, asked: list[dict[str, str]]) -> list[bool]:
        return [self.may_patch if one["verb"] == "patch" else not self.hidden for one in asked]

    def patch(self, _version: str, kind: str, name: str, _namespace: str, body: dict[str, Any]) -> None:
        assert self.may_patch
        self.patched.append((kind, name, *body["metadata"]["annotations"].values()))

    def get(self, _version: str, kind: str, *_place: Any) -> dict[str, Any] | None:
        assert kind == "Pod" or not self.hidden
        return self.live if self.live and kind == self.live["kind"] else None

    def list(self, _version: str, kind: str, _namespace: str, **chosen: Any) -> list[dict[str, Any]]:
        if kind == "Pod":
            return self.pods
        if self.hidden:
            raise Forbidden("site", "GET", 403, {"message": "no"})
        return self.events if chosen["fields"] == "reason=FailedCreate" else []


@pytest.fixture(name="clock")
def fixture_clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    clock = Time()
    for module in (stuck_pods, wait, cli):
        monkeypatch.setattr(module, "time", clock)
    return clock


@each_row(
    ("workload", "events", "said"),
    [
        (SET, [event(FULL, seconds=-9), event(NO_LIMITS)], NO_LIMITS),
        (SET, [event(NO_LIMITS, uid="other")], ""),
        (SET, [event(NO_LIMITS, seconds=-(10**8))], ""),  # of another one that had its name
        ({**SET, "status": {"replicas": 1}}, [event(NO_LIMITS)], ""),
        (DAEMON, [event(NO_LIMITS, "DaemonSet")], NO_LIMITS),
        (DEPLOYMENT, [event("(combined from similar events): Error creating: " + NO_LIMITS, "ReplicaSet", "wd-5665dfd4f6", "r")], NO_LIMITS),
        (DEPLOYMENT, [event(NO_LIMITS, "ReplicaSet", "wd-other-5665dfd4f6", "r")], ""),
    ],
)
def test_the_last_refusal(workload: dict[str, Any], events: list[dict[str, Any]], said: str) -> None:
    found = stuck_pods.refusal(Cluster(*events), workload)  # type: ignore[arg-type]
    assert found.endswith(said) and bool(found) is bool(said) and "combined" not in found


def test_events_that_may_not_be_read() -> None:
    cluster: Any = Cluster(event(NO_LIMITS))
    cluster.hidden = True
    assert stuck_pods.refusal(cluster, SET) == ""


@pytest.mark.parametrize(
    ("live", "events", "seconds"),
    [
        (SET, [event(NO_LIMITS)], 30),
        (DEPLOYMENT, [event(NO_LIMITS, "ReplicaSet", "wd-5665dfd4f6", "r")], 30),
        (SET, [event(FULL)], 70),
        (SET, [event(WEBHOOK)], 300),
        (SET, [event(NO_LIMITS, seconds=-60)], 300),  # what was wrong then may be mended, and the controller tries again later
    ],
)
def test_a_refusal_ends_the_wait(clock: Time, live: dict[str, Any], events: list[dict[str, Any]], seconds: float) -> None:
    _seen, unready = wait.Waiter(Cluster(*events, live=live), 300.0).until_ready([live])  # type: ignore[arg-type]
    assert events[0]["message"] in unready[id_of(live)]
    assert seconds - 12 < clock.now <= seconds


@pytest.mark.parametrize(("manager", "may_patch", "again"), [("federated.flower", True, True), ("federated.flower", False, False), ("kubectl", True, False)])
def test_what_was_mended_since_is_tried_again(clock: Time, manager: str, may_patch: bool, again: bool) -> None:
    """The administrators raised the quota, and the controller would try again by itself after up to 1000 s. What others deployed is not changed."""
    waiting: Any = {**SET, "metadata": {**SET["metadata"], "managedFields": [{"manager": manager}]}}  # type: ignore[dict-item]

    class Mended(Cluster):
        def get(self, _version: str, kind: str, *_place: Any) -> dict[str, Any] | None:
            done = {"observedGeneration": 1, "replicas": 1, "readyReplicas": 1}
            return {**waiting, "status": done} if self.patched else waiting

    cluster: Any = Mended(event(NO_LIMITS, seconds=-600))
    cluster.may_patch = may_patch
    _seen, unready = wait.Waiter(cluster, 300.0).until_ready([waiting])
    assert cluster.patched == ([("StatefulSet", "ws", "true"), ("StatefulSet", "ws", None)] if again else [])
    assert (clock.now < 10 and not unready) if again else NO_LIMITS in unready[id_of(SET)]


@pytest.mark.parametrize(
    ("states", "image_seconds", "seconds"),
    [([NOT_THERE], 0, 70), ([NOT_THERE, BACK_OFF], 0, 70), ([NO_ANSWER], 0, 300), ([BACK_OFF], 0, 300), ([NO_ANSWER], 120, 130)],
)
def test_an_image_that_nodes_do_not_get(clock: Time, states: list[dict[str, Any]], image_seconds: float, seconds: float) -> None:
    class Turns(Cluster):
        def list(self, _version: str, kind: str, *_place: Any, **_chosen: Any) -> list[dict[str, Any]]:
            return [pod(states[int(clock.now / 10) % len(states)])] if kind == "Pod" else []

    live = {**SET, "status": {"observedGeneration": 1, "replicas": 1}}
    _seen, unready = wait.Waiter(Turns(live=live), 300.0, image_seconds).until_ready([live])  # type: ignore[arg-type]
    assert seconds - 12 < clock.now <= seconds
    assert ("401 Unauthorized" in unready[id_of(live)]) is (seconds == 70)


def test_pods_that_are_replaced_one_by_one(clock: Time) -> None:
    live = {**SET, "status": {"observedGeneration": 1, "replicas": 1, "updateRevision": "new"}}
    wait.Waiter(Cluster(pods=[pod(NOT_THERE, "old")], live=live), 300.0).until_ready([live])  # type: ignore[arg-type]
    assert clock.now >= 300


@pytest.mark.parametrize(
    ("cluster", "seconds", "words"),
    [
        (Cluster(event(NO_LIMITS), live=SET), 30, "is not ready; last seen: the cluster refused to create a pod of StatefulSet ws"),
        (Cluster(event(WEBHOOK), live=SET), 300, "is not ready after 300 s; last seen: the cluster refused to create a pod"),
        (Cluster(), 300, "is not ready after 300 s; last seen: there is no such pod"),
    ],
)
def test_a_superlink_that_is_refused(clock: Time, cluster: Any, seconds: float, words: str) -> None:
    with pytest.raises(cli.FlowerError, match=words):
        cli.FlowerCLI(cluster, "n").wait_for_superlink(300)
    assert seconds - 12 < clock.now <= seconds + 3


def test_a_data_scientist_asks_for_nothing_but_the_pod(clock: Time) -> None:
    cluster: Any = Cluster(event(NO_LIMITS), live=SET)
    cluster.hidden = True
    with pytest.raises(cli.FlowerError, match="is not ready after 60 s; last seen: there is no such pod"):
        cli.FlowerCLI(cluster, "n").wait_for_superlink(60)
    assert clock.now >= 60


WAITING = {"state": {"waiting": {"reason": "ContainerCreating"}}, "restartCount": 0}


def waiting_pod(phase: str = "Pending", node: str = "n1", containers: Any = (WAITING, WAITING), **meta: str) -> dict[str, Any]:
    return {"metadata": meta, "spec": {"nodeName": node}, "status": {"phase": phase, "containerStatuses": list(containers)}}


def claim(phase: str = "Pending", volume: str = "", **annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume}, "status": {"phase": phase}}


def test_a_pod_with_a_node_in_which_nothing_ever_ran() -> None:
    assert awaits_a_volume(waiting_pod())
    assert awaits_a_volume({"metadata": {}, "spec": {"nodeName": "n1"}, "status": {"phase": "Pending"}})


@each_row(
    "other",
    [
        waiting_pod(node=""),
        waiting_pod("Running"),
        waiting_pod(deletionTimestamp="2026-01-01T00:00:00Z"),
        waiting_pod(containers=[WAITING, {"state": {"running": {}}}]),
        waiting_pod(containers=[WAITING, {"state": {"terminated": {"exitCode": 0}}}]),
        waiting_pod(containers=[{"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 2}]),
    ],
)
def test_a_pod_that_may_have_run_or_may_get_a_node(other: dict[str, Any]) -> None:
    assert not awaits_a_volume(other)


def test_whose_claim_is_nobodys_work() -> None:
    assert nobody_binds(claim())
    assert not nobody_binds(claim("Bound", "pv-1"))
    assert not nobody_binds(claim(volume="pv-1"))
    assert not nobody_binds(claim(**{"volume.kubernetes.io/selected-node": "n1"}))
    assert not nobody_binds(claim("Lost"))


def pod_with(*statuses: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A pod with the containers a and b, and an init container i."""
    containers = [{"name": name, "image": f"r/{name}:1"} for name in ("a", "b")]
    spec = {"containers": containers, "initContainers": [{"name": "i", "image": "r/i:1"}]}
    return {"metadata": {"name": "p", **meta}, "spec": spec, "status": {"containerStatuses": list(statuses)}}


def waiting(name: str, reason: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": "no\n such image"}}, "restartCount": 0, **more}


@each_row("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_the_image_that_is_missing(reason: str) -> None:
    found = pod_health.unpulled(pod_with({"name": "a", "state": {"running": {}}}, waiting("b", reason)))
    assert found == "pod p: the image r/b:1 of container b cannot be pulled: no such image"


def test_other_reasons_to_wait() -> None:
    assert pod_health.unpulled(pod_with(waiting("a", "CrashLoopBackOff"), waiting("b", "ContainerCreating"))) == ""
    assert pod_health.unpulled({"metadata": {"name": "p"}, "spec": {"containers": []}}) == ""


def test_images_of_a_pod() -> None:
    assert pod_health.images_of_pod(pod_with()) == {"a": "r/a:1", "b": "r/b:1", "i": "r/i:1"}


def test_whether_a_container_ever_ran() -> None:
    missing = waiting("b", "ImagePullBackOff")
    running = {"name": "a", "state": {"running": {}}, "restartCount": 0}
    assert stuck_pods.never_started(pod_with(running, missing), "b")
    assert not stuck_pods.never_started(pod_with(running, missing), "a")
    assert not stuck_pods.never_started(pod_with(waiting("b", "CrashLoopBackOff", restartCount=1)), "b")
    assert not stuck_pods.never_started(pod_with(), "b"), "of a pod without a status nothing is known"
    assert not stuck_pods.never_started(pod_with(missing, deletionTimestamp="now"), "b")


def test_whether_a_node_has_all_images() -> None:
    ended = {"name": "a", "state": {"terminated": {"exitCode": 128, "reason": "StartError"}}}
    first = {"name": "i", "state": {"running": {}}}
    for reason, has in (("CreateContainerError", True), ("CreateContainerConfigError", True), ("ContainerCreating", False), ("ErrImagePull", False)):
        assert pod_health.has_images(pod_with(ended, first, waiting("b", reason))) is has, reason
    assert not pod_health.has_images(pod_with(ended)), "of the others nothing is known yet"
    assert not pod_health.has_images(pod_with())


def test_what_containers_do_not_say() -> None:
    """A node that does not answer leaves the state of its containers as it was, and the pod's condition alone is set."""
    ready = {"name": "a", "ready": True, "state": {"running": {}}}
    lost = pod_with(ready)
    lost["spec"]["nodeName"] = "gpu-7"
    lost["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    assert pod_health.describe(lost) == "p (Running): its containers were ready when its node last reported. Check the node: kubectl get node gpu-7"
    lost["metadata"]["deletionTimestamp"] = "2026-11-26T10:00:00Z"
    assert pod_health.describe(lost).startswith("p (Running): it is being deleted, and should terminate by 2026-11-26T10:00:00Z; its containers")
    evicted = {"metadata": {"name": "p"}, "status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}}
    assert pod_health.describe(evicted) == "p (Failed): Evicted: The node was low on resource: memory."
    side = pod_with({**ready, "ready": True})
    side["status"] |= {"initContainerStatuses": [{"name": "i", "ready": False, "state": {"running": {}}}], "conditions": [{"type": "Ready", "status": "False"}]}
    assert pod_health.describe(side) == "p (no status): container i runs but is not ready", "its node answers"
    gated = pod_with(ready)
    gated["status"]["conditions"] = [{"type": "Ready", "status": "False", "message": 'the status of pod readiness gate "lb" is not "True"'}]
    assert pod_health.describe(gated).endswith('gate "lb" is not "True"')
