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
from fnmatch import fnmatchcase
from typing import Any

from ..apply.compare import quantity
from ..base.labels import MANAGER
from ..base.problems import Problem, warning
from ..kube.nodes import eligible
from ..spec.site_spec import SiteSpec

_ORDINARY = re.compile(r"cpu|memory|pods|ephemeral-storage|hugepages-.*")

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


def _extended(amounts: Mapping[str, Any] | None) -> Counter[str]:
    """The extended resources among some."""
    return Counter({name: int(quantity(str(amount)) or 0) for name, amount in (amounts or {}).items() if not _ORDINARY.fullmatch(name)})


def _has(node: Live) -> Counter[str]:
    return _extended(node.get("status", {}).get("allocatable"))


def advertise(spec: SiteSpec, nodes: Iterable[Live]) -> list[str]:
    """Names of the nodes that have a resource that a pool requests: only their pods are worth a look."""
    wanted = {pool.gpu.resource for pool in spec.pools if pool.gpu.count}
    return sorted(node["metadata"]["name"] for node in nodes if any(_has(node)[resource] for resource in wanted))


def check(spec: SiteSpec, nodes: Sequence[Live], pods: Iterable[Live] = ()) -> Iterator[Problem]:
    """Pools that would wait for GPUs, with what the nodes have and who uses it.

    Args:
        spec: the site.
        nodes: all nodes of its cluster.
        pods: pods on the nodes of C(advertise), of all namespaces; none if they may not be listed. Those of this site are not counted.
    """
    used = _used(spec, pods)
    free: dict[tuple[str, str], int] = {}  # (node, resource) -> what others, and pools before, have left
    for pool in spec.pools:
        count, resource = pool.gpu.count, pool.gpu.resource
        if not count:
            continue
        chosen = {node["metadata"]["name"]: _has(node)[resource] for node in eligible(nodes, pool.node_selector, pool.tolerations, pool.affinity)}
        if not any(amount >= count for amount in chosen.values()):
            offers = []
            for node in sorted(nodes, key=lambda item: str(item["metadata"]["name"])):
                allocatable = node.get("status", {}).get("allocatable", {})
                extended = [f"{key} {value}" for key, value in sorted(allocatable.items()) if not _ORDINARY.fullmatch(key)]
                offers.append(f"{node['metadata']['name']} has {', '.join(extended) or 'no extended resources'}")
            yield warning(
                f"pool {pool.name} requests {count} x {resource} per SuperNode, and no node that it may run on has that: "
                + ("; ".join(offers) or "the cluster has no nodes")
            )
            continue
        waiting = demand = len(chosen) if pool.is_daemon else pool.replicas
        for node, amount in chosen.items():
            left = free.get((node, resource), max(amount - used.get((node, resource), Counter()).total(), 0))
            placed = min(left // count, 1 if pool.is_daemon else waiting)
            free[node, resource] = left - placed * count
            waiting -= placed
        if waiting:
            rooms = []
            for node, amount in chosen.items():
                users = "".join(f", {number} used in namespace {name}" for name, number in sorted(used.get((node, resource), {}).items()))
                rooms += [f"{node} has {amount}{users}"] if amount else []
            yield warning(
                f"{waiting} of {demand} SuperNodes of pool {pool.name} would wait for GPUs: each requests {count} x {resource}. {'; '.join(rooms)}"
            )


def _used(spec: SiteSpec, pods: Iterable[Live]) -> dict[tuple[str, str], Counter[str]]:
    """(node, resource) -> namespace -> amount, of pods that are not this site's, and have not ended."""
    found: dict[tuple[str, str], Counter[str]] = {}
    own = {"app.kubernetes.io/managed-by": MANAGER, "app.kubernetes.io/instance": spec.federation}
    for pod in pods:
        meta, node = pod["metadata"], pod["spec"].get("nodeName")
        is_own = meta["namespace"] == spec.namespace and own.items() <= (meta.get("labels") or {}).items()
        if node and not is_own and pod.get("status", {}).get("phase") not in ("Succeeded", "Failed"):
            for resource, amount in _requests(pod["spec"]).items():
                found.setdefault((node, resource), Counter())[meta["namespace"]] += amount
    return found


def _requests(pod: Live) -> Counter[str]:
    """Extended resources that a pod requests: of all containers and sidecars together, or of one init container, whichever is more."""
    together, most = Counter[str](), Counter[str]()
    listed = [(one, one.get("restartPolicy") == "Always") for one in pod.get("initContainers") or []]
    for one, stays in (*listed, *((one, True) for one in pod.get("containers") or [])):
        resources = one.get("resources") or {}
        amounts = _extended({**(resources.get("limits") or {}), **(resources.get("requests") or {})})
        if stays:
            together += amounts
        else:
            most |= together + amounts
    return together | most


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
    products: set[str] = set()
    gpus = Counter[str]()
    for node in nodes:
        for name, value in (node["metadata"].get("labels") or {}).items():
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                labels.setdefault(name, set()).add(str(value))
            if name in _PRODUCTS and value:
                products.add(str(value))
        gpus += Counter({name: amount for name, amount in _has(node).items() if name.startswith(_VENDORS)})
    return {
        "gpus": dict(sorted(gpus.items())),
        "products": sorted(products),
        "labels": {name: sorted(values) for name, values in sorted(labels.items())},
        "groups": sorted({f"gpu_{re.sub('[^a-z0-9]+', '_', one.lower()).strip('_')}" for one in (*products, *gpus)}),
    }
