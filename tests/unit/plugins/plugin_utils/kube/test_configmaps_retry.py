# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A record is written once more if the API server did not answer: what Flower has registered must get into the ledger."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube import configmaps
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import (
    ERRORS,
    Conflict,
    Unavailable,
    Unreachable,
)


def failed(error: Any, *, unsure: bool) -> Any:
    error.unsure = unsure
    return error


def answer(status: int) -> Any:
    return ERRORS[status]("hub", "PUT /", status, {})


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(configmaps.time, "sleep", lambda _seconds: None)


@pytest.mark.parametrize("error", [Unreachable("hub: reset"), answer(503), answer(502), answer(504), answer(500)])
def test_a_write_that_was_not_answered(error: Any) -> None:
    outcomes = [failed(error, unsure=True), Conflict("hub", "POST /", 409, {}), "written"]

    def attempt() -> str:
        one = outcomes.pop(0)
        if isinstance(one, Exception):
            raise one
        return one

    assert configmaps.retry_on_conflict("x", attempt) == "written"


@pytest.mark.parametrize(
    ("error", "unsure", "kind", "times"),
    [
        (failed(answer(503), unsure=False), True, Unavailable, 1),  # a read, which the connection has repeated
        (failed(answer(503), unsure=True), False, Unavailable, 1),  # a lease is renewed in time, or not
        (failed(answer(503), unsure=True), True, Unavailable, configmaps.ATTEMPTS),
        (Conflict("hub", "PUT /", 409, {}), True, ClusterError, configmaps.ATTEMPTS),
    ],
)
def test_what_ends_it(error: Any, unsure: bool, kind: type[Exception], times: int) -> None:
    asked: list[int] = []

    def attempt() -> str:
        asked.append(1)
        raise error

    with pytest.raises(kind):
        configmaps.retry_on_conflict("x", attempt, unsure=unsure)
    assert len(asked) == times
