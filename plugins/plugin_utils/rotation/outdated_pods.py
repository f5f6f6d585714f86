# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Pods that run with outdated files, and their replacement.

Whether a process has read the current version of a file follows from its age: the pod itself compares the start of its
process with the time at which the kubelet put the file there, both by the node's clock.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base.errors import ClusterError
from ..base.labels import POOL_LABEL
from ..flower import in_pod
from ..kube import pod_health as described
from ..kube.api_errors import Conflict, Forbidden, NotFound
from ..kube.client import Cluster
from ..marks import proof
from ..programs import site_program

Object = Mapping[str, Any]
# Seconds until a kubelet has reported that a container has ended.
_REPORTED = 10


def mounts(pod: Object, container: str, path: str) -> bool:
    """Whether a container of a pod has a volume at the folder of a file."""
    mounted = [one for found in pod["spec"]["containers"] if found["name"] == container for one in found.get("volumeMounts") or []]
    return any(path.startswith(mount["mountPath"].rstrip("/") + "/") for mount in mounted)


def run_site_program(cluster: Cluster, pod: Object, container: str, request: Mapping[str, Any], seconds: float = 60) -> dict[str, Any]:
    """The result of C(site_program) for a pod.

    Raises:
        ClusterError: it could not be run; the text has the pod.
    """
    meta = pod["metadata"]
    return in_pod.run(cluster, meta["namespace"], meta["name"], container, site_program, request, seconds=seconds).object()


def is_outdated(cluster: Cluster, pod: Object, container: str, wanted: Mapping[str, str]) -> bool:
    """Whether a container of a live pod runs with other files than it should. C(wanted): path -> digest of its content (C(site_proof.file_digest))."""
    if not wanted or pod["metadata"].get("deletionTimestamp") or not _running_id(pod, container):
        return False  # what is about to start takes in what is there
    try:
        answer = run_site_program(cluster, pod, container, {"probes": {}, "files": {path: path for path in wanted}, "seconds": 0})
    except Forbidden:
        raise
    except ClusterError:  # the program was killed with its container, or the container was gone before it began
        if _restarts(cluster, pod, container):
            return False
        raise
    return any(not (found.get("loaded") and found.get("sha256") == wanted[path]) for path, found in answer["held"].items())


def _running_id(pod: Object, container: str) -> str:
    """The id of a container that runs; empty if it does not."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    running = (one for one in statuses if one["name"] == container and "running" in (one.get("state") or {}))
    return next((str(one.get("containerID") or "without an id") for one in running), "")


def _restarts(cluster: Cluster, pod: Object, container: str) -> bool:
    """Whether a container has ended since its pod was read. The kubelet reports it a moment later."""
    meta = pod["metadata"]
    deadline = time.monotonic() + _REPORTED
    while True:
        live = cluster.get("v1", "Pod", meta["name"], meta["namespace"])
        if live is None or live["metadata"]["uid"] != meta["uid"] or _running_id(live, container) != _running_id(pod, container):
            return True
        if time.monotonic() >= deadline:
            return False
        time.sleep(0.5)


def replace_pods(cluster: Cluster, namespace: str, federation: str, old: Sequence[Object], seconds: float, note: Callable[..., None]) -> list[str]:
    """Delete live pods all at once and wait until those that take their place are ready; returns the names of the deleted ones.

    Pods of other federations do not take their place.

    Raises:
        ClusterError: they are not ready in time; the text has what they wait for.
    """
    if not old:
        return []
    gone = {pod["metadata"]["uid"] for pod in old}
    seats = set(map(_seat, old))
    labels = proof.pods_query(federation, *sorted({seat[0] for seat in seats}))
    delete_pods(cluster, namespace, old, note)
    deadline = time.monotonic() + seconds
    while True:
        present = cluster.list("v1", "Pod", namespace, labels=labels)
        new = [pod for pod in present if pod["metadata"]["uid"] not in gone and _seat(pod) in seats]
        if seats <= {_seat(pod) for pod in new if described.is_ready(pod)}:
            return [pod["metadata"]["name"] for pod in old]
        if time.monotonic() >= deadline:
            raise ClusterError(f"pods on {cluster.name} were restarted and are not ready after {seconds:g} s: {described.summary(new)}")
        time.sleep(0.5)


def delete_pods(cluster: Cluster, namespace: str, old: Sequence[Object], note: Callable[..., None]) -> list[str]:
    """Delete exactly these pods, each owned by a controller that replaces it; returns their names."""
    for pod in old:
        try:
            cluster.delete("v1", "Pod", pod["metadata"]["name"], namespace, propagation="Background", uid=pod["metadata"]["uid"])
        except (Conflict, NotFound):
            continue  # someone else has replaced it
        note(words=[f"restarted pod {namespace}/{pod['metadata']['name']}"])
    return [pod["metadata"]["name"] for pod in old]


def _seat(pod: Object) -> tuple[str, str, str]:
    """What a pod has in common with its successor: application, pool, and its name or node, if fixed."""
    labels = pod["metadata"]["labels"]
    owners = {owner["kind"] for owner in pod["metadata"].get("ownerReferences") or []}
    fixed = ""
    if "StatefulSet" in owners:
        fixed = pod["metadata"]["name"]
    elif "DaemonSet" in owners:
        fixed = str(pod["spec"].get("nodeName", ""))
    return labels["app.kubernetes.io/name"], labels.get(POOL_LABEL, ""), fixed
