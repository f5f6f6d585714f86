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

JOB = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j", "namespace": "n", "uid": "u", "generation": 1}, "spec": {}, "status": {}}
DONE = {**JOB, "status": {"conditions": [{"type": "Complete", "status": "True"}], "succeeded": 1}}


class Cluster:
    """It answers what it is given, one after the other, the last one for ever."""

    def __init__(self, *answers: Any) -> None:
        self.answers = list(answers)

    def get(self, *_place: str) -> Any:
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer

    def list(self, *_place: str, **_chosen: str) -> list[Any]:
        return []


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


@pytest.mark.parametrize("error", failures(), ids=lambda error: type(error).__name__)
def test_no_answer_until_the_end(error: ClusterError) -> None:
    with pytest.raises(type(error), match="c: "):
        waiter(0.5, error).until_ready([JOB])
    with pytest.raises(type(error), match="c: "):
        waiter(0.5, error).until_gone([JOB])
