# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""SuperNodes that run but are not online: which are restarted, wait, or are given up."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import POOL_LABEL
from ansible_collections.federated.flower.plugins.plugin_utils.fleet import heal_plan
from ansible_collections.federated.flower.plugins.plugin_utils.state import records
from ansible_collections.federated.flower.tests.unit.rows import each_row

NOW = datetime.datetime(2026, 11, 21, 12, tzinfo=datetime.timezone.utc)
AFTER = datetime.timedelta(seconds=180)
LONG_AGO = "2026-11-21T10:00:00Z"


def ago(minutes: float) -> str:
    return (NOW - datetime.timedelta(minutes=minutes)).isoformat()


def record(site: str, *nodes: str, **tries: list[str]) -> dict[str, Any]:
    keys = {
        f"SHA256:{node}": {"pool": "cpu", "name": str(n), "public_key": "x", "node_id": node, "dead": False}
        for n, node in enumerate(nodes)
    }
    made = {**records.empty_record(site), "keys": keys}
    return {**made, "healing": {node: {"tries": times} for node, times in tries.items()}} if tries else made


def pod(name: str, ready: str | None = LONG_AGO) -> dict[str, Any]:
    state = {"type": "Ready", "status": "True" if ready else "False", "lastTransitionTime": ready or LONG_AGO}
    return {
        "metadata": {"name": f"supernode-cpu-{name}", "namespace": "flower", "uid": name, "labels": {POOL_LABEL: "cpu"}},
        "status": {"phase": "Running", "conditions": [state]},
    }


def off(since: str = LONG_AGO, status: str = "offline") -> dict[str, str]:
    return {"status": status, "offline-at": since}


ON = {"status": "online", "offline-at": "N/A"}
PODS = {"site-a": [pod("0"), pod("1")], "site-b": [pod("0")]}


def seen(pods: dict[str, Any]) -> dict[str, Any]:
    return {site: None if own is None else [heal_plan.seen(one) for one in own] for site, own in pods.items()}


def planned(nodes: dict[str, Any], pods: Any = None, since: str = LONG_AGO, book: Any = None, **tries: list[str]) -> heal_plan.Plan:
    known = {"site-a": record("site-a", "a0", "a1", **tries), "site-b": record("site-b", "b0")}
    hub = heal_plan.Hub(known, book or {}, {"a0": ON, "a1": ON, "b0": ON, **nodes}, datetime.datetime.fromisoformat(since))
    return heal_plan.plan(hub, seen(PODS if pods is None else pods), NOW, AFTER)


def restarted(plan: heal_plan.Plan) -> dict[str, list[str]]:
    return {site: [one.node for one in found] for site, found in plan.restart.items()}


def test_a_healthy_fleet_is_left_alone() -> None:
    assert planned({}) == heal_plan.Plan()


def test_a_pod_that_is_ready_and_whose_node_is_offline_is_restarted() -> None:
    found = planned({"a1": off()})
    assert restarted(found) == {"site-a": ["a1"]} and not found.waiting and not found.given_up
    assert found.restart["site-a"][0].pod["metadata"]["uid"] == "1"


@each_row(
    ("nodes", "pods", "why"),
    [
        ({"a1": off(ago(1))}, PODS, "offline for 60 s, and has 180 s"),
        ({"a1": off()}, {"site-a": [pod("1", ago(1))]}, "offline for 60 s"),
        ({"a1": off()}, {"site-a": [pod("1", None)]}, "its pod is not ready"),
        ({"a1": off()}, {"site-a": []}, "has no pod"),
    ],
)
def test_what_may_come_back_by_itself_has_time(nodes: Any, pods: Any, why: str) -> None:
    found = planned(nodes, pods)
    assert not found.restart and not found.given_up and why in found.waiting[0].why


def test_a_pod_that_is_going_is_left_alone() -> None:
    going = pod("1")
    going["metadata"]["deletionTimestamp"] = ago(0)
    assert not planned({"a1": off()}, {"site-a": [going]}).restart


