# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a cluster would admit pods: what they only name (priority classes, runtime classes, pull Secrets), and what a namespace demands of them.

The API server accepts a workload without looking at any of this, and refuses its pods: a dry run of the workload does not tell. A rolling update has
deleted the first pod by then. What may not be read or tried is left to the deployment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..base.problems import Problem, warning
from ..base.values import Object
from ..kube.api_errors import ApiError, Forbidden
from ..kube.client import Cluster
from ..spec.part_spec import FlowerSpec
from .rehearsal import WORKLOADS

# Field of a pod -> API, kind, resource, and the option that sets it.
_CLASSES = {
    "priorityClassName": ("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", "priority_class"),
    "runtimeClassName": ("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", "gpu.runtime_class"),
}
# Part of an option's variable, where pods of the role have one of their own.
_PARTS = {"superlink": ("", "serverapp_"), "supernode": ("",)}
_OF_A_POOL = "gpu.runtime_class"  # SuperLink itself has no devices
# What the admission of quotas and of LimitRanges says of a pod in each namespace in which it is refused (kubernetes, plugin/pkg/admission). Others,
# such as webhooks, may refuse a pod that no workload owns.
_UNLIMITED = re.compile("failed quota: .*must specify|(usage|ratio) per (Container|Pod) ")
_FULL = "exceeded quota: "


def check(cluster: Cluster, spec: FlowerSpec, objects: Sequence[Mapping[str, Any]], absent: Collection[str], role: str) -> Iterator[Problem]:
    """Check what is about to change.

    Args:
        cluster: a connection.
        spec: of the role.
        objects: as rendered.
        absent: namespaces that do not exist yet.
        role: whose variables the objects come from.
    """
    yield from classes(cluster, objects, role)
    names = list(dict.fromkeys(spec.image_pull_secrets))
    remedy = "; create the namespace and its Secrets first (federated.flower.rbac can create it) if images need them"
    if spec.namespace not in absent:
        names, remedy = [name for name in names if _is_absent(cluster, "v1", "Secret", "secrets", name, spec.namespace)], ""
    if names:  # nodes pull without them, and an operator may put them into new namespaces
        yield warning(
            f"namespace {spec.namespace} does not have {', '.join(names)} ({role}_image_pull_secrets): nodes pull images without "
            f"{'them' if len(names) > 1 else 'it'}{remedy}"
        )
    yield from _limits(cluster, objects, absent, role)


def classes(cluster: Cluster, objects: Iterable[Mapping[str, Any]], role: str) -> Iterator[Problem]:
    """Whether the classes that pods name exist; nothing is read where there are none."""
    named: dict[tuple[str, str], list[str]] = {}
    for item in objects:
        pod: Object = item["spec"]["template"]["spec"] if item["kind"] in WORKLOADS else {}
        for field in _CLASSES:
            if pod.get(field):
                named.setdefault((field, pod[field]), []).append(f"{item['kind']} {item['metadata']['name']}")
    for (field, name), workloads in sorted(named.items()):
        api_version, kind, resource, option = _CLASSES[field]
        if _is_absent(cluster, api_version, kind, resource, name):
            own = [f"{role}_{part}{option}" for part in _PARTS[role] if role == "supernode" or f"{part}{option}" != _OF_A_POOL]
            variables = " or ".join([*([f"{option} of the pools (supernode_pools)"] if role == "supernode" else []), *own])
            yield Problem(
                f"there is no {kind} {name} in the cluster, which would refuse the pods of {', '.join(workloads)}: correct {variables}, or have "
                "the cluster's administrators create it."
            )


def _limits(cluster: Cluster, objects: Iterable[Mapping[str, Any]], absent: Collection[str], role: str) -> Iterator[Problem]:
    """Try a pod of each workload by a dry run: a quota may demand limits, and a LimitRange others. What uses up a quota may end."""
    may: dict[str, bool] = {}
    for item in objects:
        meta = item["metadata"]
        if item["kind"] not in WORKLOADS or meta["namespace"] in absent:
            continue
        place = meta["namespace"]
        if place not in may:
            may[place] = cluster.access_review([{"verb": "create", "resource": "pods", "namespace": place}])[0]
        text = _refusal(cluster, item) if may[place] else ""
        words = f"namespace {place} refuses the pods of {item['kind']} {meta['name']}: {text}"
        if _UNLIMITED.search(text):
            yield Problem(
                f"{words}. Set what is demanded in {role}_resources and the other variables of the role that end in _resources, or have the namespace's "
                "administrators create a LimitRange with default values."
            )
        elif _FULL in text and cluster.get(item["apiVersion"], item["kind"], meta["name"], place) is None:
            yield warning(f"{words}. They are not created until the quota has free capacity")


def _refusal(cluster: Cluster, workload: Mapping[str, Any]) -> str:
    """Why a pod of a workload is refused; empty where it is not. The namespace's own account, since that of the pods may not be there yet."""
    template, place = workload["spec"]["template"], workload["metadata"]["namespace"]
    meta = {**template["metadata"], "generateName": f"{workload['metadata']['name']}-", "namespace": place}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**template["spec"], "serviceAccountName": "default"}}
    try:
        cluster.create(pod, dry_run=True)
    except Forbidden as error:
        return error.text
    except ApiError:
        return ""  # a webhook without dry run, or one that does not answer
    return ""


def _is_absent(cluster: Cluster, api_version: str, kind: str, resource: str, name: str, namespace: str | None = None) -> bool:
    group = api_version.rpartition("/")[0]
    if not all(cluster.access_review([{"verb": "get", "group": group, "resource": resource, "name": name, "namespace": namespace}])):
        return False
    return cluster.get(api_version, kind, name, namespace) is None
