# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Requested GPUs of pools, compared with those that nodes advertise. Pure functions on live Node objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..kube.nodes import eligible
from ..spec.site_spec import SiteSpec

_ORDINARY = {"cpu", "memory", "pods", "ephemeral-storage"}


def warnings(spec: SiteSpec, nodes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Sentences on pools whose GPU no node has, with what the nodes do have."""
    found = []
    for pool in spec.pools:
        count, resource = pool.gpu.count, pool.gpu.resource
        if not count:
            continue
        chosen = eligible(nodes, pool.node_selector, pool.tolerations)
        if any(int(node.get("status", {}).get("allocatable", {}).get(resource, 0)) >= count for node in chosen):
            continue
        found.append(
            f"pool {pool.name} requests {count} x {resource} per SuperNode, and no node that it may run on has that: "
            + _offer(nodes)
        )
    return found


def _offer(nodes: Sequence[Mapping[str, Any]]) -> str:
    offers = []
    for node in sorted(nodes, key=lambda item: item["metadata"]["name"]):
        allocatable = node.get("status", {}).get("allocatable", {})
        extended = [f"{key} {value}" for key, value in sorted(allocatable.items()) if not _plain(key)]
        offers.append(f"{node['metadata']['name']} has {', '.join(extended) or 'no extended resources'}")
    return "; ".join(offers) or "the cluster has no nodes"


def _plain(resource: str) -> bool:
    return resource in _ORDINARY or resource.startswith("hugepages-")
