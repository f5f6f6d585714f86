# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods for which waiting is of no use, pods that can never start, and pods whose mounted files are to be updated now.

The API server accepts a workload whose pods a quota, a LimitRange, Pod Security, a security context constraint of OpenShift or a webhook refuses.
Only events of the workload's controller say so, for a Deployment those of its ReplicaSet. It tries again after 5 ms, and then after twice as long
each time (measured with Kubernetes 1.34: twelve times in the first 10 s, later after minutes). So an event of a former time says nothing about now.

The scheduler chooses a node for a claim before it binds the pod (storage classes that wait for the first consumer). After a
claim was deleted and created again under its name, the scheduler may still see the old one, which is bound, and assign the pod at
once. No node is chosen for the new claim then, and the pod waits without end (measured with Kubernetes 1.34; source of the rule:
Kubernetes documentation, «Storage Classes», «Volume binding mode»). A new pod is scheduled with the new claim.

A kubelet updates the Secrets and ConfigMaps of a pod every minute or so, and at once when the pod itself changes. An
annotation is such a change, and restarts nothing (measured: 2 s instead of 74 s).
"""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

from ..marks.proof import has_written
from .api_errors import Forbidden, NotFound
from .client import Cluster
from .pod_health import unpulled

_EVENT = "FailedCreate"
# What an admission says. A webhook that does not answer, or an API server that restarts, is another matter.
_REFUSED = ("is forbidden: ", "is invalid: ", "denied the request")
_REFUSED_SECONDS = 20.0  # a service account, or a role binding, may be on its way
_QUOTA = "exceeded quota"
_QUOTA_SECONDS = 60.0  # pods that are about to end still count
# What a registry says of an image or a login, and a kubelet of one that it never pulls. A registry that does not answer may come back.
_LOST = ("nauthorized", "orbidden", "authentication", "denied", "not found", "manifest unknown", "no match for platform", "couldn't parse", "of Never")
_LOST_SECONDS = 60.0  # an operator may put the pull Secret into a new namespace, and a registry fetch the image from elsewhere
_REVISION = "controller-revision-hash"
_AGAIN = "federated.flower/try-again"  # for a moment, on a workload
_SLACK = 2.0  # seconds by which clocks are known

Object = Mapping[str, Any]

_CHOSEN = "volume.kubernetes.io/selected-node"

REFRESH_ANNOTATION = "federated.flower/refreshed"


def refusal(cluster: Cluster, workload: Object, since: str = "") -> str:
    """Why the cluster did not create a pod of a workload that lacks some, by its last attempt; empty where that is not known.

    Args:
        workload: as it is live, with its kind.
        since: attempts before this time do not count; by default those before the workload was created.
    """
    if not _lacks_pods(workload):
        return ""
    meta = workload["metadata"]
    try:
        events = cluster.list("v1", "Event", meta["namespace"], fields=f"reason={_EVENT}")
    except Forbidden:
        return ""
    since = since or meta.get("creationTimestamp") or ""
    found = [(event_time(event), event) for event in events if _is_about(event.get("involvedObject") or {}, workload) and event_time(event) >= since]
    if not found:
        return ""
    seen, last = max(found, key=lambda one: one[0])
    words = " ".join(str(last.get("message", "")).split()).removeprefix("(combined from similar events): ")
    return f"the cluster refused to create a pod of {workload['kind']} {meta['name']} at {seen}: {words}"


def _lacks_pods(workload: Object) -> bool:
    status = workload.get("status") or {}
    if workload["kind"] == "DaemonSet":
        wanted = status.get("desiredNumberScheduled", 0)
        return bool(status.get("currentNumberScheduled", wanted) < wanted)
    if workload["kind"] not in ("Deployment", "StatefulSet"):
        return False
    return bool(status.get("replicas", 0) < (workload.get("spec") or {}).get("replicas", 1))


def _is_about(what: Object, workload: Object) -> bool:
    meta = workload["metadata"]
    if workload["kind"] == "Deployment":
        return what.get("kind") == "ReplicaSet" and str(what.get("name")).rpartition("-")[0] == meta["name"]
    return what.get("uid") == meta.get("uid")


def _is_former(pod: Object, workload: Object) -> bool:
    """Whether a pod has a former template: a StatefulSet replaces one after the other, also those that never had their image."""
    wanted = (workload.get("status") or {}).get("updateRevision")
    return bool(wanted) and (pod["metadata"].get("labels") or {}).get(_REVISION, wanted) != wanted


def event_time(event: Object) -> str:
    """When an event was last seen, by the API server's clock."""
    return str(event.get("lastTimestamp") or event.get("eventTime") or event["metadata"].get("creationTimestamp") or "")


