# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import copy
import random

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.state import partition_numbers
from ansible_collections.federated.flower.tests.unit.rows import each_row


def taken(book):
    """Every partition number that someone has, with doubles."""
    return [
        number
        for site in book["sites"].values()
        for pool in site["pools"].values()
        for number in range(pool["offset"], pool["offset"] + pool["size"])
    ]


def joined(**sites):
    return partition_numbers.allocate(partition_numbers.empty_book(), {name.replace("_", "-"): pools for name, pools in sites.items()}).book


def offsets(book):
    return {
        (site, pool): entry["offset"] for site, facts in book["sites"].items() for pool, entry in facts["pools"].items()
    }


def test_newcomers_are_served_in_the_order_of_the_inventory():
    result = partition_numbers.allocate(partition_numbers.empty_book(), {"b": {"p": 1}, "a": {"p": 2}}, order=["b", "a"])
    assert offsets(result.book) == {("b", "p"): 0, ("a", "p"): 1}
    assert result.book["partitions"] == 3


def test_a_site_that_joins_moves_nobody_and_changes_no_number():
    before = joined(site_a={"cpu": 2}, site_b={"gpu": 1})
    result = partition_numbers.allocate(before, {"site-a": {"cpu": 2}, "site-b": {"gpu": 1}, "site-c": {"cpu": 2}})
    assert offsets(result.book) == {**offsets(before), ("site-c", "cpu"): 3}
    assert [result.book["sites"][site]["partitions"] for site in ("site-a", "site-b", "site-c")] == [3, 3, 5]
    assert result.stale == ["site-a", "site-b"]


def test_repartition_brings_all_to_the_present_number():
    before = joined(a={"p": 2})
    grown = partition_numbers.allocate(before, {"a": {"p": 2}, "b": {"p": 1}}, repartition=True)
    assert {site["partitions"] for site in grown.book["sites"].values()} == {3}
    assert grown.stale == []


def test_a_fixed_number_of_partitions_is_everybodys():
    book = partition_numbers.allocate(partition_numbers.empty_book(), {"a": {"p": 2}}, partitions=8).book
    book = partition_numbers.allocate(book, {"b": {"p": 2}}, partitions=8).book
    assert {site["partitions"] for site in book["sites"].values()} == {8}


def test_a_fixed_number_that_is_too_small_is_refused():
    with pytest.raises(ValueError, match="flower_partitions is 2, but .* 0 to 2; set it to 3 or more"):
        partition_numbers.allocate(partition_numbers.empty_book(), {"a": {"p": 3}}, partitions=2)


def test_the_keys_of_a_site_that_left_are_known_to_be_dead():
    book = partition_numbers.forget(joined(a={"p": 2}), {"a": ["SHA256:x"]})
    book = partition_numbers.allocate(book, {"a": {"p": 2}}).book
    assert partition_numbers.left_keys(book, "a") == ["SHA256:x"]
    assert partition_numbers.left_keys(partition_numbers.forget(book, {"a": ["SHA256:y"]}), "a") == ["SHA256:x", "SHA256:y"]
    assert partition_numbers.left_keys(book, "b") == []


def test_a_pool_that_has_no_room_moves_and_says_so_and_counts_enough_partitions():
    result = partition_numbers.allocate(joined(a={"p": 1}, b={"p": 1}), {"a": {"p": 2}})
    assert offsets(result.book) == {("a", "p"): 2, ("b", "p"): 1}
    assert "pool p of a grew from 1 to 2" in result.moved[0]
    assert result.book["sites"]["a"]["partitions"] >= 4


def test_a_pool_that_moves_takes_none_of_its_own_numbers():
    """The StatefulSet would keep a pod with such a number, which runs with the key that has another number now."""
    result = partition_numbers.allocate(joined(a={"p": 1}, b={"p": 1}, c={"p": 1}), {site: {"p": 2} for site in "abc"})
    assert offsets(result.book) == {("a", "p"): 3, ("b", "p"): 5, ("c", "p"): 0}


def test_a_site_without_counting_pools_is_not_in_the_book():
    assert partition_numbers.allocate(partition_numbers.empty_book(), {"a": {}}).book["sites"] == {}
    assert partition_numbers.allocate(joined(a={"p": 1}), {"a": {}}).book["sites"] == {}


def test_what_was_read_is_not_changed():
    before = joined(a={"p": 1})
    kept = partition_numbers.allocate(before, {"a": {"p": 1}}).book
    assert kept == before
    partition_numbers.allocate(before, {"a": {"p": 5}, "b": {"p": 1}})
    assert before == kept


@each_row("seed", range(20))
def test_never_two_pools_with_one_number(seed):
    rng = random.Random(seed)
    book = partition_numbers.empty_book()
    for _step in range(60):
        site = rng.choice("abcdef")
        if rng.random() < 0.2:
            book = partition_numbers.forget(book, {site: []})
        else:
            pools = {pool: rng.randint(1, 5) for pool in rng.sample("pqr", rng.randint(0, 3))}
            before = offsets(book)
            book = partition_numbers.allocate(book, {site: pools}).book
            others = {key: value for key, value in before.items() if key[0] != site}
            assert {key: value for key, value in offsets(book).items() if key[0] != site} == others
        numbers = taken(book)
        assert len(numbers) == len(set(numbers))
        for facts in book["sites"].values():
            assert all(pool["offset"] + pool["size"] <= facts["partitions"] for pool in facts["pools"].values())


