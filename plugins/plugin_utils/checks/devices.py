# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""GPUs: those that pools request, compared with those that nodes advertise and that other pods use; and GPUs and labels of nodes as facts. Pure.

Kubelets and the administrators of nodes write labels: they are data of the site, and are never evaluated.

Source of the rules: Kubernetes documentation, «Schedule GPUs» and «Extended Resources» (whole numbers, never shared, all of a
pod's on one node), «Sidecar Containers» (what a pod with init containers requests). Source of the labels: NVIDIA's GPU feature discovery
(nvidia.com/gpu.product), AMD's node labeller (amd.com/gpu.product-name, amd.com/gpu.device-id), Intel's GPU plugin (gpu.intel.com/product,
gpu.intel.com/family) and Node Feature Discovery (feature.node.kubernetes.io/pci-CLASS_VENDOR.present).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from ..apply.compare import quantity
from ..base.labels import MANAGER
from ..base.problems import Problem, warning
from ..kube.nodes import eligible
from ..spec.site_spec import PoolSpec, SiteSpec

_ORDINARY = {"cpu", "memory", "pods", "ephemeral-storage"}
_ENDED = ("Succeeded", "Failed")

Live = Mapping[str, Any]

#: Labels that are read; C(*) matches any text.
LABELS = (
    "nvidia.com/*",
    "amd.com/gpu.*",
    "beta.amd.com/gpu.*",
    "gpu.intel.com/*",
    "feature.node.kubernetes.io/pci-*",
)
_PRODUCTS = (
    "nvidia.com/gpu.product",
    "amd.com/gpu.product-name",
    "amd.com/gpu.device-id",
    "gpu.intel.com/product",
    "gpu.intel.com/family",
)
_VENDORS = ("nvidia.com/", "amd.com/", "gpu.intel.com/")
_NO_NAME = re.compile(r"[^a-z0-9]+")


def advertise(spec: SiteSpec, nodes: Iterable[Live]) -> list[str]:
    """Names of the nodes that have a resource that a pool requests: only their pods are worth a look."""
    wanted = {pool.gpu.resource for pool in spec.pools if pool.gpu.count}
    return sorted(node["metadata"]["name"] for node in nodes if any(_has(node, resource) for resource in wanted))


def check(spec: SiteSpec, nodes: Sequence[Live], pods: Iterable[Live] = ()) -> Iterator[Problem]:
    """Pools that would wait for GPUs, with what the nodes have and who uses it.

    Args:
        spec: the site.
        nodes: all nodes of its cluster.
        pods: pods on the nodes of C(advertise), of all namespaces; none if they may not be listed. Those of this site are not counted.
    """
    used = _used(spec, pods)
    free: dict[tuple[str, str], int] = {}  # (node, resource) -> what pools before have left
    for pool in spec.pools:
        count, resource = pool.gpu.count, pool.gpu.resource
        if not count:
            continue
        chosen = eligible(nodes, pool.node_selector, pool.tolerations, pool.affinity)
        if not any(_has(node, resource) >= count for node in chosen):
            yield warning(
                f"pool {pool.name} requests {count} x {resource} per SuperNode, and no node that it may run on has that: "
                + _offer(nodes)
            )
            continue
        rooms = []
        for node in chosen:
            at = (node["metadata"]["name"], resource)
            rooms.append(_Room(at[0], _has(node, resource), used.get(at, Counter()), free.get(at)))
        waiting = _place(pool, rooms)
        free.update({(room.node, resource): room.left for room in rooms})
        if waiting:
            yield warning(
                f"{waiting} of {_demand(pool, rooms)} SuperNodes of pool {pool.name} would wait for GPUs: each requests {count} x {resource}. "
                + "; ".join(str(room) for room in rooms if room.has)
            )


@dataclass
class _Room:
    """One resource of one node: what it has, what others use of it by namespace, and what is left for pools."""

    node: str
    has: int
    used: Counter[str]
    free: int | None = None  # None: no pool before this one
    left: int = field(init=False)

    def __post_init__(self) -> None:
        self.left = max(self.has - self.used.total(), 0) if self.free is None else self.free

    def __str__(self) -> str:
        users = "".join(f", {amount} used in namespace {name}" for name, amount in sorted(self.used.items()))
        return f"{self.node} has {self.has}{users}"


def _place(pool: PoolSpec, rooms: Sequence[_Room]) -> int:
    """Take what a pool needs; how many of its SuperNodes find none."""
    count, placed, demand = pool.gpu.count, 0, _demand(pool, rooms)
    for room in rooms:
        number = min(room.left // count, 1 if pool.is_daemon else demand - placed)
        room.left -= number * count
        placed += number
    return demand - placed


def _demand(pool: PoolSpec, rooms: Sequence[_Room]) -> int:
    return len(rooms) if pool.is_daemon else pool.replicas


def _used(spec: SiteSpec, pods: Iterable[Live]) -> dict[tuple[str, str], Counter[str]]:
    """(node, resource) -> namespace -> amount, of pods that are not this site's."""
    found: dict[tuple[str, str], Counter[str]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName")
        if node and pod.get("status", {}).get("phase") not in _ENDED and not _is_own(spec, pod):
            for resource, amount in _requests(pod["spec"]).items():
                found.setdefault((node, resource), Counter())[pod["metadata"]["namespace"]] += amount
    return found


def _is_own(spec: SiteSpec, pod: Live) -> bool:
    labels = pod["metadata"].get("labels") or {}
    wanted = {"app.kubernetes.io/managed-by": MANAGER, "app.kubernetes.io/instance": spec.federation}
    return pod["metadata"]["namespace"] == spec.namespace and wanted.items() <= labels.items()


def _requests(pod: Live) -> Counter[str]:
    """Extended resources that a pod requests: of all containers and sidecars together, or of one init container, whichever is more."""
    together, most = Counter[str](), Counter[str]()
    for one in pod.get("initContainers") or []:
        amounts = _extended(one)
        if one.get("restartPolicy") == "Always":
            together += amounts
        else:
            most |= together + amounts
    for one in pod.get("containers") or []:
        together += _extended(one)
    return together | most


def _extended(container: Live) -> Counter[str]:
    resources = container.get("resources") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return Counter({key: _whole(value) for key, value in amounts.items() if not _is_ordinary(key)})


def _has(node: Live, resource: str) -> int:
    return _whole(node.get("status", {}).get("allocatable", {}).get(resource, 0))


def _whole(amount: Any) -> int:
    return int(quantity(str(amount)) or 0)


def _offer(nodes: Sequence[Live]) -> str:
    offers = []
    for node in sorted(nodes, key=lambda item: item["metadata"]["name"]):
        allocatable = node.get("status", {}).get("allocatable", {})
        extended = [f"{key} {value}" for key, value in sorted(allocatable.items()) if not _is_ordinary(key)]
        offers.append(f"{node['metadata']['name']} has {', '.join(extended) or 'no extended resources'}")
    return "; ".join(offers) or "the cluster has no nodes"


def _is_ordinary(resource: str) -> bool:
    return resource in _ORDINARY or resource.startswith("hugepages-")


def facts(nodes: Sequence[Live], patterns: Sequence[str] = LABELS) -> dict[str, Any]:
    """What a site has.

    Args:
        nodes: all nodes of its cluster.
        patterns: of the labels to read.

    Returns:
        C(gpus), allocatable devices of all nodes by resource; C(products), names of GPUs; C(labels), values by label; C(groups), names of
        groups of an inventory for products and resources.
    """
    labels: dict[str, set[str]] = {}
    gpus: dict[str, int] = {}
    for node in nodes:
        for name, value in (node["metadata"].get("labels") or {}).items():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                labels.setdefault(name, set()).add(str(value))
        for resource, amount in ((node.get("status") or {}).get("allocatable") or {}).items():
            if resource.startswith(_VENDORS) and (count := int(quantity(str(amount)) or 0)):
                gpus[resource] = gpus.get(resource, 0) + count
    products = sorted({value for name in _PRODUCTS for value in _values(nodes, name)})
    return {
        "gpus": dict(sorted(gpus.items())),
        "products": products,
        "labels": {name: sorted(values) for name, values in sorted(labels.items())},
        "groups": sorted({f"gpu_{group_name(one)}" for one in (*products, *gpus)}),
    }


def _values(nodes: Iterable[Live], label: str) -> set[str]:
    return {str(value) for node in nodes if (value := (node["metadata"].get("labels") or {}).get(label))}


def group_name(text: str) -> str:
    """A text as a part of the name of a group."""
    return _NO_NAME.sub("_", text.lower()).strip("_")
