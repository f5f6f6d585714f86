# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partition numbers of the sites of a run: what a fleet gets whose pools do not count across it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import partitions
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import PoolSpec
from ansible_collections.federated.flower.plugins.plugin_utils.state import partition_numbers, records
from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import Ledger


class Run:
    """What the numbers need of a run."""

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        pass


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


def allocate(ledger: Ledger, **pools: PoolSpec) -> partitions.Numbers:
    chosen = {site: [one] for site, one in pools.items()}
    return partitions.allocate(
        Run(), ledger, chosen, lambda names: dict.fromkeys(names, {}), partitions=None, repartition=False
    )


INDEXED = pool("default", "{index}", 2)


def test_sites_that_count_inside_themselves_take_no_numbers_of_the_fleet() -> None:
    ledger = Kept({"a": {"default": range(2)}, "b": {"default": range(2)}})
    ledger.book = partition_numbers.identified(ledger.book)
    for chosen in ({"b": INDEXED}, {"a": INDEXED}, {"b": INDEXED}):
        assert allocate(ledger, **chosen).changed == set(), "a second run, of one batch of the fleet"
    assert (ledger.book["partitions"], ledger.book["sites"]) == (0, {})
    assert allocate(ledger, new=pool("cpu", "{partition}", 2)).allocation["new"]["cpu"] == {
        "offset": 0,
        "partitions": 2,
    }


def test_a_site_that_moves_to_another_namespace_is_removed_from_its_former_one_first() -> None:
    """Its pods there would keep their GPUs, and no run would delete them."""
    ledger = Kept({"a": {"default": range(2)}, "b": {"default": range(2)}})
    for site in ("a", "b"):
        ledger.records[site] |= {"delivery": "direct", "namespace": "lab"}
    chosen = {site: [INDEXED] for site in ("a", "b")}
    for place, refused in (({"a": "ward", "b": "lab"}, {"a"}), ({"b": "lab"}, set())):
        found = partitions.allocate(
            Run(), ledger, chosen, lambda names: dict.fromkeys(names, {}), partitions=None, repartition=False, places=place
        )  # fmt: skip
        assert set(found.faults) == refused and set(found.allocation) == set(chosen) - refused
        assert all("--limit a -e supernode_namespace=lab" in fault for fault in found.faults.values())


def test_a_lost_book_is_restored_and_gets_an_identity() -> None:
    ledger = Kept({"a": {"cpu": range(2)}, "b": {"cpu": range(2, 3)}})
    found = allocate(ledger, b=pool("cpu", "{partition}", 1))
    assert found.identity == ledger.book["id"] and found.identity
    assert {site: entry["pools"]["cpu"]["offset"] for site, entry in ledger.book["sites"].items()} == {"a": 0, "b": 2}


def test_sites_that_count_inside_themselves_take_no_numbers_of_others_when_the_book_is_lost() -> None:
    ledger = Kept({"a": {"default": range(2)}, "b": {"cpu": range(2)}}, apart=["default"])
    allocate(ledger, c=INDEXED)
    assert {site: entry["pools"] for site, entry in ledger.book["sites"].items()} == {
        "b": {"cpu": {"offset": 0, "size": 2}}
    }


def test_pools_without_a_range() -> None:
    pools = [INDEXED, pool("cpu", "{partition}", 1), PoolSpec(name="nodes", mode="DaemonSet")]
    assert partitions.without_range(pools) == ["default", "nodes"]


def test_the_number_of_partitions_of_a_fleet_without_any_is_not_known() -> None:
    """That is told before the site gets a key, and not of a pool without a SuperNode."""
    counts = pool("cpu", "{partitions}", 2)
    faults = allocate(Kept({}), a=counts, b=INDEXED).faults
    assert list(faults) == ["a"] and "node_config of pool cpu has {partitions}, and the fleet has none yet" in faults["a"]
    assert "set flower_partitions" in faults["a"]
    assert allocate(Kept({}), a=counts, b=pool("cpu", "{partition}", 1)).faults == {}
    fixed = partitions.allocate(Run(), Kept({}), {"a": [counts]}, lambda names: dict.fromkeys(names, {}), partitions=5, repartition=False)
    assert fixed.faults == {} and fixed.allocation["a"]["cpu"]["partitions"] == 5
    assert allocate(Kept({}), a=pool("cpu", "{partitions}", 0)).faults == {}


@pytest.mark.parametrize("number", ["{partition}", "{partitions}"])
def test_a_fleet_whose_pools_have_no_supernode_yet_can_be_rendered(parsed_site: Callable[..., Any], number: str) -> None:
    config = {"partition-id": number, "num-partitions": "{partitions}"}
    spec = parsed_site(pools=[{"name": "cpu", "replicas": 0, "node_config": config}])
    found = allocate(Kept({}), a=spec.pools[0])
    assert supernode.expansion(replace(spec, allocation=found.allocation["a"]), spec.pools[0]).argument


def test_a_site_without_a_supernode_counts_with_no_older_number() -> None:
    ledger = Kept({})
    allocate(ledger, a=pool("cpu", "{partition}", 0))
    assert allocate(ledger, b=pool("cpu", "{partition}", 2)).warnings == []
    (warning,) = allocate(ledger, a=pool("cpu", "{partition}", 3)).warnings  # none that its partitions move: it had none
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
