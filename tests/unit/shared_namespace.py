# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A namespace in which others have pods with the names of Flower's parts, too, and what selects pods there."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]
FEDERATION = "flower"


def selects(selector: str, labels: Mapping[str, str]) -> bool:
    """Whether a label selector of the forms C(a=b) and C(a in (b,c)) matches labels, as an API server has it."""
    for part in re.split(r",(?![^(]*\))", selector):
        name, _in, listed = part.partition(" in ")
        name, values = (name, listed.strip("()").split(",")) if listed else (part.partition("=")[0], [part.partition("=")[2]])
        if labels.get(name) not in values:
            return False
    return True


def pod(name: str, application: str = "supernode", *, ours: bool = True, pool: str = "cpu", uid: str = "") -> Object:
    """A pod that runs and is ready: of a pool of the federation, or of a Helm release that has the federation's name."""
    labels = {"app.kubernetes.io/name": application, "app.kubernetes.io/instance": FEDERATION}
    if ours:
        labels |= {"app.kubernetes.io/managed-by": "federated.flower", "federated.flower/pool": pool}
    container = "superexec" if application in ("clientapp", "serverapp") else application
    status = {"name": container, "containerID": "1", "ready": True, "state": {"running": {}}}
    return {
        "metadata": {"name": name, "namespace": "shared", "uid": uid or name, "labels": labels},
        "spec": {"containers": [{"name": container, "args": ["--superlink", "hub:9092", "--root-certificates", "/trust/ca.crt"]}]},
        "status": {"phase": "Running", "containerStatuses": [status], "conditions": [{"type": "Ready", "status": "True"}]},
    }


class SharedNamespace:
    """Requests to it, and what they changed.

    Args:
        pods: what is there.
        objects: other objects, by kind and name.
    """

    name = "site-a"
    skew: float | None = None

    def __init__(self, *pods: Object, objects: Mapping[tuple[str, str], Object] | None = None) -> None:
        self.pods, self.objects = list(pods), dict(objects or {})
        self.touched: list[str] = []

    def list(self, _api: str, _kind: str, _namespace: str, *, labels: str) -> list[Object]:
        """Its pods with some labels."""
        return [pod for pod in self.pods if selects(labels, pod["metadata"]["labels"])]

    def get(self, _api: str, kind: str, name: str, _namespace: str) -> Object | None:
        """One of the other objects."""
        return self.objects.get((kind, name))

    def patch(self, _api: str, _kind: str, name: str, _namespace: str, _body: Object) -> None:
        """Only annotations of pods are patched."""
        self.touched.append(name)

    def delete(self, _api: str, _kind: str, name: str, _namespace: str, **_more: Any) -> None:
        """A pod, which has a successor at once."""
        for found in self.pods:
            if found["metadata"]["name"] == name:
                found["metadata"]["uid"] += "-new"
