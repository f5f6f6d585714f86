# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Why a pod does not do its work, and pods that their StatefulSet never replaces. Pure functions on live Pod objects.

A StatefulSet that starts its pods in order waits until a pod is ready before it replaces it, even if the pod can never be ready with the
former template: its image is missing, or its container crashes (Kubernetes documentation, «StatefulSets», «Forced rollback»). Once
someone has deleted the pod, it is created from the new template, with the same volumes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..marks import proof

Object = Mapping[str, Any]

#: Why such a pod is created again.
WORDS = "it was not ready, and a StatefulSet does not replace such a pod when its template is changed"
_REVISION = "controller-revision-hash"


def describe(pod: Mapping[str, Any]) -> str:
    """Describe what a pod is waiting for or why its containers terminated."""
    status = pod.get("status", {})
    parts = []
    for condition in status.get("conditions", []):
        if condition["type"] == "PodScheduled" and condition["status"] == "False":
            parts.append(condition.get("message", "not scheduled"))
    for container in [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]:
        text = _container(container)
        if text:
            parts.append(f"{container['name']} {text}")
    parts = [*whole(pod), *parts]
    return f"{pod['metadata']['name']} ({status.get('phase', 'no status')}): " + ("; ".join(parts) or "nothing unusual")


def whole(pod: Mapping[str, Any]) -> list[str]:
    """What is wrong with a pod that is not ready and that its containers do not say: a clause each.

    A node that does not answer reports no change, so the containers of its pods still count as ready; only the condition of the pod is set
    (Kubernetes documentation, «Nodes»: the node controller). The same is said of gates of readiness, which have a message.
    """
    status, meta = pod.get("status") or {}, pod["metadata"]
    found = [": ".join(str(status[key]) for key in ("reason", "message") if status.get(key))]
    if meta.get("deletionTimestamp"):
        found.append(f"it is being deleted, and should end by {meta['deletionTimestamp']}")
    ready: Mapping[str, Any] = next((one for one in status.get("conditions") or [] if one["type"] == "Ready" and one["status"] != "True"), {})
    if ready and status.get("containerStatuses") and all(one.get("ready") for one in _containers(pod)):
        node = (pod.get("spec") or {}).get("nodeName")
        found.append(ready.get("message") or f"its containers were ready when its node last answered: is the node lost? kubectl get node {node}")
    return [text for text in found if text]


def _container(container: Mapping[str, Any]) -> str:
    state, last = container.get("state", {}), container.get("lastState", {}).get("terminated")
    text = ""
    if "waiting" in state:
        reason = state["waiting"].get("reason", "waiting")
        text = reason + (f": {state['waiting']['message']}" if state["waiting"].get("message") else "")
    elif "terminated" in state and (state["terminated"].get("exitCode") or not container.get("ready")):
        text = f"ended with code {state['terminated'].get('exitCode', 0)}"
    elif not container.get("ready") and "running" in state:
        text = "runs but is not ready"
    if last and (text or not container.get("ready")):
        text += f", last ended with code {last.get('exitCode')} ({last.get('reason')})"
        text += f" with message {last['message'].strip()[-300:]!r}" if last.get("message") else ""
    if container.get("restartCount") and text:
        text += f", {container['restartCount']} restarts"
    return text


# What a kubelet says of a container whose image it does not get.
_UNPULLED = frozenset(("ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError", "RegistryUnavailable"))


def images_of_pod(pod: Mapping[str, Any]) -> dict[str, str]:
    """Container -> image, as the pod wants them."""
    return {one["name"]: one["image"] for one in [*(pod["spec"].get("initContainers") or []), *pod["spec"]["containers"]]}


# What it says of a container that it could not create or start: it has its image then.
_PULLED = frozenset(("CreateContainerConfigError", "CreateContainerError", "RunContainerError", "PostStartHookError", "CrashLoopBackOff"))


def unpulled(pod: Mapping[str, Any]) -> str:
    """Which image of a pod its node does not get, and why, in a sentence; empty where it gets all."""
    return next((f"pod {pod['metadata']['name']}: {words}" for words in unpulled_images(pod)), "")


def unpulled_images(pod: Mapping[str, Any]) -> list[str]:
    """Which images of a pod its node does not get, and why, a clause each."""
    images = images_of_pod(pod)
    found = []
    for one in _containers(pod):
        waiting = (one.get("state") or {}).get("waiting") or {}
        if waiting.get("reason") in _UNPULLED:
            why = " ".join(str(waiting.get("message") or waiting["reason"]).split())
            found.append(f"the image {images.get(one['name'])} of container {one['name']} cannot be pulled: {why}")
    return found


