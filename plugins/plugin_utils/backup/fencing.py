# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop a hub that does not serve any more, unless runs are active, so that no site can connect to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..apply import field_conflicts
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.object_names import SUPERLINK
from ..kube import pod_health
from ..marks import owners, proof
from ..rotation import conditions
from .copying import End

_KINDS = ("StatefulSet", "Deployment")
_PAUSE = 0.5  # seconds between two looks

Object = dict[str, Any]


def runs_error(hub: str, found: Sequence[Mapping[str, Any]] | str, *, abandon: bool) -> tuple[str, str]:
    """Why a hub whose SuperLink runs is not stopped, for its runs: a sentence, empty if it may be; and what that does to runs, for the plan.

    Args:
        hub: its inventory name.
        found: its runs, as C(flwr list) has them; or why they cannot be listed.
        abandon: whether active runs may fail.
    """
    if isinstance(found, str):
        if abandon:
            return "", f"abandon the active runs of {hub}, which are not known ({found})"
        return (
            f"whether {hub} has active runs, which would fail, is not known ({found}): correct this, add -e flower_failover_abandon_runs=true, or, "
            "if nothing works there any more, -e flower_failover_hub_lost=true"
        ), ""
    active = [str(run["run-id"]) for run in conditions.active(found)]
    if not active:
        return "", ""
    if abandon:
        return "", f"abandon {len(active)} active runs ({', '.join(active)}), which fail"
    return f"{hub} serves, and has active runs ({', '.join(active)}), which would fail: wait for their end, or add -e flower_failover_abandon_runs=true", ""


def workloads(end: End) -> list[Object]:
    """The hub's workloads: SuperLink, ServerApp and exporter; the SuperLink first, so that nothing is written to a database that is copied."""
    federation = end.spec.federation
    labels = f"{proof.MANAGED_BY}={MANAGER},{proof.INSTANCE}={federation}"
    found = [item for kind in _KINDS for item in end.cluster.list("apps/v1", kind, end.spec.namespace, labels=labels)]
    ours = [item for item in found if owners.part_of(item) == owners.PART_HUB and proof.may_delete(item, federation)]
    return sorted(ours, key=lambda item: item["metadata"]["name"] != SUPERLINK)


def is_stopped(end: End) -> bool:
    """Whether none of its workloads is to have a pod."""
    return not any(item["spec"].get("replicas", 1) for item in workloads(end))


def restarters(end: End) -> list[str]:
    """Why a hub would not stay stopped: a sentence for each workload that a GitOps controller applies as well."""
    namespace = end.spec.namespace
    return [
        f"{end.cluster.name}: {' and '.join(names)} applies {item['kind']} {namespace}/{item['metadata']['name']} as well, and would start it again "
        f"after it was stopped. Suspend it for this hub, and then run: kubectl annotate {item['kind'].lower()} {item['metadata']['name']} -n {namespace} "
        f"{field_conflicts.TAKE_FROM}={','.join(names)}"
        for item in workloads(end)
        if (names := field_conflicts.reconcilers(item))
    ]


def stop(end: End) -> list[str]:
    """Scale the workloads of a hub to no pods; those that had some."""
    running = [item for item in workloads(end) if item["spec"].get("replicas", 1)]
    for item in running:
        end.cluster.patch("apps/v1", item["kind"], item["metadata"]["name"], end.spec.namespace, {"spec": {"replicas": 0}})
    return [f"{item['kind']} {item['metadata']['name']}" for item in running]


def await_stopped(end: End, seconds: float, say: Callable[[str], None]) -> None:
    """Wait until the pods are gone. A pod on a node that does not answer may still run, so it counts.

    Raises:
        ClusterError: some are there after C(seconds).
    """
    name, namespace = end.cluster.name, end.spec.namespace
    begun = shown = time.monotonic()
    while True:
        applications = {item["metadata"]["name"] for item in workloads(end)}
        pods = end.cluster.list("v1", "Pod", namespace, labels=f"{proof.INSTANCE}={end.spec.federation}")
        left = [pod for pod in pods if proof.labels_of(pod).get("app.kubernetes.io/name") in applications]
        if not left:
            return
        now = time.monotonic()
        names = ", ".join(pod["metadata"]["name"] for pod in left)
        if now >= begun + seconds:
            raise ClusterError(
                f"{name}: {names} in namespace {namespace} should stop, and did not within {seconds:g} s; last seen: "
                f"{pod_health.describe(left[0])}. Does the node answer? If the hub is lost for good: -e flower_failover_hub_lost=true"
            )
        if now >= shown + 10:
            shown = now
            say(f"{name}: waiting for the end of {names}")
        time.sleep(_PAUSE)
