# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pod that can never start, because it has a node but its claim has none.

The scheduler chooses a node for a claim before it binds the pod (storage classes that wait for the first consumer). After a
claim was deleted and created again under its name, the scheduler may still see the old one, which is bound, and assign the pod at
once. No node is chosen for the new claim then, and the pod waits without end (measured with Kubernetes 1.34; source of the rule:
Kubernetes documentation, «Storage Classes», «Volume binding mode»). A new pod is scheduled with the new claim.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .api_errors import Forbidden, NotFound
from .client import Cluster

_CHOSEN = "volume.kubernetes.io/selected-node"


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


def replace(cluster: Cluster, pod: Mapping[str, Any]) -> None:
    """Delete this very pod; its controller creates it again."""
    meta = pod["metadata"]
    try:
        cluster.delete("v1", "Pod", meta["name"], meta["namespace"], uid=meta["uid"], propagation="Background")
    except NotFound:
        return
