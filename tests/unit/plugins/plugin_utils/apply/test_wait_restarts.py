# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An API server that cannot answer for a while ends no wait; one that does not until the end is named."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import wait
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ERRORS, Unreachable
from ansible_collections.federated.flower.tests.unit.rows import each_row

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n", "uid": "u", "generation": 1}, "spec": {}, "status": {}}
DONE = {**JOB, "status": {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}}


class Cluster:
    """It answers what it is given, one after the other, the last one for ever."""

    skew = None

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)
        self.pods: list[Any] = []

    def get(self, *_place: str) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def list(self, _version: str, kind: str, place: str, **_chosen: str) -> list[Any]:
        return self.pods if (kind, place) == ("Pod", "n") else []


def failures() -> list[ClusterError]:
    return [Unreachable("c: refused"), *(ERRORS[status]("c", "GET /", status, {}) for status in (500, 502, 503, 504))]


def waiter(seconds: float, *answers: Any) -> wait.Waiter:
    return wait.Waiter(Cluster(*answers), seconds)  # type: ignore[arg-type]


def test_a_while_without_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wait, "_LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(wait, "_FIRST_PAUSE", 0.01)
    seen, unready = waiter(5, *failures(), DONE).until_ready([JOB])
    assert not unready and next(iter(seen.values())) == DONE
    assert waiter(5, JOB, *failures(), None).until_gone([JOB]) == {}


@each_row("error", failures())
def test_no_answer_until_the_end(error: ClusterError) -> None:
    with pytest.raises(type(error), match="c: "):
        waiter(0.1, error).until_ready([JOB])
    with pytest.raises(type(error), match="c: "):
        waiter(0.1, error).until_gone([JOB])


@each_row("kind", ["Namespace", "StatefulSet", "Secret"])
def test_a_pod_on_a_lost_node_is_named(kind: str) -> None:
    name, place = ("n", None) if kind == "Namespace" else ("s", "n")
    live = {"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": place, "uid": "u"}, "spec": {"selector": {"matchLabels": {"app": "s"}}}}
    one = waiter(0.1, live)
    lost = {"conditions": [{"type": "Ready", "status": "False"}], "containerStatuses": [{"name": "c", "ready": True}]}
    one.cluster.pods = [  # type: ignore[attr-defined]
        {"metadata": {"name": pod, **more}, "spec": {"nodeName": "gpu-7"}, "status": lost}
        for pod, more in (("s-0", {"deletionTimestamp": "2026-11-26T10:00:00Z"}), ("s-1", {}))
    ]
    (why,) = one.until_gone([live]).values()
    assert ("should terminate by 2026-11-26T10:00:00Z" in why and "Check the node: kubectl get node gpu-7" in why) is (kind != "Secret")
    assert "s-1" not in why
