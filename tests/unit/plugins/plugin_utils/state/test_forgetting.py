# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.state import forgetting
from ansible_collections.federated.flower.tests.unit.rows import each_row

FLEET = [f"site-{number}" for number in range(40)]


@each_row(
    ("given", "names"),
    [
        (None, []),
        (False, []),
        ("", []),
        ("false", []),
        ([], []),
        ("site-b", ["site-b"]),
        (" site-b, site-c,site-b,", ["site-b", "site-c"]),
        (["site-b", "site-c"], ["site-b", "site-c"]),
    ],
)
def test_names_are_a_list_or_a_text_with_commas(given, names):
    assert forgetting.names(given) == names


@each_row("given", [True, "true", "True", "yes", "all", 1, {"site-b": True}, [True], ["site-b", "all"]])
def test_who_names_nobody_is_refused_with_the_way_out(given):
    with pytest.raises(ValueError, match="-e flower_forget_sites=site-b,site-c"):
        forgetting.names(given)


def test_one_of_two_sites_is_forgotten():
    assert forgetting.forget_error(["site-b"], ["site-a", "site-b"], ["site-a"]) == ""
    assert forgetting.forget_error([], [], []) == ""
    assert forgetting.forget_error(["unknown"], ["site-a"], ["site-a"]) == "", "a run that is repeated has nothing to do"


def test_sites_of_the_inventory_are_refused():
    assert "site-a is in the inventory" in forgetting.forget_error(["site-a"], ["site-a"], ["site-a"])
    assert forgetting.forget_error(["site-a"], ["site-a"], None) == ""
    assert forgetting.forget_error(FLEET, FLEET, None) == "", "a teardown takes all"


def test_an_empty_inventory_is_refused():
    words = forgetting.forget_error(["site-a"], ["site-a", "site-b"], [])
    assert "the inventory has no sites" in words and "any_unparsed_is_failed" in words and "flower_forget_max=1" in words
    assert forgetting.forget_error(["site-a"], ["site-a", "site-b"], [], 1) == ""


@each_row(
    ("count", "bound", "refused"), [(2, None, True), (1, None, False), (3, 3, False), (3, 2, True)]
)
def test_more_than_half_is_refused_without_a_bound(count, bound, refused):
    known = FLEET[:3]
    words = forgetting.forget_error(known[:count], known, ["other"], bound)
    assert bool(words) == refused and (not refused or f"-e flower_forget_max={count}" in words)


def test_more_than_ten_are_refused_without_a_bound():
    assert "more than 10" in forgetting.forget_error(FLEET[:11], FLEET, ["other"])
    assert forgetting.forget_error(FLEET[:10], FLEET, ["other"]) == ""


def test_names_of_which_the_ledger_has_nothing():
    book = {"sites": {"range": {}}, "left": {"left": []}, "denied": {"denied": {}}, "revoked": [{"serial": "1", "site": "revoked"}, {"serial": "2"}]}
    chosen = ["record", "site-bb", "range", "left", "denied", "revoked", "a b"]
    assert forgetting.unknown_sites(chosen, {"record"}, book) == ["site-bb", "a b"]
