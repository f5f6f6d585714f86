# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether a release of Kubernetes has what the pods of a site use. Pure.

An API server of 1.28 accepts a native sidecar and drops its C(restartPolicy): an init container is left that never ends, and a pod that never starts.
Before 1.28, pods of a StatefulSet have no label with their number (Kubernetes documentation, «Feature Gates»: SidecarContainers, PodIndexLabel).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from .rehearsal import WORKLOADS

_SIDECARS, _INDEX = (1, 29), (1, 28)


def release(version: str) -> tuple[int, ...]:
    """Major and minor number of a version of Kubernetes, such as C(v1.35.2+k3s1)."""
    return tuple(map(int, re.findall(r"\d+", version)[:2]))


def fault(version: str, objects: Iterable[Mapping[str, Any]]) -> str:
    """Why the pods of rendered objects do not work with a version, a sentence; empty where they do, or the version is not known."""
    workloads = [item for item in objects if item["kind"] in WORKLOADS]
    pods = [item["spec"]["template"]["spec"] for item in workloads]
    has_sidecars = any(one.get("restartPolicy") == "Always" for pod in pods for one in pod.get("initContainers") or [])
    is_numbered = any(item["kind"] == "StatefulSet" for item in workloads)
    found = release(version)
    if has_sidecars and (1,) <= found < _SIDECARS:
        return (
            f"Kubernetes {version} has no native sidecars, so the pods of SuperNodes would never start: update the cluster to 1.29 or later. Without an "
            "update, supernode_sidecar and supernode_mtls can be false from 1.28 on, where the hub does not require client certificates."
        )
    if is_numbered and (1,) <= found < _INDEX:
        return f"Kubernetes {version} does not give pods their number, by which each finds its key: update the cluster to 1.28 or later."
    return ""
