# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Restarts of SuperNodes: those of several sites at the same time, and one after the other at each."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.base import labels
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import heal_plan, healing, upgrade_record
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.healing import Healer, Options
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.tests.unit.recorded_run import RecordedRun
from ansible_collections.federated.flower.tests.unit.rows import each_row

LONG_AGO = "2026-01-01T00:00:00Z"
SITES = ("a", "b", "c")
NEVER = 1e9


class Fleet:
    """A hub and its sites, with a clock of their own. Each site has two SuperNodes that are offline, and C(a) one more that is online.

    Attributes:
        back: seconds from the restart of a SuperNode until it is online; those that are not in it need two.
        down: when the SuperLink stops to answer.
        silent: from when until when it does not answer.
    """

    def __init__(self) -> None:
        self.name = "hub"
        self.skew: float | None = None
        self.now = 0.0
        self.restarted: list[tuple[float, str]] = []
        self.back: dict[str, float] = {}
        self.down = NEVER
        self.silent = (NEVER, NEVER)
        self.refuses = ""
        self.superlink = True
        self.strange = self.pod("c", "0")
        self.records = {site: self.record(site) for site in SITES}

    @staticmethod
    def record(site: str) -> dict[str, Any]:
        names = ("0", "1", "on") if site == "a" else ("0", "1")
        keys = {f"{site}{name}": {"pool": "cpu", "name": name, "public_key": "x", "node_id": f"{site}{name}", "dead": False} for name in names}
        return {**records.empty_record(site), "keys": keys}

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def nodes(self) -> dict[str, dict[str, Any]]:
        if self.now >= self.down or self.silent[0] <= self.now < self.silent[1]:
            raise FlowerError("the SuperLink does not answer")
        found: dict[str, dict[str, Any]] = {
            f"{site}{name}": {"status": "offline", "offline-at": LONG_AGO, "online-at": "before"} for site in SITES for name in "01"
        }
        found["aon"] = {"status": "online"}
        for at, node in self.restarted:
            if self.now >= at + self.back.get(node, 2):
                found[node] = {"status": "online", "online-at": "now"}
        return found

    def get(self, _version: str, kind: str, name: str, _namespace: str = "") -> dict[str, Any] | None:
        if kind != "Pod" or not self.superlink:
            return None
        running = {"name": "superlink", "ready": True, "state": {"running": {"startedAt": LONG_AGO}}}
        return {"metadata": {"name": name}, "status": {"containerStatuses": [running]}}

    def change_record(self, site: str, change: Any) -> bool:
        self.records[site] = change(self.records[site])
        return True

    @staticmethod
    def pod(site: str, n: str) -> dict[str, Any]:
        ready = {"type": "Ready", "status": "True", "lastTransitionTime": LONG_AGO}
        own = {labels.POOL_LABEL: "cpu"}
        return {"metadata": {"name": f"supernode-cpu-{n}", "namespace": "flower", "uid": f"{site}{n}", "labels": own}, "status": {"conditions": [ready]}}

    def way(self, site: str) -> Any:
        pods = [self.strange if (site, n) == ("c", "0") else self.pod(site, n) for n in "01"]

        def restart(chosen: Sequence[dict[str, Any]]) -> None:
            if self.refuses == site:
                raise ClusterError("pods must not be deleted")
            self.restarted += [(self.now, pod["metadata"]["uid"]) for pod in chosen]

        return SimpleNamespace(pods=lambda: pods, restart_pods=restart, rest=lambda: None)


@pytest.fixture
def fleet(monkeypatch: pytest.MonkeyPatch) -> Fleet:
    made = Fleet()
    monkeypatch.setattr(healing, "time", SimpleNamespace(monotonic=lambda: made.now, sleep=made.sleep))
    monkeypatch.setattr(healing.proof, "belongs", lambda *_: True)
    return made


def healed(fleet: Fleet, run: RecordedRun | None = None, *, together: bool = False, known: bool = True) -> dict[str, Any]:
    run = run or RecordedRun()
    healer = Healer(run, fleet, "flower", "flower", Options(True, together, 180, 180))  # type: ignore[arg-type]
    found = fleet.records if known else {}
    healer.ledger = SimpleNamespace(  # type: ignore[assignment]
        read_sites=lambda: (found, {}), read_book=lambda: {}, change_record=fleet.change_record
    )
    healer.cli = SimpleNamespace(nodes=fleet.nodes)  # type: ignore[assignment]
    sites: Any = {site: SimpleNamespace(federation="flower") for site in SITES}
    return healer.heal(sites, {site: fleet.way(site) for site in SITES}, Outcomes(run, SITES, 4))


def of(listed: Iterable[dict[str, Any]]) -> list[str]:
    return [one["node_id"] for one in listed]


def test_one_after_the_other_at_each_site_and_all_sites_at_once(fleet: Fleet) -> None:
    told = healed(fleet)
    assert sorted(fleet.restarted) == [(0, "a0"), (0, "b0"), (0, "c0"), (2, "a1"), (2, "b1"), (2, "c1")]
    assert of(told["healed"]) == ["a0", "a1", "b0", "b1", "c0", "c1"] and {one["seconds"] for one in told["healed"]} == {2.0}
    assert not told["waiting"] and not told["unreadable"] and told["fault"] == ""
    assert not any(record.get(heal_plan.HEALING) for record in fleet.records.values())


