# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is chosen, which targets count, and what is refused: every error says what could stand there."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.drill import drill_table as table
from ansible_collections.federated.flower.plugins.plugin_utils.drill.breaks.break_registry import BREAKS
from ansible_collections.federated.flower.tests.unit.read import ROOT


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ("site_cut", ["site_cut"]),
        ("site_cut, superlink_killed", ["site_cut", "superlink_killed"]),
        (["disk_full", "site_cut"], ["disk_full", "site_cut"]),
        ("site_cut,", ["site_cut"]),
    ],
)
def test_drills_are_conducted_in_the_order_given(given: Any, names: list[str]) -> None:
    assert [drill.name for drill in table.chosen(given)] == names


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("", "name one or more drills"),
        (None, "name one or more drills"),
        ([], "name one or more drills"),
        (3, "name one or more drills"),
        ("site_cutt", "there is no drill 'site_cutt'. There are: superlink_killed"),
        (["site_cut", "site_cut"], "site_cut is named twice"),
        ("site_cut,hub_lost", "hub_lost is a failover"),
        ("hub_lost", "federated.flower.failover -e flower_failover=true -e flower_failover_hub_lost=true"),
    ],
)
def test_what_cannot_be_chosen(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match="flower_drill: ") as error:
        table.chosen(given)
    assert words in str(error.value)


def test_targets() -> None:
    assert table.targets(None) == {name: drill.target for name, drill in table.DRILLS.items()}
    found = table.targets({"site_cut": "45", "disk_full": 7})
    assert (found["site_cut"], found["disk_full"]) == (45, 7)
    assert found["superlink_killed"] == table.DRILLS["superlink_killed"].target


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("45", "is not a mapping"),
        ({"site": 45}, "there is no drill 'site'"),
        ({"site_cut": 0}, "site_cut: 0 is not a number of seconds"),
        ({"site_cut": "1m"}, "'1m' is not a number of seconds"),
        ({"site_cut": True}, "True is not a number of seconds"),
        ({"site_cut": -1}, "-1 is not a number of seconds"),
    ],
)
def test_wrong_targets(given: Any, words: str) -> None:
    with pytest.raises(ValueError, match="flower_drill_targets: ") as error:
        table.targets(given)
    assert words in str(error.value)


def test_a_drill_is_confirmed_with_the_name_of_the_federation() -> None:
    assert table.confirm_fault("hospitals", "hospitals") == ""
    assert "flower_drill_confirm is not set" in table.confirm_fault("", "hospitals")
    assert "is 'true'" in table.confirm_fault("true", "hospitals")
    assert "-e flower_drill_confirm=hospitals" in table.confirm_fault("other", "hospitals")


def test_every_drill_has_a_class_and_is_in_the_guide() -> None:
    assert list(BREAKS) == list(table.DRILLS)
    assert not set(table.ELSEWHERE) & set(table.DRILLS)
    guide = (ROOT / "docs/docsite/rst/guide_drill.rst").read_text(encoding="utf-8")
    assert [name for name in table.DRILLS if f"``{name}``" not in guide] == []
    playbook = (ROOT / "playbooks/drill.yml").read_text(encoding="utf-8")
    assert [name for name in table.DRILLS if name not in playbook] == []
