# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages the images of apps hold: the hub's record of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import package_list
from ansible_collections.federated.flower.plugins.plugin_utils.base.digests import canonical
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import package_index
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.package_index import Held
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.ledger.test_dataset_index import (
    RECORDS,
    record,
)

CPU = Held("r/app:1", "r/app@sha256:11", "r1", "list-1")
GPU = Held("r/app-gpu:1", "r/app-gpu@sha256:22", "r1", "list-2")
UNKNOWN = Held("r/app@sha256:11", why="nobody can ask", installs=True)
INDEX = package_index.updated({}, {"a": {"cpu": CPU, "gpu": GPU}, "b": {"cpu": CPU}}, RECORDS, CPU)


def test_a_list_is_stored_once() -> None:
    assert sorted(INDEX["lists"].values()) == ["list-1", "list-2"]
    assert INDEX["sites"]["a"]["cpu"]["nodes"] == ["1", "2"] and INDEX["sites"]["b"]["cpu"]["nodes"] == ["4"]
    assert package_index.of_site(INDEX, "a") == {"cpu": CPU, "gpu": GPU}
    assert package_index.of_serverapp(INDEX) == CPU
    assert package_index.index_fault(INDEX) == ""


def test_nodes_have_a_site() -> None:
    assert package_index.homes(INDEX) == {"1": "a", "2": "a", "3": "a", "4": "b"}
    assert package_index.homes({}) == {}


def test_the_same_deployment_changes_nothing() -> None:
    assert package_index.updated(INDEX, {"a": {"cpu": CPU, "gpu": GPU}}, RECORDS, CPU) == INDEX
    assert package_index.updated(INDEX, {}, RECORDS, None) == INDEX
    assert package_index.updated({}, {}, {}, None) == {}


def test_lists_that_nobody_uses_are_dropped() -> None:
    after = package_index.updated(INDEX, {"a": {"cpu": CPU}}, {**RECORDS, "a": record("a", cpu=["1", "2"])}, None)
    assert list(after["lists"].values()) == ["list-1"]
    assert list(package_index.without(INDEX, ["a"])["lists"].values()) == ["list-1"]
    assert package_index.without({}, ["a"]) == {}


def test_sites_that_left_are_dropped_and_those_that_cannot_be_read_stay() -> None:
    after = package_index.updated(INDEX, {"b": {"cpu": CPU}}, {"b": RECORDS["b"]}, None, unreadable={"a": "not JSON"})
    assert after == INDEX
    assert list(package_index.updated(INDEX, {}, {"b": RECORDS["b"]}, None)["sites"]) == ["b"]


def test_new_node_ids_of_other_sites_are_taken_over() -> None:
    renewed = {**RECORDS, "b": record("b", cpu=["9"])}
    after = package_index.updated(INDEX, {"a": {"cpu": CPU, "gpu": GPU}}, renewed, None)
    assert after["sites"]["b"]["cpu"]["nodes"] == ["9"]
    assert package_index.of_site(after, "b") == {"cpu": CPU}


def test_an_image_that_nobody_can_ask_is_known_by_its_digest() -> None:
    index = package_index.updated(INDEX, {"b": {"cpu": UNKNOWN}}, RECORDS, None)
    assert package_index.of_site(index, "b")["cpu"] == UNKNOWN  # what is recorded of the site itself
    ((_site, _pool, held),) = package_index.of_nodes(index, ["4"])[0]
    assert (held.listed, held.installs) == ("list-1", True)
    other = package_index.updated(INDEX, {"b": {"cpu": Held("r/app:1", why="x")}}, RECORDS, None)
    assert package_index.of_nodes(other, ["4"])[0][0][2].listed == ""  # a tag can be moved


def test_what_another_site_says_of_an_image_does_not_count() -> None:
    """Its API server says which digest runs there, and its pods what is in it."""
    unknown = Held("r/app@sha256:11", "r/app@sha256:11", "r1", why="nobody can ask")
    for lie in (Held("r/app@sha256:11", "r/app@sha256:11", "r1", "lie"), Held("x", "y@sha256:11", "r1", "lie"), Held("x", "sha256:11", "", "lie")):
        index = package_index.updated({}, {"a": {"cpu": unknown}, "b": {"cpu": lie}}, RECORDS, None)
        assert {site: held.listed for site, _pool, held in package_index.of_nodes(index, ["1", "4"])[0]} == {"a": "", "b": "lie"}
    index = package_index.updated({}, {"a": {"cpu": unknown, "gpu": CPU}}, RECORDS, None)
    assert {held.listed for _site, _pool, held in package_index.of_nodes(index, ["1", "3"])[0]} == {"list-1"}, "another pool of the same site"
    index = package_index.updated({}, {"a": {"cpu": UNKNOWN}, "b": {"cpu": CPU}}, RECORDS, Held("r/app@sha256:11", why="x"))
    server = package_index.of_serverapp(index)
    assert server is not None and server.listed == ""


def large(number: int, size: int) -> Held:
    return Held("r/app:1", f"r/app@sha256:{number}", "r1", f"{number:09}".ljust(size, "x"))


