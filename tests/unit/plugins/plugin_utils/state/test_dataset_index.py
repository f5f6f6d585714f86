# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which SuperNodes have which datasets, and which of those that are online lack one."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.state import site_indexes
from ansible_collections.federated.flower.plugins.plugin_utils.state.site_indexes import Files
from ansible_collections.federated.flower.tests.unit.rows import each_row


def record(site: str, **pools: list[str]) -> dict[str, Any]:
    """A site's record with node ids by pool."""
    keys = {
        f"SHA256:{node}": {"pool": pool, "name": str(number), "node_id": node, "public_key": "k"}
        for pool, nodes in pools.items()
        for number, node in enumerate(nodes)
    }
    return {"site": site, "region": None, "keys": keys, "retired": {}}


RECORDS = {"a": record("a", cpu=["1", "2"], gpu=["3"]), "b": record("b", cpu=["4"])}
INDEX = site_indexes.updated_datasets({}, {"a": {"cpu": ["ct", "mri"], "gpu": ["ct"]}, "b": {"cpu": []}}, RECORDS)


def test_nothing_is_written_while_no_site_has_a_dataset() -> None:
    assert site_indexes.updated_datasets({}, {"a": {"cpu": [], "gpu": []}}, RECORDS) == {}


def test_every_site_is_in_it_as_soon_as_one_has_a_dataset() -> None:
    assert INDEX == {
        "a": {"cpu": {"datasets": ["ct", "mri"], "nodes": ["1", "2"]}, "gpu": {"datasets": ["ct"], "nodes": ["3"]}},
        "b": {"cpu": {"datasets": [], "nodes": ["4"]}},
    }
    assert site_indexes.dataset_index_error(INDEX) == ""


def test_other_sites_keep_theirs_and_new_keys_count() -> None:
    renewed = {**RECORDS, "a": record("a", cpu=["7"], gpu=["3"])}
    index = site_indexes.updated_datasets(INDEX, {"b": {"cpu": ["ct"]}}, renewed)
    assert index["a"]["cpu"] == {"datasets": ["ct", "mri"], "nodes": ["7"]}
    assert index["b"]["cpu"] == {"datasets": ["ct"], "nodes": ["4"]}


def test_a_site_that_left_and_a_pool_that_was_dropped_are_not_in_it() -> None:
    index = site_indexes.updated_datasets(INDEX, {"a": {"cpu": ["ct"]}}, {"a": record("a", cpu=["1"])})
    assert index == {"a": {"cpu": {"datasets": ["ct"], "nodes": ["1"]}}}


def test_it_stays_when_the_last_dataset_is_dropped() -> None:
    index = site_indexes.updated_datasets(INDEX, {"a": {"cpu": [], "gpu": []}, "b": {"cpu": []}}, RECORDS)
    assert set(index) == {"a", "b"} and site_indexes.sites_by_dataset(index) == {}


def test_holders() -> None:
    assert site_indexes.sites_by_dataset(INDEX, ["x"]) == {"ct": ["a"], "mri": ["a"], "x": []}
    assert site_indexes.datasets_of(INDEX, "a") == {"cpu": ["ct", "mri"], "gpu": ["ct"]}
    assert site_indexes.datasets_of(INDEX, "b") == {} == site_indexes.datasets_of({}, "a")


@each_row(
    ("wanted", "online", "missing"),
    [
        (["ct"], ["1", "2", "3"], []),
        (["mri"], ["1"], []),
        (["mri"], ["1", "3"], ["dataset mri: a (pool gpu)"]),
        (["ct", "x"], ["1", "4"], ["dataset ct: b (pool cpu)", "dataset x: a (pool cpu), b (pool cpu)"]),
        (["ct"], ["1", "9"], ["dataset ct: SuperNodes that the ledger does not have (9)"]),
        ([], ["9"], []),
    ],
)
def test_lacking(wanted: list[str], online: list[str], missing: list[str]) -> None:
    assert site_indexes.missing_datasets(INDEX, wanted, online) == missing


def test_no_site_has_a_dataset() -> None:
    assert site_indexes.missing_datasets({}, ["ct"], ["1", "9"]) == ["dataset ct: no site has any dataset"]
    assert site_indexes.missing_datasets({}, ["ct"], []) == []


def test_changes_are_facts_for_the_audit_trail() -> None:
    assert site_indexes.changes({"cpu": ["ct"]}, {"cpu": ["mri"]}) == [
        {"pool": "cpu", "dataset": "ct", "change": "removed"},
        {"pool": "cpu", "dataset": "mri", "change": "added"},
    ]
    assert site_indexes.changes({"cpu": ["ct"]}, {"cpu": ["ct"]}) == []


@each_row(
    "index",
    [
        [], {"a": []}, {"a": {"cpu": {}}}, {"a": {"cpu": {"datasets": [], "nodes": None}}},
        {"a": {"cpu": {"datasets": [], "nodes": [], "promised": ["ct"]}}},
    ],
)  # fmt: skip
def test_a_damaged_index_is_found(index: Any) -> None:
    assert site_indexes.dataset_index_error(index)


def test_of_a_site_whose_deployment_failed_only_what_it_has_anyway_counts() -> None:
    index = site_indexes.updated_datasets(INDEX, {"a": {"cpu": ["ct", "new"], "gpu": []}}, RECORDS, doubtful={"a"})
    assert index["a"]["cpu"]["datasets"] == ["ct"] and index["a"]["gpu"]["datasets"] == []
    assert site_indexes.updated_datasets({}, {"a": {"cpu": ["ct"]}}, RECORDS, doubtful={"a"}) == {}


