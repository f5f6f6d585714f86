# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ManifestWork with a site's own objects, and whether its SuperNodes are ready according to its feedback. Pure.

C(Available) of the add-on and C(Applied) of the work mean that objects exist, not that pods are ready: OCM checks
Deployments and DaemonSets only. So the numbers of each StatefulSet are reported and checked by the rules of direct delivery.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from ..apply.readiness import State, stateful_set
from ..base.values import Object
from ..kube.workload_facts import facts, number
from ..spec.site_spec import STATEFUL_SET, SiteSpec
from . import addon_objects
from . import statuses as works
from .addon_objects import RESTART_NOTE

PART = "nodes"

# Name of a value -> its JSONPath. A dot in a key is escaped, as kubectl does it.
_MOST_PODS = 1000  # of one site
_NUMBERS = {
    "content": ".metadata.annotations.federated\\.flower/content",
    "generation": ".metadata.generation",
    **{
        name: f".status.{name}"
        for name in ("observedGeneration", "replicas", "readyReplicas", "updatedReplicas", "currentRevision", "updateRevision")
    },
}
_COUNTS = ("generation", "observedGeneration", "replicas", "readyReplicas", "updatedReplicas")
_GENERATIONS = 2**63 - 1  # an int64 of Kubernetes
_POD = {
    "phase": ".status.phase",
    "waiting": ".status.containerStatuses[?(@.state.waiting)].state.waiting.reason",
    "waitingFirst": ".status.initContainerStatuses[?(@.state.waiting)].state.waiting.reason",
    "unscheduled": '.status.conditions[?(@.reason=="Unschedulable")].message',
}
# A container's state on its way to being ready.
_USUAL = ("ContainerCreating", "PodInitializing")


def build(spec: SiteSpec, own: Iterable[Object], owner: Mapping[str, Any] | None, restart: str = "") -> Object:
    """The ManifestWork.

    Args:
        own: its own objects (C(delivery.split)).
        owner: the live ManagedClusterAddOn; None when it does not exist yet.
        restart: mark on the pods; another one than before restarts them, pod by pod. Empty for none.
    """
    listed, watched, asked = watch(_marked(item, restart) for item in own)
    return addon_objects.manifest_work(spec, PART, listed, owner=owner, read_only=watched, feedback=asked)


def watch(objects: Iterable[Object]) -> tuple[list[Object], list[Object], dict[tuple[str, str], Mapping[str, str]]]:
    """What a ManifestWork needs so that the StatefulSets among its objects can be judged.

    Returns:
        The objects, with the digest of its content on each StatefulSet; pods to read; the feedback of both.
    """
    listed = [addon_objects.with_content(item) if item["kind"] == STATEFUL_SET else item for item in objects]
    sets = [item for item in listed if item["kind"] == STATEFUL_SET]
    watched: list[Object] = [
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": item["metadata"]["namespace"]}}
        for item in sets
        for name in _pod_names(item)[: addon_objects.WATCHED_PODS]
    ]
    asked: dict[tuple[str, str], Mapping[str, str]] = {(STATEFUL_SET, item["metadata"]["name"]): _NUMBERS for item in sets}
    return listed, watched, asked | {("Pod", pod["metadata"]["name"]): _POD for pod in watched}


def _marked(item: Object, restart: str) -> Object:
    if not restart or item["kind"] != STATEFUL_SET:
        return item
    marked = copy.deepcopy(item)
    marked["spec"]["template"]["metadata"].setdefault("annotations", {})[RESTART_NOTE] = restart
    return marked


def mark_of(work: Mapping[str, Any] | None) -> str:
    """The mark on the pods of a ManifestWork; empty for none."""
    marks = ((item["spec"]["template"]["metadata"].get("annotations") or {}).get(RESTART_NOTE) for item in sets_of(work))
    return str(next(filter(None, marks), ""))


def identity(work: Mapping[str, Any]) -> Object:
    """A live ManifestWork as it is applied, without its C(spec)."""
    kept = ("name", "namespace", "labels", "annotations", "ownerReferences")
    meta = {key: work["metadata"][key] for key in kept if work["metadata"].get(key)}
    return copy.deepcopy({"apiVersion": work["apiVersion"], "kind": work["kind"], "metadata": meta})


def remarked(work: Mapping[str, Any], mark: str) -> Object:
    """A live ManifestWork with another mark on its pods, and everything else as from C(build): to be applied."""
    item: Object = {**identity(work), "spec": copy.deepcopy(work["spec"])}
    item["spec"]["workload"]["manifests"] = [
        addon_objects.with_content(_marked(one, mark)) if one["kind"] == STATEFUL_SET else one
        for one in item["spec"]["workload"]["manifests"]
    ]
    return item


def _pod_names(item: Object) -> list[str]:
    # The agent of a cluster may write any number into its own ManifestWorks.
    return [f"{item['metadata']['name']}-{item['spec']['ordinals']['start'] + number}" for number in range(min(item["spec"]["replicas"], _MOST_PODS))]


def pod_names(work: Mapping[str, Any] | None) -> list[str]:
    """Names of all SuperNode pods of a site."""
    return [name for item in sets_of(work) for name in _pod_names(item)]


def sets_of(work: Mapping[str, Any] | None) -> list[Object]:
    """The StatefulSets in a ManifestWork."""
    return [item for item in works.listed_manifests(work) if item.get("kind") == STATEFUL_SET]


def live_sets(work: Mapping[str, Any] | None) -> list[Object]:
    """The StatefulSets with the reported status; none when it is that of older content.

    Raises:
        ValueError: the agent reports a count that is not a number.
    """
    reported = works.feedback(work)
    found = []
    for item in sets_of(work):
        values = reported.get((STATEFUL_SET, item["metadata"]["name"]), {})
        current = values.get("content") == addon_objects.content_of(item)
        meta = {**item["metadata"], "generation": number(values.get("generation"), _GENERATIONS)}
        known = [name for name in _NUMBERS if name in values] if current else []
        status = {name: number(values[name], _GENERATIONS) if name in _COUNTS else values[name] for name in known}
        found.append({**item, "metadata": meta, "status": status})
    return found


def state(work: Mapping[str, Any] | None) -> State:
    """Are all SuperNode pods of a site ready, in the present form?"""
    there = works.applied(work)
    if not there.ready:
        return State(False, f"ManifestWork: {there.why}")
    states = {
        item["metadata"]["name"]: stateful_set(item) if item["status"] else State(False, "its status has not been reported yet") for item in live_sets(work)
    }
    waiting = [f"StatefulSet {name}: {one.why}" for name, one in states.items() if not one.ready]
    return State(not waiting, "; ".join(waiting))


def trouble(work: Mapping[str, Any] | None) -> str:
    """Why pods wait, as far as the site reports; empty when none does."""
    found = []
    for (kind, name), values in sorted(works.feedback(work).items()):
        reasons = [str(values[key]) for key in ("waitingFirst", "waiting", "unscheduled") if values.get(key)]
        reasons = [reason for reason in reasons if reason not in _USUAL] + ["Failed"] * (values.get("phase") == "Failed")
        if kind == "Pod" and reasons:
            found.append(f"pod {name}: {', '.join(dict.fromkeys(reasons))}")
    return "; ".join(found)


def rows(work: Mapping[str, Any] | None) -> list[dict[str, Any]]:
    """The pools in the format of M(federated.flower.supernode_info) for other sites."""
    return [facts(item, item["spec"]["replicas"], item["status"].get("readyReplicas", 0)) for item in live_sets(work)]
