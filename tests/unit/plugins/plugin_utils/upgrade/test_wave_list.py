# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Waves of an upgrade: every site is in exactly one, and a name that means nothing is refused."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.upgrade import wave_list

SITES = ["a", "b", "c", "d", "e"]
GROUPS = {"all": [*SITES, "hub"], "eu": ["a", "c"], "us": ["b", "d", "e"], "empty": [], "flower_hub": ["hub"]}


@pytest.mark.parametrize(
    ("wish", "waves"),
    [
        (None, [["a"], ["b", "c", "d", "e"]]),
        ("", [["a"], ["b", "c", "d", "e"]]),
        ([], [["a"], ["b", "c", "d", "e"]]),
        (["c"], [["c"], ["a", "b", "d", "e"]]),
        (["eu"], [["a", "c"], ["b", "d", "e"]]),
        (["c", "eu", "us"], [["c"], ["a"], ["b", "d", "e"]]),
        ([["eu", "e"]], [["a", "c", "e"], ["b", "d"]]),
        (["25%", "50%"], [["a", "b"], ["c", "d"], ["e"]]),
        (["1%"], [["a"], ["b", "c", "d", "e"]]),
        (["100%"], [SITES]),
        (["b", "50%"], [["b"], ["a", "c"], ["d", "e"]]),
        ([["b", "50%"]], [["a", "b", "c"], ["d", "e"]]),
        (["all", "eu"], [SITES]),
        ("b, 50%", [["b"], ["a", "c"], ["d", "e"]]),
    ],
)
def test_every_site_is_in_one_wave(wish: Any, waves: list[list[str]]) -> None:
    found = wave_list.make(wish, SITES, GROUPS)
    assert found == waves
    assert sorted(site for wave in found for site in wave) == SITES


def test_the_first_site_is_one_that_proves_something() -> None:
    assert wave_list.make(None, SITES, GROUPS, ["a", "b"])[0] == ["c"]
    assert wave_list.make(None, SITES, GROUPS, SITES)[0] == ["a"]
    assert wave_list.make(None, ["a"], {}) == [["a"]]
    assert wave_list.make(["x"], [], {}) == []


@pytest.mark.parametrize(
    ("wish", "words"),
    [
        (["x"], "wave 1: 'x' is neither a site nor a group of the inventory, nor a share such as '25%'. Sites: a, b, c, d, e"),
        (["a", ["b", ""]], "wave 2: '' is neither"),
        (["a", 3], "wave 2: 3 is neither"),
        (["empty"], "'empty' is a group without a site"),
        (["flower_hub"], "'flower_hub' is a group without a site"),
        (["0%"], "'0%' is not a share from 1% to 100%"),
        (["150%"], "not a share"),
        (["a", "a"], "wave 2: 'a' is in wave 1 already"),
        ({"a": 1}, "is not a list of waves, such as [a, 25%]"),
    ],
)
def test_what_means_nothing_is_refused(wish: Any, words: str) -> None:
    with pytest.raises(ValueError) as error:
        wave_list.make(wish, SITES, GROUPS)
    assert words in str(error.value) and "flower_upgrade_waves" in str(error.value)


def test_all_faults_at_once() -> None:
    with pytest.raises(ValueError) as error:
        wave_list.make(["x", "y", "0%"], SITES, GROUPS)
    assert len(str(error.value).splitlines()) == 3
