# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of an upgrade at the hub: what is planned, and what comes before a change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import upgrade
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.records import empty_record


class Store:
    """What an earlier run left, and what is changed."""

    def __init__(self, known: dict[str, Any]) -> None:
        self.known = known

    def read(self) -> dict[str, Any]:
        return self.known

    def change(self, to: Any) -> bool:
        before, self.known = self.known, to(self.known)
        return self.known != before


def hub_of(version: str) -> dict[str, Any]:
    return {"version": version, "workloads": [{"name": "superlink", "pool": None, "images": {"superlink": f"r:{version}"}}]}


def at_the_hub(was: str, target: str, backup: str = "/b/old.tar") -> dict[str, Any]:
    """What a run leaves that stops while it changes the hub."""
    return {"target": target, "started": "then", "backup": backup, "waves": [], "hub": {"was": hub_of(was), "state": "begun"}, "sites": {}}


def action_of(known: dict[str, Any], *, check: bool = False) -> Any:
    action = object.__new__(upgrade.ActionModule)
    action._task = SimpleNamespace(check_mode=check)
    action.task_vars = {}
    action.store = Store(known)
    return action


def plan(known: dict[str, Any], live: str, want: str, error: str = "", **more: Any) -> Any:
    workload = {"kind": "StatefulSet", **hub_of(live)["workloads"][0], "version": live}
    params = {
        "hub": "hub",
        "sites": [],
        "superlink": {"workloads": [workload], "sites": {}, "nodes": {}, "error": error},
        "hub_checked": {"flower": hub_of(want)},
        "sites_checked": {},
        "supernodes": {},
        "waves": None,
        "max_failed": 0,
        "backup": True,
        "can_back_up": True,
        **more,
    }
    return action_of(known)._plan(params, None)


def test_an_upgrade_after_one_that_stopped_at_the_hub_has_its_own_backup() -> None:
    found = plan(at_the_hub("1.40.0", "1.41.0"), "1.41.0", "1.42.0")
    assert found["back_up"] and found["hub_changes"] and not found["hub_begun"] and found["hub_release"] == "1.41.0"
    assert "/b/old.tar" in found["lines"][0], "the archive of then is named before it is forgotten"
    with pytest.raises(ClusterError, match="flower_upgrade_backup"):
        plan(at_the_hub("1.40.0", "1.41.0"), "1.41.0", "1.42.0", can_back_up=False)
    broken = plan(at_the_hub("1.40.0", "1.41.0"), "1.41.0", "1.41.1", error="it does not answer")
    assert broken["hub_begun"] and not broken["back_up"], "a SuperLink that does not answer cannot be backed up"


def test_a_run_that_was_submitted_during_the_backup_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    known = {**at_the_hub("1.40.0", "1.41.0", ""), "hub": {"was": hub_of("1.40.0"), "state": "waiting"}}
    params = {"hub": "hub", "plan": {"hub_changes": True}, "archive": "/b/new.tar"}

    def busy(*_given: Any) -> None:
        raise ClusterError("run 1 is active")

    monkeypatch.setattr(upgrade.ActionModule, "_wait_no_run", busy)
    action = action_of(known)
    with pytest.raises(ClusterError, match="run 1 is active"):
        action._hub_begin(params, None)
    assert action.store.known == known
    assert action_of(known)._hub_begin({**params, "plan": {"hub_changes": False}}, None) == {"changed": False}
    monkeypatch.setattr(upgrade.ActionModule, "_wait_no_run", lambda *_given: None)
    action._hub_begin(params, None)
    assert action.store.known["hub"]["state"] == "begun" and action.store.known["backup"] == "/b/new.tar"


