# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which SuperNodes the sites have: the hub's record for people who may read nothing else."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ledger import node_index


def record(site: str, region: str | None = None, **pools: list[str]) -> dict[str, Any]:
    """A site's record."""
    keys = {
        f"SHA256:{node}": {"pool": pool, "name": node, "node_id": node, "public_key": "k"} for pool, nodes in pools.items() for node in nodes
    }
    return {"site": site, "region": region, "keys": keys, "retired": {}}


RECORDS = {"a": record("a", "eu", cpu=["2", "1"], gpu=["3"]), "b": record("b", cpu=["4"])}
INDEX = {
    "sites": {"a": {"cpu": {"nodes": ["1", "2"]}, "gpu": {"nodes": ["3"]}}, "b": {"cpu": {"nodes": ["4"]}}},
    "regions": {"a": "eu", "b": ""},
}
# As releases wrote it that recorded the packages of images in it.
ENTRY = {"image": "r/app:1", "digest": "", "revision": "", "list": "3f", "why": "", "installs": False}
FORMER = {
    "lists": {"3f": "eJyr"},
    "serverapp": ENTRY,
    "sites": {"a": {"cpu": {**ENTRY, "nodes": ["1"]}}, "z": {"cpu": {**ENTRY, "nodes": ["9"]}}},
    "regions": {"a": "us", "z": "eu"},
}


def test_it_follows_the_records() -> None:
    assert node_index.updated({}, RECORDS) == INDEX and node_index.index_fault(INDEX) == ""
    assert node_index.updated(INDEX, RECORDS) == INDEX
    assert node_index.updated(INDEX, {"b": RECORDS["b"]}) == {"sites": {"b": INDEX["sites"]["b"]}}, "site a has left"
    assert node_index.updated({}, {}) == {} and node_index.updated(INDEX, {}) == {"sites": {}}


def test_a_site_whose_record_cannot_be_read_stays_as_it_is() -> None:
    assert node_index.updated(INDEX, {"b": RECORDS["b"]}, unreadable=["a", "new"]) == INDEX


def test_an_index_of_earlier_releases_is_read_and_loses_its_lists() -> None:
    assert node_index.index_fault(FORMER) == ""
    assert node_index.homes(FORMER) == {"1": "a", "9": "z"} and node_index.regions(FORMER) == {"a": "us", "z": "eu"}
    assert node_index.updated(FORMER, RECORDS) == INDEX
    kept = {"cpu": {"nodes": ["9"]}}
    assert node_index.updated(FORMER, RECORDS, unreadable=["z"]) == {
        "sites": {**INDEX["sites"], "z": kept}, "regions": {**INDEX["regions"], "z": "eu"}
    }  # fmt: skip


def test_sites_that_are_forgotten_leave_it() -> None:
    assert node_index.without(INDEX, ["a"]) == {"sites": {"b": INDEX["sites"]["b"]}, "regions": {"b": ""}}
    assert node_index.without({}, ["a"]) == {}


def test_pools_of_nodes() -> None:
    assert node_index.pools_of(INDEX, ["2", "4", "77"]) == ({"a": ["cpu"], "b": ["cpu"]}, ["77"])
    assert node_index.pools_of(INDEX, ["1", "3"]) == ({"a": ["cpu", "gpu"]}, [])
    assert node_index.pools_of({}, ["1"]) == ({}, ["1"])


def test_supernodes_that_serve_with_keys_that_leave_have_a_site() -> None:
    """Their pods were not restarted yet, or their pool is dropped and its pods still run."""
    found = record("a", cpu=["1", "7"], gpu=["3"])
    for name in ("SHA256:1", "SHA256:3"):
        found["keys"][name]["leaving"] = True
    assert node_index.homes(node_index.updated(INDEX, {"a": found})) == {"1": "a", "7": "a", "3": "a"}


@pytest.mark.parametrize("path", [("sites",), ("sites", "a"), ("sites", "a", "cpu"), ("regions",), ("regions", "a")])
def test_a_damaged_index_is_noticed(path: tuple[str, ...]) -> None:
    index = copy.deepcopy(INDEX)
    place: Any = index
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = ["x"]
    assert node_index.index_fault(index)
    assert node_index.index_fault([]) and node_index.index_fault({})