def test_sites_that_do_not_come_back_are_waited_for_together(fleet: Fleet) -> None:
    fleet.back = {f"{site}0": NEVER for site in SITES}
    told = healed(fleet)
    assert 180 <= fleet.now < 190, "not once for each site"
    assert of(told["waiting"]) == ["a0", "a1", "b0", "b1", "c0", "c1"]
    assert "it was restarted and is not online after 180 s" in told["waiting"][0]["why"]
    assert "restart of cpu/0 did not help, so this one was left alone" in told["waiting"][1]["why"]
    assert list(fleet.records["b"][heal_plan.HEALING]) == ["b0"], "the next run knows of it"


def test_a_slow_site_holds_up_no_other(fleet: Fleet) -> None:
    fleet.back = {"a0": 170}
    healed(fleet)
    assert (2, "b1") in fleet.restarted and (170, "a1") in fleet.restarted


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod["status"].update(conditions=[{}]),
        lambda pod: pod["status"].update(conditions=["Ready"]),
        lambda pod: pod.pop("metadata"),
        lambda pod: pod["metadata"].update(labels=["cpu"]),
        lambda pod: pod["metadata"].pop("uid"),
        lambda pod: pod["metadata"].update(ownerReferences=[{"kind": "DaemonSet"}]),
    ],
)
def test_a_site_whose_pods_have_another_shape_ends_itself_only(fleet: Fleet, change: Callable[[dict[str, Any]], Any]) -> None:
    change(fleet.strange)
    told = healed(fleet)
    assert of(told["healed"]) == ["a0", "a1", "b0", "b1"] and not told["fault"]
    assert list(told["unreadable"]) == ["c"] and told["unreadable"]["c"].startswith("c: unexpected error")


def test_all_of_a_site_at_once(fleet: Fleet) -> None:
    fleet.back = {"a1": NEVER}
    told = healed(fleet, together=True)
    assert {at for at, _node in fleet.restarted} == {0}
    assert of(told["waiting"]) == ["a1"] and "a0" in of(told["healed"])


def test_what_is_online_before_its_turn_is_left_alone(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    before = fleet.nodes
    monkeypatch.setattr(fleet, "nodes", lambda: before() | ({"a1": {"status": "online", "online-at": "itself"}} if fleet.now else {}))
    told = healed(fleet)
    assert "a1" not in [node for _at, node in fleet.restarted] and "a1" not in of(told["healed"] + told["waiting"])


def test_a_site_that_refuses_is_reported_and_the_others_are_healed(fleet: Fleet) -> None:
    fleet.refuses, run = "b", RecordedRun()
    told = healed(fleet, run)
    assert told["unreadable"] == {"b": "b: pods must not be deleted"} == run.errors
    assert of(told["healed"]) == ["a0", "a1", "c0", "c1"] and not told["waiting"]


def test_it_ends(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(healing, "_LONGEST", 100.0)
    fleet.back = {"a0": 170}
    told = healed(fleet)
    assert of(told["waiting"]) == ["a1"] and "left to the next run" in told["waiting"][0]["why"]
    assert "a0" in of(told["healed"])


def test_the_clock_of_the_cluster_counts(fleet: Fleet) -> None:
    """A control node whose clock is ahead would restart what became ready a minute ago, and one whose clock is behind would never do."""
    begun = datetime.datetime.fromisoformat(LONG_AGO.replace("Z", "+00:00"))
    fleet.skew = (begun + datetime.timedelta(seconds=60) - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
    assert healed(fleet)["healed"] == [] and fleet.restarted == []
    fleet.skew += 180
    assert healed(fleet)["healed"]


def test_a_superlink_that_stops_meanwhile(fleet: Fleet) -> None:
    fleet.down = 3
    told = healed(fleet)
    assert told["fault"] == "the SuperLink does not answer"
    assert of(told["healed"]) == ["a0", "b0", "c0"] and of(told["waiting"]) == ["a1", "b1", "c1"]


@pytest.mark.parametrize(("seconds", "well"), [(30, True), (90, False)])
def test_a_superlink_that_does_not_answer_for_a_moment(fleet: Fleet, seconds: int, well: bool) -> None:
    fleet.silent = (1, 1 + seconds)
    found = healed(fleet)
    assert (found["fault"] == "") is well and (len(found["healed"]) == 6) is well, found


def test_a_superlink_that_does_not_run_is_a_fault_and_no_error(fleet: Fleet) -> None:
    """Or what stopped it would never be repaired."""
    fleet.superlink = False
    told = healed(fleet)
    assert told["fault"].startswith("the SuperLink does not run, so no SuperNode is restarted: pod flower/superlink-0")
    assert not fleet.restarted and not told["healed"] and not told["unreadable"]
    fleet.superlink, fleet.down = True, 0
    assert healed(fleet)["fault"] == "the SuperLink does not answer"


def test_where_there_is_no_federation_nothing_is_to_be_repaired(fleet: Fleet) -> None:
    fleet.superlink = False
    with pytest.raises(FlowerError, match="does not run"):
        healed(fleet, known=False)


@each_row(
    ("data", "held", "words"),
    [
        (None, [], ""),
        ({"upgrade.json": "{"}, ["hub", "a"], "cannot be read"),
        ({"upgrade.json": '{"target": "2", "started": "x", "hub": {"state": "done"}, "sites": {"a": {"state": "rolled back"}}}'}, ["a"], "a rolled back"),
    ],
)
def test_a_repair_leaves_to_an_upgrade_what_it_has_not_completed(data: Any, held: list[str], words: str) -> None:
    cluster = SimpleNamespace(name="hub", get=lambda *_given: None if data is None else {"data": data})
    found = supernode.ActionModule._kept_back(upgrade_record.Store(cluster, "flower", "demo"), ["hub", "a"])
    assert found["held"] == held and words in found["upgrade"]