def test_a_site_whose_record_cannot_be_read_is_named_before_anything_is_changed() -> None:
    checked, seen = {name: {"flower": hub_of("1.41.0")} for name in ("a", "b")}, {name: {"reachable": True} for name in ("a", "b")}
    known = {"a": {"fault": ""}, "b": {"fault": "ConfigMap flower/flower-site-b is not JSON"}, "x": {"fault": "it is broken, and not a site of the inventory"}}
    params = {"sites": ["a", "b"], "sites_checked": checked, "supernodes": seen, "superlink": {"sites": known}}
    assert upgrade.ActionModule._unusable(params) == {"b": "b: ConfigMap flower/flower-site-b is not JSON"}


def test_only_what_belongs_to_the_federation_is_waited_for() -> None:
    asked: list[str] = []
    cluster = SimpleNamespace(name="hub", list=lambda _api, _kind, _namespace, labels: asked.append(labels) or [])
    action = action_of({})
    action.where = "flower"
    why, _never = action._await_hub({"wait_timeout": 0, "federation": "demo"}, cluster, hub_of("1.41.0"))
    assert "superlink is not there" in why
    assert asked and all("app.kubernetes.io/instance=demo" in labels and "managed-by=federated.flower" in labels for labels in asked)


def site_running(version: str) -> dict[str, Any]:
    return {"name": "supernode-cpu", "pool": "cpu", "images": {"supernode": f"n:{version}"}, "version": version}


BUNDLED: dict[str, Any] = {"reachable": True, "workloads": [], "bundle": {"version": 2}}


def with_a_bundle(want: str, live: str = "1.40.0", **more: Any) -> Any:
    """The plan of a fleet of a site that is reached, and one that applies bundles."""
    wanted = {"version": want, "workloads": [{"name": "supernode-cpu", "pool": "cpu", "images": {"supernode": f"n:{want}"}}]}
    supernodes = {
        "clinic": dict(BUNDLED),
        "site-a": {"reachable": True, "workloads": [site_running(live)]},
    }
    checked = {name: {"flower": wanted} for name in supernodes}
    return plan({}, live, want, sites=list(supernodes), supernodes=supernodes, sites_checked=checked, **more)


def test_a_site_that_applies_bundles_is_not_the_one_that_goes_first() -> None:
    found = with_a_bundle("1.41.0")
    assert found["by_hand"] == ["clinic"] and found["waves"] == [["site-a"], ["clinic"]]
    assert found["lines"][1:] == [
        "wave 1 of 2, site-a: 1.40.0 -> 1.41.0",
        "wave 2 of 2, clinic: a bundle with 1.41.0, which its own people apply",
    ]


def test_a_site_whose_last_bundle_has_an_older_release_is_upgraded_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(bundle: str) -> Any:
        monkeypatch.setitem(BUNDLED, "bundle_workloads", [site_running(bundle)])
        return with_a_bundle("1.41.0", "1.41.0")

    found = planned("1.40.0")
    assert found["todo"] and found["changes"] == ["clinic"] and not found["hub_changes"]
    assert found["lines"][-1] == "wave 2 of 2, clinic: a bundle with 1.41.0, which its own people apply"
    found = planned("1.41.0")
    assert not found["todo"] and found["lines"] == ["hub: 1.41.0, and all 2 sites: nothing to upgrade"]
    monkeypatch.setitem(BUNDLED, "bundle_workloads", [site_running("1.41.0")])
    found = with_a_bundle("1.41.0")
    assert found["changes"] == ["site-a"] and found["lines"][-1] == "wave 2 of 2, clinic: 1.41.0, as it is"


def test_a_bundle_does_not_go_back_to_an_older_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(BUNDLED, "bundle_workloads", [site_running("1.41.0")])
    with pytest.raises(ClusterError, match=r"clinic: flower_version: 1\.40\.0 is older than 1\.41\.0, which its last bundle has"):
        with_a_bundle("1.40.0")


