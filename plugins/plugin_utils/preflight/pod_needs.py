# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a cluster has what pods only name: priority classes, runtime classes and pull Secrets.

The API server accepts a workload without looking at them, and refuses its pods: a dry run does not tell. A rolling update has deleted the first
pod by then. What may not be read is left to the deployment.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.values import Object
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster
from ..spec.site_spec import SiteSpec
from .rehearsal import WORKLOADS

# Field of a pod -> API, kind, and the option of a pool that sets it.
_CLASSES = {
    "priorityClassName": ("scheduling.k8s.io/v1", "PriorityClass", "priority_class"),
    "runtimeClassName": ("node.k8s.io/v1", "RuntimeClass", "gpu.runtime_class"),
}


def require_classes(cluster: Cluster, objects: Iterable[Mapping[str, Any]]) -> None:
    """Look for the classes that the pods of a site's rendered objects name; nothing is read where there are none.

    Raises:
        ClusterError: one does not exist.
    """
    named: dict[tuple[str, str], list[str]] = {}
    for item in objects:
        pod: Object = item["spec"]["template"]["spec"] if item["kind"] in WORKLOADS else {}
        for field in _CLASSES:
            if pod.get(field):
                named.setdefault((field, pod[field]), []).append(f"{item['kind']} {item['metadata']['name']}")
    found = []
    for (field, name), workloads in sorted(named.items()):
        api_version, kind, option = _CLASSES[field]
        if _is_absent(cluster, api_version, kind, name):
            found.append(
                f"there is no {kind} {name} in the cluster, which would refuse the pods of {', '.join(workloads)}: correct {option} of the pools "
                f"(supernode_pools, supernode_{option.partition('.')[0]} for all), or have the cluster's administrators create it."
            )
    if found:
        raise ClusterError("\n".join(found))


def pull_secrets(cluster: Cluster, spec: SiteSpec, absent: Collection[str]) -> list[str]:
    """Warnings about pull Secrets that do not exist: nodes pull without them, and an operator may put them into new namespaces.

    Args:
        absent: namespaces that do not exist yet.
    """
    names = list(dict.fromkeys(spec.image_pull_secrets))
    if spec.namespace in absent:
        lacking, way_out = names, "; create the namespace and its Secrets first (federated.flower.rbac can create it) if images need them"
    else:
        lacking, way_out = [name for name in names if _is_absent(cluster, "v1", "Secret", name, spec.namespace)], ""
    if not lacking:
        return []
    return [
        f"namespace {spec.namespace} does not have {', '.join(lacking)} (supernode_image_pull_secrets): nodes pull images without "
        f"{'them' if len(lacking) > 1 else 'it'}{way_out}"
    ]


def _is_absent(cluster: Cluster, api_version: str, kind: str, name: str, namespace: str | None = None) -> bool:
    try:
        return cluster.get(api_version, kind, name, namespace) is None
    except Forbidden:
        return False
