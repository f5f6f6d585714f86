# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a pod whose node does not get an image, and whether a container of it ever ran."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube import pod_health, stuck_pods


def pod(*statuses: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A pod with the containers a and b, and an init container i."""
    containers = [{"name": name, "image": f"r/{name}:1"} for name in ("a", "b")]
    spec = {"containers": containers, "initContainers": [{"name": "i", "image": "r/i:1"}]}
    return {"metadata": {"name": "p", **meta}, "spec": spec, "status": {"containerStatuses": list(statuses)}}


def waiting(name: str, reason: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": {"waiting": {"reason": reason, "message": "no\n such image"}}, "restartCount": 0, **more}


@pytest.mark.parametrize("reason", ["ErrImagePull", "ImagePullBackOff", "InvalidImageName"])
def test_the_image_that_is_missing(reason: str) -> None:
    found = pod_health.unpulled(pod({"name": "a", "state": {"running": {}}}, waiting("b", reason)))
    assert found == "pod p: the image r/b:1 of container b cannot be pulled: no such image"


def test_other_reasons_to_wait() -> None:
    assert pod_health.unpulled(pod(waiting("a", "CrashLoopBackOff"), waiting("b", "ContainerCreating"))) == ""
    assert pod_health.unpulled({"metadata": {"name": "p"}, "spec": {"containers": []}}) == ""


def test_images_of_a_pod() -> None:
    assert pod_health.images_of_pod(pod()) == {"a": "r/a:1", "b": "r/b:1", "i": "r/i:1"}


def test_whether_a_container_ever_ran() -> None:
    missing = waiting("b", "ImagePullBackOff")
    running = {"name": "a", "state": {"running": {}}, "restartCount": 0}
    assert stuck_pods.never_started(pod(running, missing), "b")
    assert not stuck_pods.never_started(pod(running, missing), "a")
    assert not stuck_pods.never_started(pod(waiting("b", "CrashLoopBackOff", restartCount=1)), "b")
    assert not stuck_pods.never_started(pod(), "b"), "of a pod without a status nothing is known"
    assert not stuck_pods.never_started(pod(missing, deletionTimestamp="now"), "b")


def test_whether_a_node_has_all_images() -> None:
    ended = {"name": "a", "state": {"terminated": {"exitCode": 128, "reason": "StartError"}}}
    first = {"name": "i", "state": {"running": {}}}
    for reason, has in (("CreateContainerError", True), ("CreateContainerConfigError", True), ("ContainerCreating", False), ("ErrImagePull", False)):
        assert pod_health.has_images(pod(ended, first, waiting("b", reason))) is has, reason
    assert not pod_health.has_images(pod(ended)), "of the others nothing is known yet"
    assert not pod_health.has_images(pod())


def test_what_containers_do_not_say() -> None:
    """A node that does not answer leaves the state of its containers as it was, and the pod's condition alone is set."""
    ready = {"name": "a", "ready": True, "state": {"running": {}}}
    lost = pod(ready)
    lost["spec"]["nodeName"] = "gpu-7"
    lost["status"] |= {"phase": "Running", "conditions": [{"type": "Ready", "status": "False"}]}
    assert pod_health.describe(lost) == "p (Running): its containers were ready when its node last answered: is the node lost? kubectl get node gpu-7"
    lost["metadata"]["deletionTimestamp"] = "2026-11-26T10:00:00Z"
    assert pod_health.describe(lost).startswith("p (Running): it is being deleted, and should end by 2026-11-26T10:00:00Z; its containers")
    evicted = {"metadata": {"name": "p"}, "status": {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}}
    assert pod_health.describe(evicted) == "p (Failed): Evicted: The node was low on resource: memory."
    side = pod({**ready, "ready": True})
    side["status"] |= {"initContainerStatuses": [{"name": "i", "ready": False, "state": {"running": {}}}], "conditions": [{"type": "Ready", "status": "False"}]}
    assert pod_health.describe(side) == "p (no status): i runs but is not ready", "its node answers"
    gated = pod(ready)
    gated["status"]["conditions"] = [{"type": "Ready", "status": "False", "message": 'the status of pod readiness gate "lb" is not "True"'}]
    assert pod_health.describe(gated).endswith('gate "lb" is not "True"')
