# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which packages the images of apps hold: the hub's record of it."""

from __future__ import annotations

import copy
from typing import Any

import pytest

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
