# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A pod that its StatefulSet does not replace although its template was changed. Pure.

A StatefulSet that starts its pods in order waits until a pod is ready before it replaces it, even if the pod can never be ready with the
former template: its image is missing, or its container crashes (Kubernetes documentation, «StatefulSets», «Forced rollback»). Once
someone has deleted the pod, it is created from the new template, with the same volumes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..marks import proof
from .pod_health import is_ready

Object = Mapping[str, Any]

#: Why such a pod is created again.
WORDS = "it was not ready, and a StatefulSet does not replace such a pod when its template is changed"
_REVISION = "controller-revision-hash"


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
