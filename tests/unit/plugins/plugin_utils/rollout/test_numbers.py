# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Partition numbers of the sites of a run: what a fleet gets whose pools do not count across it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.ledger import ranges, records
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.rollout import numbers
from ansible_collections.federated.flower.plugins.plugin_utils.spec.pool_spec import PoolSpec


class Run:
    """What the numbers need of a run."""

    def note(self, site: str | None = None, **facts: Iterable[Any]) -> None:
        pass


class Kept(Ledger):
    """The ledger of a fleet whose sites have records: site -> pool -> numbers of its keys."""

    def __init__(self, sites: Mapping[str, Mapping[str, Sequence[int]]], apart: Sequence[str] = ()) -> None:
        self.book = ranges.empty_book()
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

    def change_book(self, change: Callable[[ranges.Book], ranges.Book]) -> bool:
        before, self.book = self.book, change(self.book)
        return self.book != before


def pool(name: str, number: str, replicas: int) -> PoolSpec:
    return PoolSpec(name=name, replicas=replicas, node_config={"partition-id": number})


def allocate(ledger: Ledger, **pools: PoolSpec) -> numbers.Numbers:
    chosen = {site: [one] for site, one in pools.items()}
    return numbers.allocate(
        Run(), ledger, chosen, lambda names: dict.fromkeys(names, {}), partitions=None, repartition=False
    )


INDEXED = pool("default", "{index}", 2)


def test_sites_that_count_inside_themselves_take_no_numbers_of_the_fleet() -> None:
    ledger = Kept({"a": {"default": range(2)}, "b": {"default": range(2)}})
    ledger.book = ranges.identified(ledger.book)
    for chosen in ({"b": INDEXED}, {"a": INDEXED}, {"b": INDEXED}):
        assert allocate(ledger, **chosen).changed == set(), "a second run, of one batch of the fleet"
    assert (ledger.book["partitions"], ledger.book["sites"]) == (0, {})
    assert allocate(ledger, new=pool("cpu", "{partition}", 2)).allocation["new"]["cpu"] == {
        "offset": 0,
        "partitions": 2,
    }


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
    assert numbers.without_range(pools) == ["default", "nodes"]

class Published:
    """A hub with what it publishes."""

    def get(self, _api: str, _kind: str, _name: str, _namespace: str) -> Any:
        return {"data": {"address": "192.0.2.1:30000", "ca.crt": "old", "server_name": "fixed", "version": "1.41.0"}}


def test_sites_are_compared_with_what_the_hub_would_publish() -> None:
    hub: Any = Published()
    foreseen = {"address": "flower.example.com:443", "ca_bundle": "new", "server_name": "flower.example.com"}
    assert numbers.publication(hub, "hub", "flower", check=True, foreseen=foreseen) == {**foreseen, "version": "1.41.0"}
    assert numbers.publication(hub, "hub", "flower", check=True)["address"] == "192.0.2.1:30000"