@pytest.mark.parametrize(("by_hand", "waited"), [(["clinic"], 0), ([], 1)])
def test_only_what_replaces_pods_waits_for_runs(monkeypatch: pytest.MonkeyPatch, by_hand: list[str], waited: int) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(upgrade.ActionModule, "_wait_no_run", lambda *given: asked.append(given))
    action = action_of({"sites": {"clinic": {"was": hub_of("1.40.0"), "state": "waiting"}}})
    given = {"changes": ["clinic"], "by_hand": by_hand, "waves": [["clinic"]], "left_out": {}}
    action._wave({"pulled": {}, "sites": ["clinic"], "failed": [], "max_failed": 0, "plan": given}, None)
    assert len(asked) == waited and action.store.known["sites"]["clinic"]["state"] == "begun"


@pytest.mark.parametrize("failed", [False, True])
def test_pods_that_cannot_be_asked_fail_no_wave(monkeypatch: pytest.MonkeyPatch, failed: bool) -> None:
    monkeypatch.setitem(BUNDLED, "bundle_workloads", [site_running("1.40.0")])
    planned = with_a_bundle("1.41.0", waves=[["clinic", "site-a"]]) | {"online": ["1", "2"]}
    key = {"node_id": "1", "pool": "cpu", "name": "0"}
    records = {name: {**empty_record(name), "keys": {f"SHA256:{name}": {**key, "node_id": node}}} for name, node in (("clinic", "2"), ("site-a", "1"))}
    ledger = SimpleNamespace(read_book=lambda: {}, read_sites=lambda: (records, {}))
    monkeypatch.setattr(upgrade, "Ledger", lambda *_given: ledger)
    action = action_of({"sites": {name: {"was": pair[0], "state": "waiting"} for name, pair in planned["pairs"].items()}})
    action.where = "flower"
    # The people of the clinic have not applied anything, and its SuperNode is away.
    action.cli = SimpleNamespace(nodes=lambda *_given: {"1": {"status": "online"}, "2": {"status": "offline"}})
    params = {
        "federation": "demo",
        "sites": ["clinic", "site-a"],
        "plan": planned,
        "deployed": {"sites": {"clinic": {"failed": failed, "msg": "clinic: the folder is full"}, "site-a": {}}},
        "supernodes": {"site-a": {"workloads": [site_running("1.41.0")]}},
        "run": {},
        "accepted": {"clinic": {"accepted": False, "reasons": ["SuperNodes: 0 of 1 are online"]}, "site-a": {"accepted": True}},
        "failed": [],
        "max_failed": 1,
        "wait_timeout": 1,
    }
    found = action._gate(params, None)
    states = {name: one["state"] for name, one in action.store.known["sites"].items()}
    assert not found["back"] and not found["stop"] and states["site-a"] == "done"
    if failed:
        assert found["why"] == {"clinic": "clinic: the folder is full"} and states["clinic"] == "waiting", "what could not be written is a failure"
    else:
        assert not found["why"] and states["clinic"] == "done"


@pytest.mark.parametrize(("lost", "failed"), [("", False), ("1", True)])
def test_a_node_of_a_cluster_that_was_away_before_fails_no_wave(monkeypatch: pytest.MonkeyPatch, lost: str, failed: bool) -> None:
    """The deployment of a DaemonSet pool does not wait for it either."""
    planned = with_a_bundle("1.41.0", waves=[["site-a"]]) | {"online": ["1"]}
    keys = {f"SHA256:{node}": {"node_id": node, "pool": "edge", "name": f"node-{node}"} for node in ("1", "2")}
    ledger = SimpleNamespace(read_book=lambda: {}, read_sites=lambda: ({"site-a": {**empty_record("site-a"), "keys": keys}}, {}))
    monkeypatch.setattr(upgrade, "Ledger", lambda *_given: ledger)
    action = action_of({"sites": {"site-a": {"was": planned["pairs"]["site-a"][0], "state": "waiting"}}})
    action.where = "flower"
    action.cli = SimpleNamespace(nodes=lambda *_given: {node: {"status": "offline" if node in ("2", lost) else "online"} for node in ("1", "2")})
    found = action._gate(
        {
            "federation": "demo",
            "sites": ["site-a"],
            "plan": planned,
            "deployed": {"sites": {"site-a": {}}},
            "supernodes": {"site-a": {"workloads": [site_running("1.41.0")]}},
            "run": {},
            "accepted": {},
            "failed": [],
            "max_failed": 0,
            "wait_timeout": 1,
        },
        None,
    )
    assert found["why"] == ({"site-a": "site-a: edge/node-1 is offline"} if failed else {}) and found["stop"] == failed


