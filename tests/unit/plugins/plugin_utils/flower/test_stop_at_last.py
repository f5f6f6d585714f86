# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run that has to end is stopped, also if the first attempt fails."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unauthorized, Unreachable

Answer = tuple[dict[str, str], dict[str, str]]


@pytest.fixture
def stop(monkeypatch: pytest.MonkeyPatch) -> list[Answer | Exception]:
    """What the attempts meet, one after the other; the last one again and again."""
    answers: list[Answer | Exception] = []
    now = [0.0]

    def attempt(_cli: Any, run_ids: list[str]) -> Answer:
        assert run_ids == ["7"]
        met = answers.pop(0) if len(answers) > 1 else answers[0]
        if isinstance(met, Exception):
            raise met
        return met

    monkeypatch.setattr(runs, "stop", attempt)
    clock = SimpleNamespace(monotonic=lambda: now[0], sleep=lambda pause: now.__setitem__(0, now[0] + pause))
    monkeypatch.setattr(runs, "time", clock)
    return answers


CLI: Any = None


def test_it_is_tried_again(stop: list[Answer | Exception]) -> None:
    stop += [Unreachable("hub: the exec broke off"), ({}, {"7": "busy"}), ({}, {})]
    assert runs.stop_at_last(CLI, "7", 120) == (runs.STOPPED, "")


def test_it_may_have_ended_by_itself(stop: list[Answer | Exception]) -> None:
    stop += [({"7": "completed"}, {})]
    assert runs.stop_at_last(CLI, "7", 120) == ("finished:completed", "")


def test_the_last_reason_is_told(stop: list[Answer | Exception]) -> None:
    stop += [Unreachable("first"), ({}, {"7": "last"})]
    assert runs.stop_at_last(CLI, "7", 120) == ("", "last")


def test_a_login_that_has_ended_is_not_tried_again(stop: list[Answer | Exception]) -> None:
    stop += [Unauthorized("the token has expired"), ({}, {})]
    assert runs.stop_at_last(CLI, "7", 120) == ("", "the token has expired")
