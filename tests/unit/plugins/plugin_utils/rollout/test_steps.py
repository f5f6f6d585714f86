# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The rollout of a batch: its errors and messages are those of its sites."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import KeysMade
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.steps import Options, Rollout


class Run:
    """What a rollout needs of a run."""

    show_diff = False

    def __init__(self, *, check: bool = False) -> None:
        self.check = check

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        pass

    def failed(self, site: str, message: str) -> None:
        pass

    def say_details(self, text: str) -> None:
        pass


class Away:
    """The way to a site whose API server does not answer."""

    def settle(self) -> None:
        raise ClusterError("its API server does not answer")

    def offline(self) -> str:
        return "Have the bundle applied."

    def rest(self) -> None:
        pass


def rollout(run: Run) -> Rollout:
    # No hub: where every site has failed, it is not asked.
    return Rollout(run, None, "hub", {}, {"a": Away()}, Outcomes(run, ["a"], 1), Options())


def test_a_batch_whose_sites_have_all_failed_keeps_their_errors() -> None:
    one = rollout(Run())
    one.deploy()
    assert one.outcomes["a"].failed and one.outcomes["a"].msg == "a: its API server does not answer"


@pytest.mark.parametrize(
    ("check", "by_hand", "report", "words"),
    [
        (True, False, {}, "SuperNodes are not counted in check mode"),
        (True, True, {}, "SuperNodes are not counted in check mode. Have the bundle applied."),
        (False, False, {"online": 2, "expected": 2}, "2 SuperNodes online"),
        (False, True, {"online": 1, "expected": 2}, "1 of 2 SuperNodes online. Have the bundle applied."),
    ],
)
def test_what_is_said_of_supernodes(check: bool, by_hand: bool, report: dict[str, Any], words: str) -> None:
    one = rollout(Run(check=check))
    one._confirm("a", KeysMade(keys=[], by_hand=by_hand), report, [])
    assert one.outcomes["a"].msg == words
