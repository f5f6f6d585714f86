# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which SuperNodes the sites have: the hub's record for people who may read nothing else."""

from __future__ import annotations

import copy
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.state import site_indexes
from ansible_collections.federated.flower.tests.unit.rows import each_row


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
    assert site_indexes.updated_nodes({}, RECORDS) == INDEX and site_indexes.node_index_error(INDEX) == ""
    assert site_indexes.updated_nodes(INDEX, RECORDS) == INDEX
    assert site_indexes.updated_nodes(INDEX, {"b": RECORDS["b"]}) == {"sites": {"b": INDEX["sites"]["b"]}}, "site a has left"
    assert site_indexes.updated_nodes({}, {}) == {} and site_indexes.updated_nodes(INDEX, {}) == {"sites": {}}


def test_a_site_whose_record_cannot_be_read_stays_as_it_is() -> None:
    assert site_indexes.updated_nodes(INDEX, {"b": RECORDS["b"]}, unreadable=["a", "new"]) == INDEX


def test_an_index_of_earlier_releases_is_read_and_loses_its_lists() -> None:
    assert site_indexes.node_index_error(FORMER) == ""
    assert site_indexes.sites_by_node(FORMER) == {"1": "a", "9": "z"} and site_indexes.regions(FORMER) == {"a": "us", "z": "eu"}
    assert site_indexes.updated_nodes(FORMER, RECORDS) == INDEX
    kept = {"cpu": {"nodes": ["9"]}}
    assert site_indexes.updated_nodes(FORMER, RECORDS, unreadable=["z"]) == {
        "sites": {**INDEX["sites"], "z": kept}, "regions": {**INDEX["regions"], "z": "eu"}
    }  # fmt: skip


def test_sites_that_are_forgotten_leave_it() -> None:
    assert site_indexes.without_site(INDEX, ["a"]) == {"sites": {"b": INDEX["sites"]["b"]}, "regions": {"b": ""}}
    assert site_indexes.without_site({}, ["a"]) == {}


def test_pools_of_nodes() -> None:
    assert site_indexes.pools_of(INDEX, ["2", "4", "77"]) == ({"a": ["cpu"], "b": ["cpu"]}, ["77"])
    assert site_indexes.pools_of(INDEX, ["1", "3"]) == ({"a": ["cpu", "gpu"]}, [])
    assert site_indexes.pools_of({}, ["1"]) == ({}, ["1"])


def test_supernodes_that_serve_with_keys_that_leave_have_a_site() -> None:
    """Their pods were not restarted yet, or their pool is dropped and its pods still run."""
    found = record("a", cpu=["1", "7"], gpu=["3"])
    for name in ("SHA256:1", "SHA256:3"):
        found["keys"][name]["leaving"] = True
    assert site_indexes.sites_by_node(site_indexes.updated_nodes(INDEX, {"a": found})) == {"1": "a", "7": "a", "3": "a"}


@each_row("path", [("sites",), ("sites", "a"), ("sites", "a", "cpu"), ("regions",), ("regions", "a")])
def test_a_damaged_index_is_noticed(path: tuple[str, ...]) -> None:
    index = copy.deepcopy(INDEX)
    place: Any = index
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = ["x"]
    assert site_indexes.node_index_error(index)
    assert site_indexes.node_index_error([]) and site_indexes.node_index_error({})
