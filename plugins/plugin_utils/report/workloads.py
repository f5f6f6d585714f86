# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Summary of the workloads of one cluster. Pure functions on live objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..base import dataset_mounts
from ..base.images import images_of
from ..base.labels import POOL_LABEL
from ..base.object_names import SERVERAPP, SUPEREXEC, SUPERLINK, SUPERNODE
from ..kube import pod_health as site_pods
from ..kube.api_errors import Forbidden
from ..spec.part_spec import PROCESS


def workload(obj: Mapping[str, Any]) -> dict[str, Any]:
    """What a Deployment, StatefulSet or DaemonSet wants and has.

    Returns:
        C(kind), C(name), C(pool) (None where there is none), C(desired), C(ready), C(image) of its main container, C(images) (container -> image), C(version),
        C(datasets), C(apart): whether its SuperNodes compute nothing themselves, so that there must be ClientApps in their own pods.
    """
    spec, status = obj["spec"], obj.get("status", {})
    daemon = obj["kind"] == "DaemonSet"
    containers = spec["template"]["spec"]["containers"]
    return {
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "pool": obj["metadata"].get("labels", {}).get(POOL_LABEL),
        "desired": status.get("desiredNumberScheduled", 0) if daemon else spec.get("replicas", 1),
        "ready": status.get("numberReady", 0) if daemon else status.get("readyReplicas", 0),
        "image": containers[0]["image"],
        "images": images_of(obj),
        "version": obj["metadata"].get("labels", {}).get("app.kubernetes.io/version", ""),
        "datasets": dataset_mounts.names_of(obj),
        "apart": SUPEREXEC not in images_of(obj)
        and any(one["name"] == SUPERNODE and PROCESS in (one.get("args") or []) for one in containers),
    }


def trouble(
    found: Sequence[Mapping[str, Any]],
    namespace: str,
    pods: Callable[[], Sequence[Mapping[str, Any]]],
    refusals: Callable[[], Sequence[str]],
) -> str:
    """Why workloads are not ready; empty when they all are.

    Args:
        found: results of C(workload).
        namespace: theirs.
        pods: lists their pods; called only where one is not ready.
        refusals: why the cluster created no pods of some; called only where pods are missing.
    """
    waiting = [one for one in found if one["ready"] < one["desired"]]
    if not waiting:
        return ""
    try:
        listed = [pod for pod in pods() if (pod.get("status") or {}).get("phase") != "Succeeded"]
    except Forbidden as error:
        return f"{', '.join(one['name'] for one in waiting)}: not all pods are ready, and why cannot be read: {error.text}"
    lacking = len(listed) < sum(one["desired"] for one in found)
    refused = "; ".join(filter(None, refusals())) if lacking else ""
    unready = [pod for pod in listed if not site_pods.is_ready(pod)]
    if unready:
        return "; ".join(filter(None, (refused, site_pods.summary(unready))))
    if refused or not lacking:
        return refused  # none: they became ready after their workload was read
    names = " ".join(f"{one['kind'].lower()}/{one['name']}" for one in waiting)
    return f"not all pods were created: kubectl -n {namespace} describe {names} says why, for example that a quota is used up"


def missing(items: Sequence[Mapping[str, Any]]) -> str:
    """What of a deployed hub does not exist, or was scaled to nothing; empty where that is not so.

    Args:
        items: the live workloads.
    """
    there = {item["metadata"]["name"]: item for item in items}
    found = [f"{name} is scaled to 0" for name, item in there.items() if item["spec"].get("replicas") == 0]
    if SUPERLINK not in there:
        found.append("there is no SuperLink: its StatefulSet was deleted")
    elif SERVERAPP not in there and PROCESS in (there[SUPERLINK]["spec"]["template"]["spec"]["containers"][0].get("args") or []):
        found.append("there is no ServerApp, so no run begins: its workload was deleted")
    return "; ".join(found)
