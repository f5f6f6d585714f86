# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.stuck_pods import awaits_a_volume, nobody_binds

WAITING = {"state": {"waiting": {"reason": "ContainerCreating"}}, "restartCount": 0}


def pod(phase: str = "Pending", node: str = "n1", containers: Any = (WAITING, WAITING), **meta: str) -> dict[str, Any]:
    return {"metadata": meta, "spec": {"nodeName": node}, "status": {"phase": phase, "containerStatuses": list(containers)}}


def claim(phase: str = "Pending", volume: str = "", **annotations: str) -> dict[str, Any]:
    return {"metadata": {"annotations": annotations}, "spec": {"volumeName": volume}, "status": {"phase": phase}}


def test_a_pod_with_a_node_in_which_nothing_ever_ran() -> None:
    assert awaits_a_volume(pod())
    assert awaits_a_volume({"metadata": {}, "spec": {"nodeName": "n1"}, "status": {"phase": "Pending"}})


@pytest.mark.parametrize(
    "other",
    [
        pod(node=""),
        pod("Running"),
        pod(deletionTimestamp="2026-01-01T00:00:00Z"),
        pod(containers=[WAITING, {"state": {"running": {}}}]),
        pod(containers=[WAITING, {"state": {"terminated": {"exitCode": 0}}}]),
        pod(containers=[{"state": {"waiting": {"reason": "CrashLoopBackOff"}}, "restartCount": 2}]),
    ],
)
def test_a_pod_that_may_have_run_or_may_get_a_node(other: dict[str, Any]) -> None:
    assert not awaits_a_volume(other)


def test_whose_claim_is_nobodys_work() -> None:
    assert nobody_binds(claim())
    assert not nobody_binds(claim("Bound", "pv-1"))
    assert not nobody_binds(claim(volume="pv-1"))
    assert not nobody_binds(claim(**{"volume.kubernetes.io/selected-node": "n1"}))
    assert not nobody_binds(claim("Lost"))
