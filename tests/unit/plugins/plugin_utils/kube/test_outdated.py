# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which pod a StatefulSet does not replace although its template was changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.kube.pod_health import is_outdated
from ansible_collections.federated.flower.tests.unit.rows import each_row

CRASHED = {"name": "superlink", "ready": False, "restartCount": 5, "state": {"waiting": {"reason": "CrashLoopBackOff"}}}
RUNS = {"name": "superlink", "ready": True, "restartCount": 0, "state": {"running": {}}}
STARTS = {**RUNS, "ready": False}
UNPULLED = {"name": "gateway", "ready": False, "restartCount": 0, "state": {"waiting": {"reason": "ImagePullBackOff"}}}
OURS = {"app.kubernetes.io/managed-by": "federated.flower", "app.kubernetes.io/instance": "f"}


def pod(*containers: Any, ready: bool = False, revision: str = "superlink-1", owner: str = "u", federation: str = "f", **meta: str) -> dict[str, Any]:
    return {
        "metadata": {
            "name": "superlink-0",
            "labels": {**OURS, "app.kubernetes.io/instance": federation, "controller-revision-hash": revision},
            "ownerReferences": [{"kind": "StatefulSet", "name": "superlink", "uid": owner, "controller": True}],
            **meta,
        },
        "status": {"conditions": [{"type": "Ready", "status": str(ready)}], "containerStatuses": list(containers)},
    }


def stateful_set(observed: int = 2, kind: str = "RollingUpdate", partition: int = 0) -> dict[str, Any]:
    return {
        "metadata": {"name": "superlink", "uid": "u", "generation": 2},
        "spec": {"updateStrategy": {"type": kind, "rollingUpdate": {"partition": partition}}},
        "status": {"observedGeneration": observed, "currentRevision": "superlink-1", "updateRevision": "superlink-2"},
    }


@each_row(
    "stuck",
    [
        pod(CRASHED),
        pod({**CRASHED, "state": {"terminated": {"exitCode": 1}}}),
        pod(RUNS, UNPULLED),
        pod(),  # not scheduled
    ],
)
def test_a_pod_that_is_never_replaced(stuck: dict[str, Any]) -> None:
    assert is_outdated(stuck, stateful_set(), "f", "superlink")


@each_row(
    ("other", "owner"),
    [
        (pod(RUNS, ready=True), stateful_set()),
        (pod(CRASHED, revision="superlink-2"), stateful_set()),
        (pod(CRASHED, federation="other"), stateful_set()),
        (pod(CRASHED, owner="other"), stateful_set()),
        (pod(CRASHED, deletionTimestamp="2026-01-01T00:00:00Z"), stateful_set()),
        (pod(STARTS), stateful_set()),  # it may be migrating its database
        (pod(CRASHED), stateful_set(observed=1)),
        (pod(CRASHED), stateful_set(kind="OnDelete")),
        (pod(CRASHED), stateful_set(partition=1)),
    ],
)
def test_a_pod_that_is_left_alone(other: dict[str, Any], owner: dict[str, Any]) -> None:
    assert not is_outdated(other, owner, "f", "superlink")


@each_row(
    ("one", "owner", "undecided"),
    [
        (pod(CRASHED), stateful_set(observed=1), True),  # whether its template is a former one is not known yet
        (pod(STARTS), stateful_set(), True),
        (pod(STARTS, revision="superlink-2"), stateful_set(), False),
        (pod(CRASHED), stateful_set(), False),
        (pod(RUNS, ready=True), stateful_set(observed=1), False),
        (pod(STARTS, federation="other"), stateful_set(), False),
    ],
)
def test_a_pod_that_is_looked_at_again(one: dict[str, Any], owner: dict[str, Any], undecided: bool) -> None:
    assert (is_outdated(one, owner, "f", "superlink") is None) is undecided
