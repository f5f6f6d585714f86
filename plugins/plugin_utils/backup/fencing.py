# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Stop a hub that does not serve any more, unless runs are active, so that no site can connect to it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..apply import field_conflicts
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.object_names import SUPERLINK
from ..kube import pod_health
from ..kube.client import Cluster
from ..marks import owners, proof
from ..rotation import conditions

_KINDS = ("StatefulSet", "Deployment")
_PAUSE = 0.5  # seconds between two looks

Object = dict[str, Any]


@dataclass(frozen=True)
class Verdict:
    """What the runs of a hub mean for a failover.

    Attributes:
        fault: why it is refused: a sentence; empty if it is not.
        words: what it does to runs, for the plan; empty for nothing.
    """

    fault: str = ""
    words: str = ""


def verdict(hub: str, found: Sequence[Mapping[str, Any]] | str, *, abandon: bool) -> Verdict:
    """Judge the runs of a hub whose SuperLink runs.

    Args:
        hub: its inventory name.
        found: its runs, as C(flwr list) has them; or why they cannot be listed.
        abandon: whether active runs may fail.
    """
    if isinstance(found, str):
        if abandon:
            return Verdict(words=f"abandon the active runs of {hub}, which are not known ({found})")
        return Verdict(
            f"whether {hub} has active runs, which would fail, is not known ({found}): correct this, add -e flower_failover_abandon_runs=true, or, "
            "if nothing works there any more, -e flower_failover_hub_lost=true"
        )
    active = [str(run["run-id"]) for run in conditions.active(found)]
    if not active:
        return Verdict()
    if abandon:
        return Verdict(words=f"abandon {len(active)} active runs ({', '.join(active)}), which fail")
    return Verdict(
        f"{hub} serves, and has active runs ({', '.join(active)}), which would fail: wait for their end, or add "
        "-e flower_failover_abandon_runs=true"
    )


def workloads(hub: Cluster, namespace: str, federation: str) -> list[Object]:
    """The hub's workloads: SuperLink, ServerApp and exporter; the SuperLink first, so that nothing is written to a database that is copied."""
    labels = f"{proof.MANAGED_BY}={MANAGER},{proof.INSTANCE}={federation}"
    found = [item for kind in _KINDS for item in hub.list("apps/v1", kind, namespace, labels=labels)]
    ours = [item for item in found if owners.part_of(item) == owners.PART_HUB and proof.may_delete(item, federation)]
    return sorted(ours, key=lambda item: item["metadata"]["name"] != SUPERLINK)


def serves(hub: Cluster, namespace: str) -> bool:
    """Whether there is a SuperLink that is not stopped."""
    item = hub.get("apps/v1", "StatefulSet", SUPERLINK, namespace)
    return item is not None and item["spec"].get("replicas", 1) > 0


def is_stopped(hub: Cluster, namespace: str, federation: str) -> bool:
    """Whether none of its workloads is to have a pod."""
    return not any(item["spec"].get("replicas", 1) for item in workloads(hub, namespace, federation))


def restarters(hub: Cluster, namespace: str, federation: str) -> list[str]:
    """Why a hub would not stay stopped: a sentence for each workload that a GitOps controller applies as well."""
    return [words for item in workloads(hub, namespace, federation) if (words := restarter(hub, namespace, item))]


def restarter(hub: Cluster, namespace: str, item: Object) -> str:
    """Why a workload would not stay stopped, a sentence; empty if it would."""
    names, name = field_conflicts.reconcilers(item), item["metadata"]["name"]
    if not names:
        return ""
    return (
        f"{hub.name}: {' and '.join(names)} applies {item['kind']} {namespace}/{name} as well, and would start it again after it was "
        f"stopped. Suspend it for this hub, and then run: kubectl annotate {item['kind'].lower()} {name} -n {namespace} "
        f"{field_conflicts.TAKE_FROM}={','.join(names)}"
    )


def stop(hub: Cluster, namespace: str, federation: str) -> list[dict[str, str]]:
    """Scale the workloads of a hub to no pods; what was changed, for the result."""
    done = []
    for item in workloads(hub, namespace, federation):
        if item["spec"].get("replicas", 1) == 0:
            continue
        name = item["metadata"]["name"]
        hub.patch("apps/v1", item["kind"], name, namespace, {"spec": {"replicas": 0}})
        done.append({"kind": item["kind"], "namespace": namespace, "name": name, "change": "changed"})
    return done


def await_stopped(hub: Cluster, namespace: str, federation: str, seconds: float, say: Callable[[str], None]) -> None:
    """Wait until the pods are gone. A pod on a node that does not answer may still run, so it counts.

    Raises:
        ClusterError: some are there after C(seconds).
    """
    begun = time.monotonic()
    spoken = begun
    while left := _pods(hub, namespace, federation):
        now = time.monotonic()
        names = ", ".join(pod["metadata"]["name"] for pod in left)
        if now >= begun + seconds:
            raise ClusterError(
                f"{hub.name}: {names} in namespace {namespace} should stop, and did not within {seconds:g} s; last seen: "
                f"{pod_health.describe(left[0])}. Does the node answer? If the hub is lost for good: -e flower_failover_hub_lost=true"
            )
        if now >= spoken + 10:
            spoken = now
            say(f"{hub.name}: waiting for the end of {names}")
        time.sleep(_PAUSE)


def _pods(hub: Cluster, namespace: str, federation: str) -> list[Object]:
    found = hub.list("v1", "Pod", namespace, labels=f"{proof.INSTANCE}={federation}")
    names = {item["metadata"]["name"] for item in workloads(hub, namespace, federation)}
    return [pod for pod in found if proof.labels_of(pod).get("app.kubernetes.io/name") in names]
