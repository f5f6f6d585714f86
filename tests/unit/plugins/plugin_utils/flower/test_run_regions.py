# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A run starts only while no SuperNode outside of its regions is online, ends when one comes, and is judged by what was online."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import run_regions, run_sites
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.following import parse_report
from ansible_collections.federated.flower.plugins.plugin_utils.flower.runs import Run
from ansible_collections.federated.flower.plugins.plugin_utils.state import site_indexes
from ansible_collections.federated.flower.tests.unit.passing_time import Time
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.test_following import Watch

HOMES = {"1": "site-a", "2": "site-a", "3": "site-b", "4": "site-c"}
PLACES = {"site-a": "eu", "site-b": "us", "site-c": ""}
EU = run_regions.Regions(("eu",), HOMES, PLACES)


def border(newer: run_regions.Regions | str = EU) -> run_regions.Border:
    """The border of a run, whose records say something else when they are read again, or cannot be read."""

    def again() -> run_regions.Regions:
        if isinstance(newer, str):
            raise ClusterError(newer)
        return newer

    return run_regions.Border(EU, again)


class Cli:
    """Flower's command line, which lists other nodes each time."""

    def __init__(self, *lists: dict[str, dict[str, str]]) -> None:
        self.lists = list(lists)

    def nodes(self) -> dict[str, dict[str, str]]:
        return self.lists.pop(0) if len(self.lists) > 1 else self.lists[0]


def nodes(*online: str) -> dict[str, dict[str, str]]:
    return {node: {"status": "online" if node in online else "offline"} for node in (*HOMES, *online)}


def test_others_are_named() -> None:
    assert EU.outside(["1", "2"]) == [] and EU.inside() == ["site-a"]
    assert EU.outside(["1", "3", "4", "9"]) == [
        "1 SuperNode of no known site", "1 SuperNode of site-b (region us)", "1 SuperNode of site-c (without a region)",
    ]  # fmt: skip