def test_a_supernode_that_serves_with_a_key_that_leaves_is_not_restarted() -> None:
    """As after a rotation of the keys that did not restart it, since a run did not end in time."""
    nodes = {"old0": ON, "old1": ON, "a0": off("N/A", "registered"), "a1": off("N/A", "registered"), "b0": off("N/A", "registered"), "old2": ON}
    sites = {"site-a": record("site-a", "a0", "a1"), "site-b": record("site-b", "b0")}
    for site, places in (("site-a", ("0", "1")), ("site-b", ("0",))):
        for at, name in enumerate(places):
            node = f"old{at + 2 * (site == 'site-b')}"
            sites[site]["keys"][f"SHA256:{node}"] = {"pool": "cpu", "name": name, "public_key": "x", "node_id": node, "leaving": True}
    hub = heal_plan.Hub(sites, {}, nodes, datetime.datetime.fromisoformat(LONG_AGO))
    assert heal_plan.plan(hub, seen(PODS), NOW, AFTER) == heal_plan.Plan()
    nodes["old1"] = off()
    assert restarted(heal_plan.plan(hub, seen(PODS), NOW, AFTER)) == {"site-a": ["a1"]}


@pytest.mark.parametrize("status", ["unregistered", "unknown to the SuperLink"])
def test_no_restart_helps_a_key_that_is_useless(status: str) -> None:
    found = planned({"a1": off(status=status)})
    assert not found.restart and "run site.yml" in found.given_up[0].why


def test_pods_that_cannot_be_reached_are_reported() -> None:
    found = planned({"a1": off()}, {"site-a": None})
    assert not found.restart and "restart its pod in its cluster" in found.given_up[0].why


def test_a_site_that_was_not_asked_is_left_out() -> None:
    assert planned({"a1": off()}, {"site-b": [pod("0")]}) == heal_plan.Plan()


def test_a_denied_site_is_left_alone() -> None:
    assert planned({"a1": off()}, book={"denied": {"site-a": {"since": "x"}}}) == heal_plan.Plan()


def test_nothing_is_restarted_if_all_sites_are_offline() -> None:
    found = planned({"a0": off(), "a1": off(), "b0": off()})
    assert not found.restart and len(found.waiting) == 3 and "all 2 sites are offline" in found.fault


def test_the_nodes_have_time_after_a_start_of_the_superlink() -> None:
    found = planned({"a1": off()}, since=ago(1))
    assert not found.restart and not found.fault and "started 60 s ago" in found.pause and len(found.waiting) == 1


@each_row(
    ("times", "outcome"),
    [
        ([4], "waiting"),
        ([6], "restart"),
        ([20, 14], "waiting"),
        ([30, 16], "restart"),
        ([90, 80, 59], "waiting"),
        ([90, 80, 61], "restart"),
        ([200, 190, 170, 100], "given_up"),
    ],
)
def test_pauses_grow_between_restarts(times: list[float], outcome: str) -> None:
    found = planned({"a1": off()}, a1=[ago(minutes) for minutes in times])
    assert {"restart": bool(found.restart), "waiting": bool(found.waiting), "given_up": bool(found.given_up)} == {
        "restart": outcome == "restart", "waiting": outcome == "waiting", "given_up": outcome == "given_up"
    }  # fmt: skip
    assert outcome != "given_up" or "4 restarts since" in found.given_up[0].why


def test_a_site_that_may_be_cut_off_is_tried_with_the_pauses_of_one_node() -> None:
    away = {"a0": off(), "a1": off()}
    assert restarted(planned(away)) == {"site-a": ["a0", "a1"]}
    found = planned(away, a0=[ago(4)])
    assert not found.restart and {one.node for one in found.waiting} == {"a0", "a1"}
    assert "may be disconnected" in next(one.why for one in found.waiting if one.node == "a1")
    assert restarted(planned(away, a0=[ago(6)])) == {"site-a": ["a0", "a1"]}


def test_tries_are_remembered_until_the_node_is_online() -> None:
    new = heal_plan.with_restart(heal_plan.with_restart(record("site-a", "a0", "a1"), ["a0"], ago(9)), ["a0", "a1"], ago(1))
    assert new["healing"] == {"a0": {"tries": [ago(9), ago(1)]}, "a1": {"tries": [ago(1)]}}
    assert records.record_error(new, "site-a") == ""
    some = heal_plan.without_healed(new, {"a0": off(), "a1": ON})
    assert some["healing"] == {"a0": {"tries": [ago(9), ago(1)]}}
    assert heal_plan.without_healed(some, {"a0": ON}) == record("site-a", "a0", "a1")
    other = {**new, "keys": {}}
    assert "healing" not in heal_plan.without_healed(other, {"a0": off(), "a1": off()}), "keys that the site no longer has"


def test_tries_survive_another_controller() -> None:
    seen = record("site-a", "a0")
    tried = heal_plan.with_restart(seen, ["a0"], ago(1))
    assert records.merged(tried, seen, seen)["healing"] == tried["healing"]