def plainly(book, wanted):
    """What C(allocate) has to do, told in the simplest way: one pool after the other, each looking at all numbers."""
    new = copy.deepcopy(book)
    for site, pools in wanted.items():
        entry = new["sites"].setdefault(site, {"partitions": 0, "pools": {}})
        for name in set(entry["pools"]) - set(pools):
            del entry["pools"][name]
        for name, size in pools.items():
            if name in entry["pools"]:
                entry["pools"][name]["size"] = min(entry["pools"][name]["size"], size)
    for site in sorted(wanted):
        for name, size in wanted[site].items():
            old = new["sites"][site]["pools"].pop(name, None)
            busy = set(taken(new))
            start = old["offset"] if old else 0
            if not old or not busy.isdisjoint(range(start, start + size)):
                busy |= set(range(old["offset"], old["offset"] + old["size"])) if old else set()
                start = next(n for n in range(len(busy) * 9 + 99) if busy.isdisjoint(range(n, n + size)))
            new["sites"][site]["pools"][name] = {"offset": start, "size": size}
    return new


@each_row("seed", range(15))
def test_every_pool_gets_the_place_that_it_got_ever_since(seed):
    rng = random.Random(seed)
    book = partition_numbers.empty_book()
    for _step in range(25):
        if rng.random() < 0.3:
            book = partition_numbers.forget(book, {rng.choice("abcdefgh"): []})
        sites = rng.sample("abcdefgh", rng.randint(1, 8))
        wanted = {site: {pool: rng.randint(1, 6) for pool in rng.sample("pqr", rng.randint(1, 3))} for site in sites}
        expected = plainly(book, wanted)
        book = partition_numbers.allocate(book, wanted).book
        assert offsets(book) == offsets(expected)


def test_overlapping_ranges_of_a_damaged_book_give_nobody_a_number_twice():
    pools = {"a": {"offset": 0, "size": 2}, "b": {"offset": 1, "size": 2}, "c": {"offset": 3, "size": 1}}
    book = {"partitions": 4, "sites": {site: {"partitions": 4, "pools": {"p": pool}} for site, pool in pools.items()}}
    book = partition_numbers.allocate(book, {"a": {"p": 3}, "b": {"p": 3}, "d": {"p": 1}}).book
    numbers = taken(book)
    assert len(numbers) == len(set(numbers))


HELD = {"a": {"p": (0, 2)}, "b": {"p": (2, 1)}, "c": {"p": (5, 2), "in-pool": (0, 3)}}


def test_a_lost_book_is_restored_from_the_numbers_of_the_keys():
    wanted = {"new": {"p": 1}, "b": {"p": 1}, "a": {"p": 2}}
    book = partition_numbers.allocate(partition_numbers.empty_book(), wanted, recorded=HELD).book
    assert offsets(book) == {("a", "p"): 0, ("b", "p"): 2, ("new", "p"): 3, ("c", "p"): 5}
    assert {site["partitions"] for site in book["sites"].values()} == {7}


@pytest.mark.parametrize(("wanted", "given"), [({"b": {}}, {}), ({"b": {"p": 1}}, {("b", "p"): 0})])
def test_a_book_without_ranges_is_not_lost(wanted, given):
    book = partition_numbers.identified(partition_numbers.empty_book())
    after = partition_numbers.allocate(book, wanted, recorded={"a": {"default": (0, 1)}, "b": {"default": (0, 1)}}).book
    assert offsets(after) == given
    assert given or after == book


def test_numbers_of_keys_change_nothing_where_the_book_has_the_site():
    book = joined(a={"p": 2}, b={"p": 1})
    moved = {"a": {"p": (7, 2)}, "z": {"p": (9, 1)}}
    assert partition_numbers.allocate(book, {"a": {"p": 2}, "b": {"p": 1}}, recorded=moved).book == book


def test_numbers_of_keys_that_someone_else_has_are_not_restored():
    book = partition_numbers.allocate(joined(b={"p": 3}), {"a": {"p": 2}}, recorded={"a": {"p": (1, 2)}}).book
    assert offsets(book) == {("b", "p"): 0, ("a", "p"): 3}


def test_dead_keys_of_sites_that_left_long_ago_are_dropped():
    book = partition_numbers.forget(joined(a={"p": 1}, b={"p": 1}), {"a": ["SHA256:x"]}, "2026-01-01T00:00:00+00:00")
    book = partition_numbers.forget(book, {"b": ["SHA256:y"]}, "2026-06-01T00:00:00+00:00")
    left = partition_numbers.without_left(book, "2026-03-01T00:00:00+00:00")
    assert left["left"] == {"b": ["SHA256:y"]} and list(left["left_since"]) == ["b"]
    assert "left" not in partition_numbers.without_left(left, "2026-07-01T00:00:00+00:00")
    assert partition_numbers.forget(book, {"a": ["SHA256:x"]}, "2026-12-01T00:00:00+00:00") == book
