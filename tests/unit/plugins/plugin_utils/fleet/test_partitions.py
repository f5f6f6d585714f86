# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partition numbers of the sites of a run: what a fleet gets whose pools do not count across it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import partitions
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import PoolSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import partition_numbers, records
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger
from ansible_collections.federated.flower.tests.unit.recorded_run import RecordedRun
from ansible_collections.federated.flower.tests.unit.rows import each_row


class Kept(Ledger):
    """The ledger of a fleet whose sites have records: site -> pool -> numbers of its keys."""

    def __init__(self, sites: Mapping[str, Mapping[str, Sequence[int]]], apart: Sequence[str] = ()) -> None:
        self.book = partition_numbers.empty_book()
        self.records = {}
        for site, pools in sites.items():
            keys = [
                {"pool": one, "name": str(n), "fingerprint": f"{site}{one}{n}", "public_key": "x"}
                for one, found in pools.items()
                for n in found
            ]
            self.records[site] = records.merge_keys(records.empty_record(site), keys, None, apart)

    def read_sites(self) -> tuple[dict[str, records.Record], dict[str, str]]:
        return self.records, {}

    def noted_identity(self) -> str:
        return ""

    def change_book(self, change: Callable[[partition_numbers.Book], partition_numbers.Book]) -> bool:
        before, self.book = self.book, change(self.book)
        return self.book != before


def pool(name: str, number: str, replicas: int) -> PoolSpec:
    return PoolSpec(name=name, replicas=replicas, node_config={"partition-id": number})


def allocate(
    ledger: Ledger, partitions_: int | None = None, places: Any = None, running: Mapping[str, Any] | None = None, **pools: PoolSpec
) -> tuple[partitions.Numbers, Outcomes]:
    run, chosen = RecordedRun(), {site: [one] for site, one in pools.items()}
    outcomes = Outcomes(run, chosen, 1)
    seen = running or {}
    numbers = partitions.allocate(
        run, outcomes, ledger, chosen, lambda names: {name: seen.get(name, {}) for name in names}, partitions=partitions_, repartition=False, places=places
    )
    return numbers, outcomes


def faults(outcomes: Outcomes) -> dict[str, str]:
    return {name: outcome.msg for name, outcome in outcomes.sites.items() if outcome.failed}


INDEXED = pool("default", "{index}", 2)


def test_sites_that_count_inside_themselves_take_no_numbers_of_the_fleet() -> None:
    ledger = Kept({"a": {"default": range(2)}, "b": {"default": range(2)}})
    ledger.book = partition_numbers.identified(ledger.book)
    for chosen in ({"b": INDEXED}, {"a": INDEXED}, {"b": INDEXED}):
        (outcome,) = allocate(ledger, **chosen)[1].sites.values()
        assert not outcome.changed, "a second run, of one batch of the fleet"
    assert (ledger.book["partitions"], ledger.book["sites"]) == (0, {})
    assert allocate(ledger, new=pool("cpu", "{partition}", 2))[0].allocation["new"]["cpu"] == {
        "offset": 0,
        "partitions": 2,
    }


def test_a_site_that_moves_to_another_namespace_is_removed_from_its_former_one_first() -> None:
    """Its pods there would keep their GPUs, and no run would delete them."""
    ledger = Kept({"a": {"default": range(2)}, "b": {"default": range(2)}})
    for site in ("a", "b"):
        ledger.records[site] |= {"delivery": "direct", "namespace": "lab"}
    for place, refused in (({"a": "ward", "b": "lab"}, {"a"}), ({"b": "lab"}, set())):
        found, outcomes = allocate(ledger, places=place, a=INDEXED, b=INDEXED)
        assert set(faults(outcomes)) == refused and set(found.allocation) == {"a", "b"} - refused
        assert all("--limit a -e supernode_namespace=lab" in fault for fault in faults(outcomes).values())


def test_a_lost_book_is_restored_and_gets_an_identity() -> None:
    ledger = Kept({"a": {"cpu": range(2)}, "b": {"cpu": range(2, 3)}})
    found, _outcomes = allocate(ledger, b=pool("cpu", "{partition}", 1))
    assert found.identity == ledger.book["id"] and found.identity
    assert {site: entry["pools"]["cpu"]["offset"] for site, entry in ledger.book["sites"].items()} == {"a": 0, "b": 2}