def test_a_site_whose_record_cannot_be_read_keeps_its_datasets() -> None:
    index = site_indexes.updated_datasets(INDEX, {"b": {"cpu": ["ct"]}}, {"b": RECORDS["b"]}, unreadable={"a": "not JSON"})
    assert index["a"] == INDEX["a"] and list(index) == ["a", "b"]


def test_a_site_that_left_is_taken_out() -> None:
    assert list(site_indexes.without_datasets(INDEX, ["a", "x"])) == ["b"] and site_indexes.without_datasets({}, ["a"]) == {}


def test_datasets_that_no_pool_of_a_site_has() -> None:
    assert site_indexes.absent_datasets(INDEX, "a", ["x", "ct"]) == ["x"] and site_indexes.absent_datasets(INDEX, "a", []) == []
    assert site_indexes.absent_datasets(INDEX, "b", ["ct"]) == ["ct"] == site_indexes.absent_datasets({}, "c", {"ct"})


def leaving(site: dict[str, Any], *nodes: str) -> dict[str, Any]:
    """The record with keys that leave."""
    return {**site, "keys": {name: {**key, "leaving": True} if key["node_id"] in nodes else key for name, key in site["keys"].items()}}


def test_a_supernode_that_serves_with_a_key_that_leaves_has_its_datasets() -> None:
    renewed = leaving(record("a", cpu=["1", "7"]), "1")
    index = site_indexes.updated_datasets(INDEX, {"a": {"cpu": ["ct"]}}, {"a": renewed})
    assert index["a"]["cpu"]["nodes"] == ["1", "7"] and site_indexes.missing_datasets(index, ["ct"], ["1"]) == []


def test_what_people_apply_counts_when_a_version_with_it_is_answered() -> None:
    before = {"a": {"cpu": {"datasets": ["ct"], "nodes": ["1"]}}}
    records = {"a": record("a", cpu=["1"])}

    def deployed(index: Any, version: int, answered: int, *names: str) -> Any:
        return site_indexes.updated_datasets(index, {"a": {"cpu": names}}, records, by_hand={"a": Files(version, answered)})

    index = deployed(before, 5, 4, "ct", "mri")
    assert index == {"a": {"cpu": {"datasets": ["ct"], "nodes": ["1"], "promised": {"mri": 5}}}}
    assert site_indexes.dataset_index_error(index) == "" and site_indexes.promised(index, "a") == {"cpu": {"mri": 5}}
    assert site_indexes.sites_by_dataset(index, ["mri"])["mri"] == [] and site_indexes.absent_datasets(index, "a", ["mri", "x"]) == ["x"]
    assert site_indexes.missing_datasets(index, ["mri"], ["1"]) == ["dataset mri: a (pool cpu)"]
    assert site_indexes.uncertain_datasets(index, ["mri"], ["1"]) == ["whether a has applied bundle version 5, which has dataset mri, is unknown"]
    assert site_indexes.uncertain_datasets(index, ["mri"], []) == site_indexes.uncertain_datasets(index, ["ct"], ["1"]) == []
    later = deployed(index, 6, 4, "ct", "mri", "x")
    assert later["a"]["cpu"]["promised"] == {"mri": 5, "x": 6}, "the first version with it is enough"
    assert site_indexes.updated_datasets(later, {}, records) == later, "another site is deployed"
    answered = deployed(later, 6, 5, "ct", "mri", "x")
    assert answered == {"a": {"cpu": {"datasets": ["ct", "mri"], "nodes": ["1"], "promised": {"x": 6}}}}
    assert deployed(answered, 7, 6, "ct", "mri", "x")["a"]["cpu"] == {"datasets": ["ct", "mri", "x"], "nodes": ["1"]}
    assert deployed(later, 7, 4, "ct")["a"]["cpu"] == {"datasets": ["ct"], "nodes": ["1"]}, "dropped again"


def test_a_promise_of_the_first_dataset_is_recorded() -> None:
    index = site_indexes.updated_datasets({}, {"b": {"cpu": ["ct"]}}, {"b": RECORDS["b"]}, by_hand={"b": Files(1, 0)})
    assert index == {"b": {"cpu": {"datasets": [], "nodes": ["4"], "promised": {"ct": 1}}}}
    failed = site_indexes.updated_datasets(index, {"b": {"cpu": ["ct"]}}, {"b": RECORDS["b"]}, doubtful={"b"})
    assert failed == index
    direct = site_indexes.updated_datasets(index, {"b": {"cpu": ["ct"]}}, {"b": RECORDS["b"]})
    assert direct == {"b": {"cpu": {"datasets": ["ct"], "nodes": ["4"]}}}


def test_a_pool_that_people_have_yet_to_delete_has_its_datasets() -> None:
    dropped = leaving(RECORDS["a"], "3")
    index = site_indexes.updated_datasets(INDEX, {"a": {"cpu": ["ct"]}}, {"a": dropped}, by_hand={"a": Files(5, 4)})
    assert index["a"]["gpu"] == {"datasets": ["ct"], "nodes": ["3"]}
    assert "gpu" not in site_indexes.updated_datasets(index, {"a": {"cpu": ["ct"]}}, {"a": record("a", cpu=["1"])}, by_hand={"a": Files(5, 4)})["a"]
