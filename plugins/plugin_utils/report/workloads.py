# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Summary of the workloads of one cluster. Pure functions on live objects."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.images import images_of
from ..base.labels import POOL_LABEL
from ..kube import pod_health as site_pods
from ..manifests import datasets


def workload(obj: Mapping[str, Any]) -> dict[str, Any]:
    """What a Deployment, StatefulSet or DaemonSet wants and has.

    Returns:
        C(kind), C(name), C(pool) (None where there is none), C(desired), C(ready), C(image) of its main container, C(images) (container -> image), C(version),
        C(datasets).
    """
    spec, status = obj["spec"], obj.get("status", {})
    daemon = obj["kind"] == "DaemonSet"
    containers = spec["template"]["spec"]["containers"]
    return {
        "kind": obj["kind"],
        "name": obj["metadata"]["name"],
        "pool": obj["metadata"].get("labels", {}).get(POOL_LABEL),
        "desired": status.get("desiredNumberScheduled", 0) if daemon else spec.get("replicas", 1),
        "ready": status.get("numberReady", 0) if daemon else status.get("readyReplicas", 0),
        "image": containers[0]["image"],
        "images": images_of(obj),
        "version": obj["metadata"].get("labels", {}).get("app.kubernetes.io/version", ""),
        "datasets": datasets.names_of(obj),
    }


def trouble(pods: Sequence[Mapping[str, Any]]) -> str:
    """Why pods are not ready; empty when they all are."""
    unready = [pod for pod in pods if not site_pods.is_ready(pod)]
    return site_pods.summary(unready) if unready else ""