class Patience:
    """Says when to give up waiting for workloads of one cluster, with the reason. Pods that were refused before are tried once more at first.

    Args:
        cluster: a connection.
        image_seconds: how long a node may fail to get an image, whatever the reason; 0 for those alone that a registry refuses.
    """

    def __init__(self, cluster: Cluster, image_seconds: float = 0) -> None:
        self.cluster, self.image_seconds = cluster, image_seconds
        self._begun = datetime.datetime.now(datetime.timezone.utc)
        self._seen: dict[Any, tuple[float, str]] = {}
        self._tried: set[Any] = set()

    def is_over(self, workload: Object, pods: Callable[[], Sequence[Object]]) -> str:
        """Why waiting for a workload, or a pod, is of no use; empty while it may be.

        Args:
            workload: as it is live, with its kind.
            pods: lists those of its pods that are not ready.
        """
        which = workload["kind"], workload["metadata"].get("namespace"), workload["metadata"]["name"]
        refused = refusal(self.cluster, workload, self._since()) if _lacks_pods(workload) else ""
        if not refused and which not in self._tried:
            self._tried.add(which)
            self._try_again(workload)
        if any(part in refused for part in _REFUSED):
            return self._lasts((which, "refused"), refused, _QUOTA_SECONDS if _QUOTA in refused else _REFUSED_SECONDS)
        self._seen.pop((which, "refused"), None)
        words = next((why for pod in pods() if not _is_former(pod, workload) and (why := unpulled(pod))), "")
        if not words:
            self._seen.pop((which, "image"), None)
            return ""
        # Between two attempts, kubelets before 1.31 do not say why the last one failed.
        words = max(self._seen.get((which, "image"), (0.0, ""))[1], words, key=len)
        seconds = self.image_seconds or (_LOST_SECONDS if any(part in words for part in _LOST) else float("inf"))
        return self._lasts((which, "image"), words, seconds)

    def _try_again(self, workload: Object) -> None:
        """Have the controller of a workload whose pods were refused before the wait try again now: administrators may have resolved it since.

        By itself it would do so up to 1000 s after its last attempt, and any change of the workload makes it look (measured with Kubernetes 1.34).
        Those that this collection never wrote to are left alone.
        """
        kind, meta = workload["kind"], workload["metadata"]
        if not has_written(workload) or not refusal(self.cluster, workload):
            return
        right = {"verb": "patch", "group": "apps", "resource": f"{kind.lower()}s", "namespace": meta["namespace"], "name": meta["name"]}
        if all(self.cluster.access_review([right])):
            for value in ("true", None):
                self.cluster.patch("apps/v1", kind, meta["name"], meta["namespace"], {"metadata": {"annotations": {_AGAIN: value}}})

    def _since(self) -> str:
        """When waiting began, by the clock of the API server."""
        return (self._begun + datetime.timedelta(seconds=(self.cluster.skew or 0) - _SLACK)).strftime("%Y-%m-%dT%H:%M:%SZ")

    def _lasts(self, what: Any, words: str, seconds: float) -> str:
        """The words, once that has been so for some time."""
        now = time.monotonic()
        begun = self._seen.get(what, (now, ""))[0]
        self._seen[what] = begun, words
        return words if now - begun >= seconds else ""


def awaits_a_volume(pod: Mapping[str, Any]) -> bool:
    """Whether the pod has a node, and none of its containers was ever started."""
    status = pod.get("status") or {}
    containers = [*status.get("initContainerStatuses", []), *status.get("containerStatuses", [])]
    assigned = bool(pod["spec"].get("nodeName")) and status.get("phase") == "Pending"
    return assigned and all(map(_never_ran, containers)) and not pod["metadata"].get("deletionTimestamp")


def _never_ran(container: Mapping[str, Any]) -> bool:
    return "waiting" in container.get("state", {}) and not container.get("restartCount")


def never_started(pod: Mapping[str, Any], name: str) -> bool:
    """Whether the container C(name) of a pod was never started; others of the pod may run."""
    found = [one for one in (pod.get("status") or {}).get("containerStatuses", []) if one["name"] == name]
    return bool(found) and all(map(_never_ran, found)) and not pod["metadata"].get("deletionTimestamp")


def nobody_binds(claim: Mapping[str, Any]) -> bool:
    """Whether a claim is unbound, and no node was chosen for it."""
    chosen = _CHOSEN in (claim["metadata"].get("annotations") or {})
    return (claim.get("status") or {}).get("phase") == "Pending" and not chosen and not claim["spec"].get("volumeName")


def claim_of(cluster: Cluster, pod: Mapping[str, Any]) -> str:
    """Name of the claim for which a pod waits without end; empty where it is not stranded, or its claims cannot be read."""
    if not awaits_a_volume(pod):
        return ""
    for volume in pod["spec"].get("volumes") or []:
        name = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if not name:
            continue
        try:
            claim = cluster.get("v1", "PersistentVolumeClaim", name, pod["metadata"]["namespace"])
        except Forbidden:
            continue
        if claim is not None and nobody_binds(claim):
            return str(name)
    return ""


def replace_pod(cluster: Cluster, pod: Mapping[str, Any]) -> None:
    """Delete this very pod; its controller creates it again."""
    meta = pod["metadata"]
    try:
        cluster.delete("v1", "Pod", meta["name"], meta["namespace"], uid=meta["uid"], propagation="Background")
    except NotFound:
        return


def touch_pods(cluster: Cluster, namespace: str, labels: str, *, marks: Mapping[str, str] | None = None) -> None:
    """Annotate pods, so that their kubelets update their Secrets and ConfigMaps.

    Args:
        cluster: a connection to the pods' cluster.
        namespace: their namespace.
        labels: a label selector.
        marks: annotations that identify the content; a pod that has them is up to date and is not changed. Without
            them all pods are touched.
    """
    wanted = marks or {REFRESH_ANNOTATION: datetime.datetime.now(datetime.timezone.utc).isoformat()}
    for pod in cluster.list("v1", "Pod", namespace, labels=labels):
        if wanted.items() <= (pod["metadata"].get("annotations") or {}).items():
            continue
        with suppress(NotFound):  # it was deleted meanwhile; its successor starts with the new files
            cluster.patch("v1", "Pod", pod["metadata"]["name"], namespace, {"metadata": {"annotations": dict(wanted)}})


def are_files_changed(objects: Iterable[Mapping[str, str]]) -> bool:
    """Whether pods may have files of objects that were applied, in their former state. C(objects): the result for each."""
    return any(one["kind"] in ("ConfigMap", "Secret") and one["change"] == "changed" for one in objects)