def judged_wave(monkeypatch: pytest.MonkeyPatch, book: dict[str, Any], **more: Any) -> Any:
    """The judgement of a wave of two sites, of which a has no SuperNode online any more and is not accepted."""
    wanted = {"version": "1.41.0", "workloads": [{"name": "supernode-cpu", "pool": "cpu", "images": {"supernode": "n:1.41.0"}}]}
    supernodes = {name: {"reachable": True, "workloads": [site_running("1.40.0")]} for name in ("a", "b")}
    planned = plan({}, "1.40.0", "1.41.0", sites=["a", "b"], supernodes=supernodes, sites_checked={name: {"flower": wanted} for name in supernodes})
    key = {"pool": "cpu", "name": "0", "public_key": "x"}
    known = {name: {**empty_record(name), "keys": {f"SHA256:{name}": {**key, "node_id": name}}} for name in ("a", "b")}
    monkeypatch.setattr(upgrade, "Ledger", lambda *_given: SimpleNamespace(read_book=lambda: book, read_sites=lambda: (known, {})))
    action = action_of({"sites": {name: {"was": pair[0], "state": "begun"} for name, pair in planned["pairs"].items()}})
    action.where = "flower"
    action.cli = SimpleNamespace(nodes=lambda *_given: {"a": {"status": "offline"}, "b": {"status": "online"}})
    params = {
        "federation": "demo",
        "sites": ["a", "b"],
        "plan": planned | {"online": ["b"]} | more,
        "deployed": {"sites": {"a": {}, "b": {}}},
        "supernodes": {name: {"workloads": [site_running("1.41.0")]} for name in ("a", "b")},
        "run": {},
        "accepted": {"a": {"accepted": False, "reasons": ["SuperNodes: 0 of 1 are online"]}, "b": {"accepted": True}},
        "failed": [],
        "max_failed": 1,
        "wait_timeout": 1,
    }
    return action._gate(params, None)


def test_a_site_that_is_denied_cannot_be_accepted_and_fails_no_wave(monkeypatch: pytest.MonkeyPatch) -> None:
    found = judged_wave(monkeypatch, {"denied": {"a": {"since": "x"}}})
    assert not found["why"] and not found["back"] and not found["stop"]
    assert list(judged_wave(monkeypatch, {})["why"]) == ["a"]


def test_sites_that_take_no_part_are_among_those_that_may_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    """One may fail, and is down already: the next one stops the upgrade, and its wave goes back."""
    assert not judged_wave(monkeypatch, {})["stop"]
    found = judged_wave(monkeypatch, {}, left_out={"down": "down: it does not answer"})
    assert found["stop"] and set(found["back"]) == {"a", "b"}
    params = {"sites": ["a"], "failed": [], "max_failed": 1, "pulled": {"a": {"failed": True, "msg": "a: no image"}}}
    planned = {"waves": [["a"]], "changes": ["a"], "by_hand": [], "left_out": {"down": "down: it does not answer"}}
    left = action_of({}, check=True)._wave({**params, "plan": planned}, None)
    assert left["stop"] and left["failed_sites"] == ["down", "a"]
    end = action_of({})._finish({"failed": ["down", "a"], "plan": {**planned, "hub_pair": [{}, {"version": "1.41.0"}]}}, None)
    assert end["msg"].startswith("the hub runs 1.41.0; down, a does not")