def has_images(pod: Mapping[str, Any]) -> bool:
    """Whether the pod's node has the images of all its containers, whatever became of these."""

    def pulled(container: Mapping[str, Any]) -> bool:
        state = container.get("state") or {}
        return bool({"running", "terminated"} & set(state)) or (state.get("waiting") or {}).get("reason") in _PULLED

    found = _containers(pod)
    return len(found) == len(images_of_pod(pod)) and all(map(pulled, found))


def _containers(pod: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    status = pod.get("status") or {}
    return [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]


def is_ready(pod: Mapping[str, Any]) -> bool:
    """Whether the pod's condition Ready is true."""
    return any(c["type"] == "Ready" and c["status"] == "True" for c in pod.get("status", {}).get("conditions", []))


def summary(pods: Sequence[Mapping[str, Any]], limit: int = 3) -> str:
    """Describe the first pods that are not ready."""
    unready = [pod for pod in pods if not is_ready(pod)]
    if not pods:
        return "there are no pods"
    if not unready:
        return f"all {len(pods)} pods are ready, so check their logs and the connection to the hub"
    more = f" and {len(unready) - limit} more" if len(unready) > limit else ""
    return " | ".join(describe(pod) for pod in unready[:limit]) + more


def is_outdated(pod: Object, stateful_set: Object, federation: str, container: str, *, changes: bool = False) -> bool:
    """Whether a pod waits to be deleted, so that it is created from the new template.

    A container that runs and is not ready yet is left to it: it may be at work on its files. It gets ready, and is replaced by the StatefulSet;
    or it ends, and is not running then.

    Args:
        pod: as it is live.
        stateful_set: as it is live.
        federation: name of the federation to which the pod must belong.
        container: name of the pod's main container.
        changes: whether the template is going to be another one, so that all pods have a former one.
    """
    return (
        _waits(pod, stateful_set, federation)
        and (_replaces_pods(stateful_set) if changes else _has_another_revision(pod, stateful_set))
        and not _is_starting(pod, container)
    )


def is_undecided(pod: Object, stateful_set: Object, federation: str, container: str) -> bool:
    """Whether a look at the pod a little later may have another result: its controller has not seen the template, or a container starts.

    The arguments are those of C(is_outdated).
    """
    if not _waits(pod, stateful_set, federation):
        return False
    return not _is_seen(stateful_set) or (_has_another_revision(pod, stateful_set) and _is_starting(pod, container))


def _waits(pod: Object, stateful_set: Object, federation: str) -> bool:
    return (
        _owns(stateful_set, pod)
        and proof.belongs(pod, federation)
        and not pod["metadata"].get("deletionTimestamp")
        and not is_ready(pod)
    )


def _is_seen(stateful_set: Object) -> bool:
    """Whether its controller has seen the StatefulSet as it is."""
    seen = (stateful_set.get("status") or {}).get("observedGeneration", 0)
    return bool(seen >= stateful_set["metadata"].get("generation", 0))


def _owns(stateful_set: Object, pod: Object) -> bool:
    owners = pod["metadata"].get("ownerReferences") or []
    return any(one.get("controller") and one.get("uid") == stateful_set["metadata"]["uid"] for one in owners)


def _replaces_pods(stateful_set: Object) -> bool:
    """Whether the StatefulSet replaces its pods when its template is changed; else people do."""
    strategy = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    return strategy.get("type") == "RollingUpdate" and not (strategy.get("rollingUpdate") or {}).get("partition")


def _has_another_revision(pod: Object, stateful_set: Object) -> bool:
    """Whether the StatefulSet, as its controller has seen it, replaces its pods, and would create this one from another template."""
    if not _replaces_pods(stateful_set) or not _is_seen(stateful_set):
        return False
    revision, wanted = proof.labels_of(pod).get(_REVISION), (stateful_set.get("status") or {}).get("updateRevision")
    return bool(revision and wanted) and revision != wanted


def _is_starting(pod: Object, container: str) -> bool:
    found = (pod.get("status") or {}).get("containerStatuses") or []
    return any(one["name"] == container and "running" in (one.get("state") or {}) and not one.get("ready") for one in found)
