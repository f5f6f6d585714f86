# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is said of a pod that pulls images, and when waiting ends."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.sites import direct_pull


def pod(*statuses: dict[str, Any], **status: Any) -> dict[str, Any]:
    """A pod with one container."""
    spec = {"containers": [{"name": "supernode", "image": "r/supernode:2"}]}
    more = {"containerStatuses": list(statuses)} if statuses else {}
    return {"metadata": {"name": "p", "uid": "1"}, "spec": spec, "status": {"phase": "Pending", **more, **status}}


def waiting(reason: str) -> dict[str, Any]:
    return {"name": "supernode", "state": {"waiting": {"reason": reason, "message": "not found"}}}


def test_a_missing_image_gets_a_second_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    since: dict[str, float] = {}
    now = [100.0]
    monkeypatch.setattr(direct_pull.time, "monotonic", lambda: now[0])
    words = "the image r/supernode:2 of container supernode cannot be pulled: not found"
    assert direct_pull.trouble_of(pod(waiting("ErrImagePull")), since) == (words, False)
    now[0] += 10
    assert direct_pull.trouble_of(pod(waiting("ContainerCreating")), since)[1] is False
    now[0] += 11
    assert direct_pull.trouble_of(pod(waiting("ImagePullBackOff")), since) == (words, True)


def test_a_kubelet_that_refuses_the_pod_ends_waiting() -> None:
    refused = pod(phase="Failed", reason="OutOfpods", message="Node didn't have enough capacity: pods")
    assert direct_pull.trouble_of(refused, {}) == ("its kubelet refuses the pod: OutOfpods: Node didn't have enough capacity: pods", True)