def test_sites_that_count_inside_themselves_take_no_numbers_of_others_when_the_book_is_lost() -> None:
    ledger = Kept({"a": {"default": range(2)}, "b": {"cpu": range(2)}}, apart=["default"])
    allocate(ledger, c=INDEXED)
    assert {site: entry["pools"] for site, entry in ledger.book["sites"].items()} == {
        "b": {"cpu": {"offset": 0, "size": 2}}
    }


@each_row(
    ("start", "fixed", "offset"),
    [
        (4, None, 4),
        (4, 6, 4),
        (5, 6, 2),
        (1001, None, 1001),
        *[(odd, None, 2) for odd in ("x", "4", None, {}, [1], 1.5, True, -1, 10**9)],
        *[(odd, 6, 2) for odd in ("x", 10**9)],
    ],
)
def test_numbers_that_a_site_itself_reports_are_taken_over_if_they_fit_the_fleet(start: Any, fixed: int | None, offset: int) -> None:
    ledger = Kept({"a": {"cpu": range(2)}})
    two = pool("cpu", "{partition}", 2)
    allocate(ledger, a=two)
    found, outcomes = allocate(ledger, fixed, running={"b": {"cpu": (start, 2)}}, a=two, b=two)
    assert not faults(outcomes) and found.allocation["b"]["cpu"]["offset"] == offset
    assert ledger.book["partitions"] == (fixed or offset + 2)
    assert [words.startswith("b: the pods of its pool cpu count from ") for words in outcomes["b"].warnings] == [True] * (start != offset)


def test_pools_without_a_range() -> None:
    pools = [INDEXED, pool("cpu", "{partition}", 1), PoolSpec(name="nodes", mode="DaemonSet")]
    assert partitions.without_range(pools) == ["default", "nodes"]


def test_the_number_of_partitions_of_a_fleet_without_any_is_not_known() -> None:
    """That is told before the site gets a key, and not of a pool without a SuperNode."""
    counts = pool("cpu", "{partitions}", 2)
    found = faults(allocate(Kept({}), a=counts, b=INDEXED)[1])
    assert list(found) == ["a"] and "node_config of pool cpu has {partitions}, and the fleet has none yet" in found["a"]
    assert "set flower_partitions" in found["a"]
    assert faults(allocate(Kept({}), a=counts, b=pool("cpu", "{partition}", 1))[1]) == {}
    fixed, outcomes = allocate(Kept({}), 5, a=counts)
    assert faults(outcomes) == {} and fixed.allocation["a"]["cpu"]["partitions"] == 5
    assert faults(allocate(Kept({}), a=pool("cpu", "{partitions}", 0))[1]) == {}


@pytest.mark.parametrize("number", ["{partition}", "{partitions}"])
def test_a_fleet_whose_pools_have_no_supernode_yet_can_be_rendered(parsed_site: Callable[..., Any], number: str) -> None:
    config = {"partition-id": number, "num-partitions": "{partitions}"}
    spec = parsed_site(pools=[{"name": "cpu", "replicas": 0, "node_config": config}])
    found, _outcomes = allocate(Kept({}), a=spec.pools[0])
    assert supernode.expansion(replace(spec, allocation=found.allocation["a"]), spec.pools[0]).argument


def test_a_site_without_a_supernode_counts_with_no_older_number() -> None:
    ledger = Kept({})
    allocate(ledger, a=pool("cpu", "{partition}", 0))
    assert allocate(ledger, b=pool("cpu", "{partition}", 2))[1]["b"].warnings == []
    (warning,) = allocate(ledger, a=pool("cpu", "{partition}", 3))[1]["a"].warnings  # none that its partitions move: it had none
    assert warning.startswith("b still uses fewer than the fleet's 5 partitions")


class Published:
    """A hub with what it publishes."""

    def get(self, _api: str, _kind: str, _name: str, _namespace: str) -> Any:
        return {"data": {"address": "192.0.2.1:30000", "ca.crt": "old", "server_name": "fixed", "version": "1.41.0"}}


def test_sites_are_compared_with_what_the_hub_would_publish() -> None:
    hub: Any = Published()
    foreseen = {"address": "flower.example.com:443", "ca_bundle": "new", "server_name": "flower.example.com"}
    assert partitions.publication(hub, "hub", "flower", check=True, foreseen=foreseen) == {**foreseen, "version": "1.41.0"}
    assert partitions.publication(hub, "hub", "flower", check=True)["address"] == "192.0.2.1:30000"
