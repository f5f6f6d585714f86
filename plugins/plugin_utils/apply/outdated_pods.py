# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find pods that their StatefulSet would never replace after a change of its template, see C(kube/outdated.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.labels import query
from ..kube import outdated
from ..kube.client import Cluster
from ..marks import proof
from .wait import Clock

# How long a controller may take to see a new template, and a container that starts to end or to be ready.
_SECONDS = 10.0


def may_have(live: Mapping[str, Any]) -> bool:
    """Whether an object of this collection is a StatefulSet that starts its pods in order, and not all of them are ready and up to date."""
    if live["kind"] != "StatefulSet" or not proof.is_managed(live):
        return False
    spec, status = live.get("spec") or {}, live.get("status") or {}
    wanted = spec.get("replicas", 1)
    is_seen = status.get("observedGeneration", 0) >= live["metadata"].get("generation", 0)
    done = is_seen and wanted == status.get("readyReplicas", 0) == status.get("updatedReplicas", 0)
    return bool(wanted) and spec.get("podManagementPolicy") != "Parallel" and not done


def find(cluster: Cluster, live: Mapping[str, Any], *, seconds: float = _SECONDS, changes: bool = False) -> list[dict[str, Any]]:
    """The pods of a StatefulSet that wait to be deleted.

    Args:
        cluster: a connection.
        live: the StatefulSet, for which C(may_have) is true.
        seconds: how long to look, while it is not known of a pod that is not ready whether it waits. 0 for one look.
        changes: see C(outdated.is_outdated).

    Raises:
        ApiError: a request was refused.
    """
    meta = live["metadata"]
    federation = proof.federation_of(live)
    container = live["spec"]["template"]["spec"]["containers"][0]["name"]
    labels = query(live["spec"]["selector"]["matchLabels"])
    clock = Clock(seconds)
    while True:
        owner = cluster.get(live["apiVersion"], live["kind"], meta["name"], meta["namespace"])
        if owner is None:
            return []
        pods = cluster.list("v1", "Pod", meta["namespace"], labels=labels)
        found = [pod for pod in pods if outdated.is_outdated(pod, owner, federation, container, changes=changes)]
        undecided = any(outdated.is_undecided(pod, owner, federation, container) for pod in pods)
        if found or not undecided or not clock.tick():
            return found
