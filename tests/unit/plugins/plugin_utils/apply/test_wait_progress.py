# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A pool of many SuperNodes is replaced one by one: the time that it may take counts from the last of them."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import wait
from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import id_of
from ansible_collections.federated.flower.plugins.plugin_utils.apply.readiness import stateful_set as stateful
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import delivery
from ansible_collections.federated.flower.tests.unit.passing_time import Time

PODS = 30
STEP = 20.0  # seconds that each pod takes


def stateful_set(done: int) -> dict[str, Any]:
    revision = "new" if done == PODS else "old"
    status = {"readyReplicas": PODS, "replicas": PODS, "updatedReplicas": done, "updateRevision": "new", "currentRevision": revision}
    return {"kind": "StatefulSet", "spec": {"replicas": PODS}, "status": {**status, "observedGeneration": 2}}


def daemon_set(done: int) -> dict[str, Any]:
    status = {"desiredNumberScheduled": PODS, "updatedNumberScheduled": done, "numberAvailable": PODS}
    return {"kind": "DaemonSet", "spec": {}, "status": {**status, "observedGeneration": 2}}


class Cluster:
    """A controller that replaces one pod after the other, until one of them is never ready."""

    def __init__(self, time: Time, made: Callable[[int], dict[str, Any]], stuck: int) -> None:
        self.time, self.made, self.stuck = time, made, stuck

    def get(self, *_place: str) -> dict[str, Any]:
        found = self.made(min(int(self.time.now / STEP), PODS, self.stuck))
        return {"apiVersion": "apps/v1", "metadata": {"name": "s", "namespace": "n", "generation": 2}, **found}

    def list(self, *_place: str, **_chosen: str) -> list[dict[str, Any]]:
        return []


@pytest.mark.parametrize("made", [stateful_set, daemon_set])
@pytest.mark.parametrize(("stuck", "ends"), [(PODS, PODS * STEP), (7, 7 * STEP + 100)])
def test_it_waits_as_long_as_pods_are_replaced(monkeypatch: pytest.MonkeyPatch, made: Callable[[int], dict[str, Any]], stuck: int, ends: float) -> None:
    time = Time()
    monkeypatch.setattr(wait, "time", time)
    cluster: Any = Cluster(time, made, stuck)
    before = {**cluster.get(), "status": {**made(PODS)["status"], "observedGeneration": 1}}  # as it was when it was applied
    _seen, unready = wait.Waiter(cluster, 100).until_ready([before])
    assert (unready == {}) == (stuck == PODS)
    assert abs(time.now - ends) < 5
    assert stuck == PODS or "not ready after 100 s without progress: 7 of 30" in unready[id_of(before)]


def test_a_site_whose_number_of_pods_only_grows_ends_its_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its API server, or its agent, tells that number, and all other sites wait for it, with the lease."""
    time = Time()
    monkeypatch.setattr(wait, "time", time)

    def growing(done: int) -> dict[str, Any]:
        return {**stateful_set(1), "status": {**stateful_set(1)["status"], "updatedReplicas": int(time.now / STEP)}}

    cluster: Any = Cluster(time, growing, PODS)
    _seen, unready = wait.Waiter(cluster, 100).until_ready([cluster.get()])
    assert unready and time.now == pytest.approx(4 * 3600 + 100, abs=5)


@pytest.mark.parametrize(("stuck", "ends"), [(PODS, PODS * STEP), (7, 7 * STEP + 100)])
def test_so_it_does_behind_open_cluster_management(monkeypatch: pytest.MonkeyPatch, stuck: int, ends: float) -> None:
    time = Time()
    monkeypatch.setattr(wait, "time", time)
    cluster = Cluster(time, stateful_set, stuck)
    one: Any = object.__new__(delivery.Delivery)
    one.spec = SimpleNamespace(cluster="site-a", ocm_cluster="site-a", ocm_addon="a")
    one.references, one.hub = [], SimpleNamespace(get=lambda *_which: None)
    monkeypatch.setattr(delivery.statuses, "addon_state", lambda *_given: SimpleNamespace(ready=True, failed=False, why=""))
    monkeypatch.setattr(delivery.nodes_work, "live_sets", lambda _work: [cluster.get()])
    monkeypatch.setattr(delivery.nodes_work, "state", lambda _work: stateful(cluster.get()))
    monkeypatch.setattr(delivery.nodes_work, "trouble", lambda _work: "")
    if stuck == PODS:
        one.wait(100)
    else:
        with pytest.raises(ClusterError, match="7 of 30 replicas are updated"):
            one.wait(100)
    assert abs(time.now - ends) < 5