HOSTILE = {
    "one list of 1 MiB": {"cpu": large(1, 1024 * 1024)},
    "one list just beyond the bound": {"cpu": large(1, package_list.PACKED + 1)},
    "many pools with lists of their own": {f"p{number}": large(number, package_list.PACKED) for number in range(40)},
    "many pools with small lists": {f"p{number}": large(number, 10_000) for number in range(400)},
    "a digest of 1 MiB": {"cpu": Held("r/app:1", "d" * 1024 * 1024, "r1", "list-9")},
    "a revision of 1 MiB": {"cpu": Held("r/app:1", "d", "r" * 1024 * 1024, "list-9")},
    "an image of 1 MiB": {"cpu": Held("i" * 1024 * 1024, "d", "r")},
    "an error of 1 MiB": {"cpu": Held("r/app:1", "d", "r", why="\u202e" * 1024 * 1024)},
}


@pytest.mark.parametrize("pools", HOSTILE.values(), ids=HOSTILE.keys())
@pytest.mark.parametrize("before", [{}, INDEX], ids=["new", "known"])
def test_no_site_fills_the_index_of_all(pools: dict[str, Held], before: dict[str, Any]) -> None:
    index = package_index.updated(before, {"b": pools, "a": {"cpu": CPU, "gpu": GPU}}, RECORDS, CPU)
    assert len(canonical(index)) < 900 * 1024 and package_index.index_fault(index) == ""
    assert package_index.of_site(index, "a") == {"cpu": CPU, "gpu": GPU} and package_index.of_serverapp(index) == CPU
    assert sum(len(text) for text in index["lists"].values()) <= package_index.SITE + 20
    assert package_index.updated(index, {}, RECORDS, None) == index


def test_what_is_left_out_has_a_reason() -> None:
    index = package_index.updated({}, {"b": {"cpu": large(1, package_list.PACKED + 1)}}, RECORDS, None)
    assert package_index.of_site(index, "b")["cpu"].why == "its list of packages is too large to be recorded"


def test_many_sites_that_fill_the_index_take_no_place_of_others() -> None:
    sites = {f"s{number}": {"cpu": large(number, package_list.PACKED)} for number in range(30)}
    records = {**RECORDS, **{site: record(site, cpu=[site]) for site in sites}}
    index = package_index.updated(INDEX, sites, records, None)
    assert len(canonical(index)) < 900 * 1024
    assert package_index.of_site(index, "a") == {"cpu": CPU, "gpu": GPU} and package_index.of_serverapp(index) == CPU
    late = package_index.updated(index, {"b": {"cpu": Held("r/other:1", "r/other@sha256:77", "r1", "list-7")}}, records, None)
    assert package_index.of_site(late, "b")["cpu"].listed == "list-7"


def test_pools_of_nodes() -> None:
    found, strange = package_index.of_nodes(INDEX, ["2", "4", "77"])
    assert [(site, pool) for site, pool, _held in found] == [("a", "cpu"), ("b", "cpu")]
    assert strange == ["77"]
    assert package_index.of_nodes({}, ["1"]) == ([], ["1"])


def test_what_is_known_already_is_not_asked_again() -> None:
    assert Held("r/app:1", "r/app@sha256:11", "r1").is_like(CPU)
    assert not Held("r/app:1", "r/app@sha256:11", "r2").is_like(CPU)
    assert not Held("r/app:1", "", "r1").is_like(CPU) and not CPU.is_like(None)
    assert not CPU.is_like(Held("r/app:1", "r/app@sha256:11", "r1"))


def test_changes_are_those_of_packages() -> None:
    assert package_index.changes({"cpu": CPU}, {"cpu": Held("r/app:2", "d", "r9", "list-1")}) == []
    assert package_index.changes({"cpu": CPU}, {"cpu": GPU, "x": UNKNOWN}) == [
        "packages of pool cpu: image r/app-gpu:1",
        "packages of pool x: image r/app@sha256:11 (not known)",
    ]


@pytest.mark.parametrize(
    "path",
    [
        ("sites",),
        ("lists",),
        ("sites", "a"),
        ("sites", "a", "cpu"),
        ("sites", "a", "cpu", "why"),
        ("serverapp", "installs"),
    ],
)
def test_a_damaged_index_is_noticed(path: tuple[str, ...]) -> None:
    index = copy.deepcopy(INDEX)
    place: Any = index
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = ["x"]
    assert package_index.index_fault(index)
    assert package_index.index_fault([]) and package_index.index_fault({})


def test_supernodes_that_serve_with_keys_that_leave_have_a_site() -> None:
    """Their pods were not restarted yet, or their pool is dropped and its pods still run."""
    found = record("a", cpu=["1", "7"], gpu=["3"])
    for name in ("SHA256:1", "SHA256:3"):
        found["keys"][name]["leaving"] = True
    after = package_index.updated(INDEX, {"a": {"cpu": CPU}}, {"a": found}, None)
    assert package_index.homes(after) == {"1": "a", "7": "a", "3": "a"} and package_index.of_site(after, "a")["gpu"] == GPU


def test_pods_that_have_not_been_asked_yet() -> None:
    index = package_index.updated({}, {"a": {"cpu": Held("r/app:1", why=package_index.NOT_ASKED), "gpu": GPU}}, RECORDS, None)
    assert package_index.asked_of_site(index, "a") == {"gpu": GPU} and package_index.homes(index)["1"] == "a"
