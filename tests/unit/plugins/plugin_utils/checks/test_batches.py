# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Batches and waves: every site is in exactly one, and an entry that cannot be used is refused."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.utils.helpers import pct_to_int

from ansible_collections.federated.flower.plugins.plugin_utils.checks.batches import batch_faults, waves
from ansible_collections.federated.flower.tests.unit.rows import each_row

SITES = ["a", "b", "c", "d", "e"]
GROUPS = {"all": [*SITES, "hub"], "eu": ["a", "c"], "us": ["b", "d", "e"], "empty": [], "flower_hub": ["hub"]}


@each_row(
    ("given", "serial", "found"),
    [
        (None, "100%", [["a"], ["b", "c", "d", "e"]]),
        ("", "100%", [["a"], ["b", "c", "d", "e"]]),
        ([], "2", [["a"], ["b", "c"], ["d", "e"]]),
        (None, [1, "40%"], [["a"], ["b"], ["c", "d"], ["e"]]),
        (["c"], 1, [["c"], ["a", "b", "d", "e"]]),
        (["eu"], 1, [["a", "c"], ["b", "d", "e"]]),
        (["c", "eu", "us"], 1, [["c"], ["a"], ["b", "d", "e"]]),
        ([["eu", "e"]], 1, [["a", "c", "e"], ["b", "d"]]),
        (["20%", "40%"], 1, [["a"], ["b", "c"], ["d", "e"]]),
        (["1%"], 1, [["a"], ["b"], ["c"], ["d"], ["e"]]),
        (["100%"], 1, [SITES]),
        (["b", "50%"], 1, [["b"], ["a", "c"], ["d", "e"]]),
        ([["b", "50%"]], 1, [["a", "b", "c"], ["d", "e"]]),
        (["all", "eu"], 1, [SITES]),
        ("b, 2", 1, [["b"], ["a", "c"], ["d", "e"]]),
        (["a", "empty", ["a", "b"]], 1, [["a"], ["b"], ["c", "d", "e"]]),
    ],
)
def test_every_site_is_in_one_wave(given: Any, serial: Any, found: list[list[str]]) -> None:
    assert waves(given, serial, SITES, GROUPS) == found
    assert sorted(site for wave in found for site in wave) == SITES


@each_row("size", [3, "1", "25%", "33%", "99%", "1%"])
@each_row("number", [1, 2, 7, 40])
def test_a_size_is_that_of_a_batch_of_a_play(size: Any, number: int) -> None:
    sites = [f"site-{one}" for one in range(number)]
    assert len(waves([size], 1, sites, {})[0]) == min(int(pct_to_int(size, number)), number)


def test_the_first_site_is_one_that_proves_something() -> None:
    assert waves(None, "100%", SITES, GROUPS, ["a", "b"])[0] == ["c"]
    assert waves(None, "100%", SITES, GROUPS, SITES)[0] == ["a"]
    assert waves(None, "100%", ["a"], {}) == [["a"]]
    assert waves(["x"], "100%", [], {}) == []


@each_row(
    ("given", "words"),
    [
        (["x"], ["wave 1: 'x' is neither a site nor a group of the inventory, nor a number of sites or a share such as '25%'. Sites: a, b, c, d, e"]),
        (["a", ["b", ""]], ["wave 2: '' is neither"]),
        (["a", 0], ["wave 2: 0 is neither"]),
        (["a", {"b": 1}], ["wave 2: {'b': 1} is neither"]),
        ({"a": 1}, ["is not a list of waves, such as [a, 25%]"]),
        (["x", "y", "0%"], ["'x' is neither", "'y' is neither", "'0%' is neither"]),
    ],
)
def test_what_cannot_be_used_is_refused(given: Any, words: list[str]) -> None:
    with pytest.raises(ValueError) as error:
        waves(given, "100%", SITES, GROUPS)
    lines = str(error.value).splitlines()
    assert len(lines) == len(words) and all(word in line and "flower_upgrade_waves" in line for word, line in zip(words, lines))


@each_row("serial", [1, "10", "25%", ["1", 5, "30%"], "100%"])
@each_row("max_failed", [0, "30", "30%", 100, 12.5])
def test_sizes_of_batches(serial: Any, max_failed: Any) -> None:
    assert batch_faults(serial, max_failed) == []


@each_row("serial", ["10 sites", "ten", 0, -1, True, ["1", "x"], "1,5", 2.5])
def test_no_size_of_a_batch(serial: Any) -> None:
    (fault,) = batch_faults(serial, 100)
    assert "flower_serial: " in fault and "such as 10, to 25%" in fault
    assert repr(serial[-1] if isinstance(serial, list) else serial) in fault


@each_row("max_failed", ["few", 101, -1, "", None])
def test_no_percentage(max_failed: Any) -> None:
    (fault,) = batch_faults(1, max_failed)
    assert "flower_max_fail_percentage: " in fault