def test_nothing_starts_while_others_are_online(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    assert run_regions.require(Cli(nodes("1")), border(), 0, said.append) == {"regions": ["eu"], "region_sites": ["site-a"]}
    with pytest.raises(FlowerError, match=r"nothing was submitted.*site-b \(region us\)"):
        run_regions.require(Cli(nodes("1", "3")), border(), 0, said.append)
    with pytest.raises(FlowerError, match="no SuperNode of eu is online"):
        run_regions.require(Cli(nodes()), border(), 0, said.append)
    monkeypatch.setattr(run_regions.time, "sleep", lambda _seconds: None)
    assert run_regions.require(Cli(nodes("1", "3"), nodes("1", "3"), nodes("1")), border(), 60, said.append)["region_sites"] == ["site-a"]
    assert said == ["waiting until they are offline: 1 SuperNode of site-b (region us)"]


def test_a_site_that_joins_while_others_are_waited_for_is_no_stranger() -> None:
    newer = run_regions.Regions(("eu",), {**HOMES, "9": "site-d"}, {**PLACES, "site-d": "eu"})
    assert run_regions.require(Cli(nodes("1", "9")), border(newer), 0, str)["region_sites"] == ["site-a", "site-d"]


def test_a_run_ends_when_another_comes_online() -> None:
    watch = Watch()
    fence = border().watched(watch)
    running = Run("5", "running")
    for message in ({"nodes": {"1": "online"}}, {"nodes": {"3": "offline"}}, {}):
        fence.report(parse_report(running, message))
    with pytest.raises(run_regions.LeftRegion, match=r"came online while it ran: 1 SuperNode of site-b"):
        fence.report(parse_report(running, {"nodes": {"1": "online", "3": "online"}}))
    fence.report(parse_report(Run("5", "finished:completed"), {"nodes": {"3": "online"}}))
    assert len(watch.reports) == 5, "all of it is shown"


def clock(monkeypatch: pytest.MonkeyPatch) -> Time:
    """The time that the border of a run sees."""
    found = Time()
    monkeypatch.setattr(run_regions, "time", found)
    return found


def test_a_run_ends_when_its_supernodes_are_not_listed_any_more(monkeypatch: pytest.MonkeyPatch) -> None:
    now, running = clock(monkeypatch), Run("5", "running")
    found = border()
    fence = found.watched(Watch())
    now.now += 3600  # the connection was lost
    fence.report(parse_report(running, {}))
    now.now += 299
    fence.report(parse_report(running, {}))
    fence.report(parse_report(running, {"nodes": {"1": "online"}}))
    assert found.unseen == 3899, "this is said at the end"
    fence.report(parse_report(running, {}))
    now.now += 300
    with pytest.raises(run_regions.LeftRegion, match="has not listed its SuperNodes for 300 s"):
        fence.report(parse_report(running, {}))
    fence.report(parse_report(Run("5", "finished:completed"), {}))
    assert found.unseen == 4199


def test_a_look_without_supernodes_does_not_excuse_an_unknown_one(monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock(monkeypatch)
    fence = border("no answer").watched(Watch())
    unknown = parse_report(Run("5", "running"), {"nodes": {"9": "online"}})
    with pytest.raises(FlowerError, match="are unknown"):
        fence.report(unknown)
    now.now += 30
    fence.report(parse_report(Run("5", "running"), {}))
    now.now += 30
    with pytest.raises(run_regions.LeftRegion, match="of no known site"):
        fence.report(unknown)


def test_what_was_online_meanwhile_counts() -> None:
    run = {"running_at": "2026-11-24T10:00:00+00:00", "finished_at": "2026-11-24T10:05:00+00:00"}

    def listed(came: str, left: str, node: str = "3") -> Cli:
        return Cli({"1": {"status": "online", "online-at": "2026-11-24T09:00:00+00:00"}, node: {"status": "offline", "online-at": came, "offline-at": left}})

    before = listed("2026-11-24T09:00:00+00:00", "2026-11-24T09:59:00+00:00")
    after = listed("2026-11-24T10:06:00+00:00", "2026-11-24T10:07:00+00:00")
    meanwhile = listed("2026-11-24T10:01:00+00:00", "2026-11-24T10:02:00+00:00")
    unknown = listed("2026-11-24T10:01:00+00:00", "2026-11-24T10:02:00+00:00", "77")
    assert run_regions.fault_afterwards(before, border(), run) == run_regions.fault_afterwards(after, border(), run) == ""
    assert "site-b had SuperNodes online during it, outside of eu" in run_regions.fault_afterwards(meanwhile, border(), run)
    assert "node 77 had" in run_regions.fault_afterwards(unknown, border(), run)
    joined = run_regions.Regions(("eu",), {"77": "site-d"}, {"site-d": "eu"})
    assert run_regions.fault_afterwards(unknown, border(joined), run) == "", "also of SuperNodes that the records do not have any more"
    with pytest.raises(ClusterError, match="no answer"):
        run_regions.fault_afterwards(unknown, border("no answer"), run)


def looked(found: run_regions.Border, *online: str) -> None:
    """What a look at an active run finds."""
    found.watched(Watch()).report(parse_report(Run("5", "running"), {"nodes": dict.fromkeys(online, "online")}))


def test_a_site_of_the_region_may_join_meanwhile() -> None:
    newer = run_regions.Regions(("eu",), {**HOMES, "9": "site-d"}, {**PLACES, "site-d": "eu"})
    found = border(newer)
    looked(found, "1", "9")
    assert found.regions.homes["9"] == "site-d"
    with pytest.raises(run_regions.LeftRegion, match="1 SuperNode of site-d .region us."):
        looked(border(run_regions.Regions(("eu",), {"9": "site-d"}, {"site-d": "us"})), "1", "9")
    with pytest.raises(run_regions.LeftRegion, match="1 SuperNode of no known site"):
        looked(border(), "1", "9")


def test_a_site_that_was_moved_counts_where_it_is_now() -> None:
    looked(border(run_regions.Regions(("eu",), HOMES, {**PLACES, "site-b": "eu"})), "1", "3")


def test_without_the_records_only_what_is_known_is_judged() -> None:
    with pytest.raises(FlowerError, match="the regions of SuperNodes that came online are unknown: no answer"):
        looked(border("no answer"), "1", "9")
    with pytest.raises(run_regions.LeftRegion, match=r"came online while it ran: 1 SuperNode of site-b \(region us\)\. The app"):
        looked(border("no answer"), "1", "3", "9")


def test_supernodes_that_serve_with_a_key_that_leaves_have_a_home(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = {name: {"node_id": name, "pool": "cpu", "name": "0", "leaving": name == "1"} for name in ("1", "7")}

    class Ledger:
        def __init__(self, *_place: Any, **_more: Any) -> None:
            """There is one."""

        def read_sites(self) -> Any:
            return {"site-a": {"site": "site-a", "region": "eu", "keys": keys, "retired": {}}}, {}

    monkeypatch.setattr(run_sites, "Ledger", Ledger)
    cli: Any = SimpleNamespace(cluster=None, namespace="flower", nodes=lambda: {"1": {"status": "online", "online-at": "2026-11-24T09:00:00+00:00"}})
    assert run_regions.read(cli, ["eu"]).outside(["1", "7"]) == []
    assert run_sites.read(cli, {"running_at": "2026-11-24T10:00:00+00:00"}) == ["site-a"]
    with pytest.raises(FlowerError, match="no site is in the region us .flower_run_regions.. Regions: eu"):
        run_regions.read(cli, ["us"])
    assert run_regions.known(cli, ("us",)).inside() == []


def test_the_index_for_data_scientists_has_regions() -> None:
    records = {
        name: {"site": name, "region": region, "keys": {f"k{name}": {"node_id": name, "pool": "default"}}, "retired": {}}
        for name, region in (("site-a", "eu"), ("site-b", None))
    }
    index = site_indexes.updated_nodes({}, records)
    assert site_indexes.regions(index) == {"site-a": "eu", "site-b": ""} and site_indexes.node_index_error(index) == ""
    assert site_indexes.regions(site_indexes.without_site(index, ["site-a"])) == {"site-b": ""}
    assert site_indexes.node_index_error({**index, "regions": {"site-a": 1}})
    bare = site_indexes.updated_nodes({}, {"site-b": records["site-b"]})
    assert "regions" not in bare and site_indexes.regions(bare) == {"site-b": ""}
