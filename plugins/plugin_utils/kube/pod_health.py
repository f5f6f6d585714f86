# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Why a pod does not do its work, in a sentence. Pure functions on live Pod objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


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
