# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waiting ends early for an image that nodes do not get, where that is wanted."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import wait
from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import id_of

STATUS = {"waiting": {"reason": "ImagePullBackOff", "message": "not found"}}
SET = {
    "apiVersion": "apps/v1",
    "kind": "StatefulSet",
    "metadata": {"name": "s", "namespace": "n", "generation": 1, "uid": "u"},
    "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "s"}}},
    "status": {"observedGeneration": 1, "replicas": 1},
}
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "s-0", "namespace": "n"},
    "spec": {"containers": [{"name": "c", "image": "r/none:1"}]},
    "status": {"containerStatuses": [{"name": "c", "state": STATUS}]},
}


class Cluster:
    """What a waiter reads."""

    skew = 0.0

    def get(self, *_place: str) -> dict[str, Any]:
        return SET

    def list(self, _version: str, kind: str, *_place: str, **_chosen: str) -> list[dict[str, Any]]:
        return [POD] if kind == "Pod" else []


@pytest.mark.parametrize(("image_seconds", "early"), [(0.3, True), (0, False)])
def test_it_gives_up(monkeypatch: pytest.MonkeyPatch, image_seconds: float, early: bool) -> None:
    monkeypatch.setattr(wait, "_POD_INTERVAL", 0.1)
    waiter = wait.Waiter(Cluster(), 2.0, image_seconds)  # type: ignore[arg-type]
    _seen, unready = waiter.until_ready([SET])
    text = unready[id_of(SET)]
    assert "r/none:1" in text if early else "after 2 s" in text
    assert waiter.clock.is_over() is not early
