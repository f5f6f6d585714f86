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
RECREATED = "it was not ready, and a StatefulSet does not replace such a pod when its template is changed"
_REVISION = "controller-revision-hash"
_MESSAGE = 600  # characters of what a container said last


def describe(pod: Mapping[str, Any]) -> str:
    """A pod, its phase, and C(pod_faults)."""
    phase = (pod.get("status") or {}).get("phase", "no status")
    return f"{pod['metadata']['name']} ({phase}): " + ("; ".join(pod_faults(pod)) or "nothing unusual")


def pod_faults(pod: Mapping[str, Any]) -> list[str]:
    """What a pod is waiting for, or why its containers ended: a clause each."""
    faults = _whole(pod)
    for one in (pod.get("status") or {}).get("conditions") or []:
        if one["type"] == "PodScheduled" and one.get("status") == "False":
            faults.append(_reason(one) or "it is not scheduled")
    for one in _containers(pod):
        state = one.get("state") or {}
        ended = state.get("terminated") or (one.get("lastState") or {}).get("terminated") or {}
        if one.get("ready") or ("terminated" in state and ended.get("exitCode") == 0):
            continue
        waiting = state.get("waiting") or {}
        reported = [_reason(waiting)] if waiting.get("reason", "PodInitializing") != "PodInitializing" else []
        if ended:
            message = " ".join(str(ended.get("message", "")).split())[-_MESSAGE:]
            reported.append(f"last ended with code {ended.get('exitCode')} ({ended.get('reason')})" + (f": {message}" if message else ""))
        if not reported and "running" in state:
            reported.append("runs but is not ready")
        if reported and one.get("restartCount"):
            reported.append(f"{one['restartCount']} restarts")
        if reported:
            faults.append(f"container {one.get('name')} {', '.join(reported)}")
    return faults


def _reason(status: Mapping[str, Any]) -> str:
    return ": ".join(" ".join(str(status[key]).split()) for key in ("reason", "message") if status.get(key))


def _whole(pod: Mapping[str, Any]) -> list[str]:
    """What is wrong with a pod that is not ready and that its containers do not say: a clause each.

    A node that does not answer reports no change, so the containers of its pods still count as ready; only the condition of the pod is set
    (Kubernetes documentation, «Nodes»: the node controller). The same is said of gates of readiness, which have a message.
    """
    status, meta = pod.get("status") or {}, pod.get("metadata") or {}
    found = [_reason(status)]
    if meta.get("deletionTimestamp"):
        found.append(f"it is being deleted, and should terminate by {meta['deletionTimestamp']}")
    ready: Mapping[str, Any] = next((one for one in status.get("conditions") or [] if one["type"] == "Ready" and one["status"] != "True"), {})
    if ready and status.get("containerStatuses") and all(one.get("ready") for one in _containers(pod)):
        node = (pod.get("spec") or {}).get("nodeName")
        found.append(ready.get("message") or f"its containers were ready when its node last reported. Check the node: kubectl get node {node}")
    return [text for text in found if text]


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


def is_outdated(pod: Object, stateful_set: Object, federation: str, container: str, *, changes: bool = False) -> bool | None:
    """Whether a pod waits to be deleted, so that it is created from the new template.

    A container that runs and is not ready yet is left to it: it may be at work on its files. It gets ready, and is replaced by the StatefulSet;
    or it ends, and is not running then.

    Args:
        pod: as it is live.
        stateful_set: as it is live.
        federation: name of the federation to which the pod must belong.
        container: name of the pod's main container.
        changes: whether the template is going to be another one, so that all pods have a former one.

    Returns:
        None while it is not known: the controller has not seen the template, or a container starts.
    """
    meta, wanted, status = pod["metadata"], stateful_set["metadata"], stateful_set.get("status") or {}
    owned = any(one.get("controller") and one.get("uid") == wanted["uid"] for one in meta.get("ownerReferences") or [])
    if not owned or not proof.belongs(pod, federation) or meta.get("deletionTimestamp") or is_ready(pod):
        return False
    strategy = (stateful_set.get("spec") or {}).get("updateStrategy") or {}
    # else people replace its pods
    former = strategy.get("type") == "RollingUpdate" and not (strategy.get("rollingUpdate") or {}).get("partition")
    if not changes:
        if status.get("observedGeneration", 0) < wanted.get("generation", 0):
            return None
        revision, current = proof.labels_of(pod).get(_REVISION), status.get("updateRevision")
        former = former and bool(revision and current) and revision != current
    containers = (pod.get("status") or {}).get("containerStatuses") or []
    starts = any(one["name"] == container and "running" in (one.get("state") or {}) and not one.get("ready") for one in containers)
    return (None if starts else True) if former else False
