# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An upgrade as a sequence of other actions: which ones, with which options, and what becomes of the record and of each host."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import upgrade
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state.records import empty_record

OLD, NEW = "1.40.0", "1.41.0"


def hub_of(version: str) -> dict[str, Any]:
    return {"version": version, "workloads": [{"name": "superlink", "pool": None, "images": {"superlink": f"r:{version}"}}]}


def pool_of(version: str) -> dict[str, Any]:
    return {"name": "supernode-cpu", "pool": "cpu", "images": {"supernode": f"n:{version}"}}


def begun_at_the_hub(was: str, target: str) -> dict[str, Any]:
    """What a run leaves that stops while it changes the hub."""
    return {"target": target, "started": "then", "backup": "/b/old.tar", "waves": [], "hub": {"was": hub_of(was), "state": "begun"}, "sites": {}}


class Fleet(upgrade.ActionModule):
    """An upgrade of a fleet that is a few dicts.

    Args:
        live: release of the hub and of the sites.
        want: that is wanted.
        sites: inventory names.
        record: that an earlier run left.
        check: check mode.
        variables: of the hub.
    """

    def __init__(
        self, live: str = OLD, want: str = NEW, sites: Any = ("a", "b"), record: Any = None, *, check: bool = False, **variables: Any
    ) -> None:
        self._task = SimpleNamespace(check_mode=check, args={})
        hosts = {name: {"__site_checked": {"sites": {}}} for name in sites}
        groups = {"flower_hub": ["hub"], "flower_sites": [*sites]}
        backup = {"flower_backup_directory": "/b", "flower_backup_recipients": "age1x"}
        self.task_vars = {"inventory_hostname": "hub", "groups": groups, "hostvars": hosts, **backup, **variables}
        self._templar = SimpleNamespace(template=lambda value: value)
        self.inventory_host = self._site = "hub"
        self.live = {"hub": live, **dict.fromkeys(sites, live)}
        self.want, self.known, self.calls, self.said, self.busy = want, record or {}, [], [], []
        #: action, or action and state -> site -> changes of its result; and of the result itself.
        self.answers: dict[str, dict[str, Any]] = {}
        self.nodes = {name: {"status": "online"} for name in sites}
        self.ledger = {name: {**empty_record(name), "keys": {f"SHA256:{name}": {"pool": "cpu", "name": "0", "node_id": name}}} for name in sites}
        self.book: dict[str, Any] = {}
        self.checked = {name: {"flower": {"version": want, "workloads": [pool_of(want)]}} for name in sites}
        hosts[sites[0]]["__site_checked"]["sites"] = self.checked
        self.info = {name: {"reachable": True} for name in sites}
        self.hub_info: dict[str, Any] = {"deployed": True, "error": "", "sites": {name: {"access": {}, "fault": ""} for name in sites}}

    def upgrade(self, **options: Any) -> dict[str, Any]:
        defaults = {name: spec.get("default") for name, spec in self.ARGS.items()}
        self.params = {**defaults, "namespace": "flower", "federation": "demo", "wait_timeout": 1, **options}
        return self.execute(self.params, self.task_vars)

    @property
    def states(self) -> dict[str, str]:
        return {name: one["state"] for name, one in self.known.get("sites", {}).items()}

    def connect(self, *_given: Any, **_more: Any) -> Any:
        return nullcontext(SimpleNamespace(name="hub", list=lambda *_given, **_more: []))

    def say(self, text: str) -> None:
        self.said.append(text)

    def note(self, *_given: Any, **_facts: Any) -> None:
        pass

    def run_action(self, name: str, options: Any = None, variables: Any = None, *, check: bool = False, may_fail: bool = False) -> Any:
        given = dict(options or {})
        kind = " ".join(filter(None, [name, given.get("state", ""), "before" if "before" in given else "", "check" if check else ""]))
        self.calls.append(f"{kind} {' '.join(given.get('sites', []))}".strip())
        answer = self.answers.get(kind, {})
        result: dict[str, Any] = {"changed": False, "msg": f"{name} is done", "lines": [], "path": "/b/new.tar", "flower": hub_of(self.want)}
        result |= answer.get("result", {})
        if name == "superlink_info":
            workload = {**hub_of(self.live["hub"])["workloads"][0], "version": self.live["hub"]}
            return {**result, "workloads": [workload], "nodes": self.nodes, **self.hub_info}
        if name == "supernode_info":
            running = {site: [{**pool_of(self.live[site]), "version": self.live[site]}] for site in given["sites"]}
            return {"sites": {site: {"workloads": running[site], **self.info[site], **answer.get(site, {})} for site in given["sites"]}}
        if name == "superlink" and not given:
            self.live["hub"] = str((variables or {}).get("superlink_version", self.want))
        if name == "supernode" and not check and "state" not in given:
            self.live.update({site: given.get("before", {}).get(site, {"version": self.want})["version"] for site in given["sites"]})
        if result.get("failed") and not may_fail:
            raise ClusterError(result["msg"])
        return {**result, "sites": {site: {"changed": True, "msg": "deployed", **answer.get(site, {})} for site in given.get("sites", [])}}


@pytest.fixture(autouse=True)
def surroundings(monkeypatch: pytest.MonkeyPatch) -> None:
    """The record, the ledger and the SuperLink of the fleet."""
    fleets: list[Fleet] = []
    begin = Fleet.__init__

    def remember(self: Fleet, *given: Any, **more: Any) -> None:
        begin(self, *given, **more)
        fleets.append(self)

    class Store:
        def __init__(self, *_given: Any, check: bool) -> None:
            self.check = check

        def read(self) -> Any:
            return fleets[-1].known

        def change(self, to: Any) -> Any:
            new = to(fleets[-1].known)
            fleets[-1].known = new
            return new

        def delete(self) -> bool:
            fleets[-1].known = {}
            return True

    def wait(*_given: Any) -> None:
        fleets[-1].calls.append("wait")
        if fleets[-1].busy and fleets[-1].busy.pop(0):
            raise ClusterError("run 1 is active")

    cli = SimpleNamespace(nodes=lambda *_given: fleets[-1].nodes, wait_for_superlink=lambda _seconds: None)
    monkeypatch.setattr(Fleet, "__init__", remember)
    monkeypatch.setattr(upgrade.upgrade_record, "Store", Store)
    monkeypatch.setattr(upgrade, "FlowerCLI", lambda *_given: cli)
    monkeypatch.setattr(upgrade.restart_conditions, "wait_no_run", wait)
    monkeypatch.setattr(upgrade, "role_settings", lambda _action, _role, names: dict.fromkeys(names, "flower-ca"))
    read = SimpleNamespace(read_book=lambda: fleets[-1].book, read_sites=lambda: (fleets[-1].ledger, {}))
    monkeypatch.setattr(upgrade, "Ledger", lambda *_given: read)


def test_the_hub_and_then_each_wave_when_no_run_is_active() -> None:
    fleet = Fleet()
    result = fleet.upgrade()
    assert fleet.calls == [
        "superlink_info", "supernode_info a b", "superlink checked",
        "supernode pulled check a b", "wait", "superlink_backup", "wait", "superlink",
        "supernode pulled a", "wait", "supernode a", "supernode_info a",
        "supernode pulled b", "wait", "supernode b", "supernode_info b",
    ]  # fmt: skip
    assert result["msg"] == "the upgrade to 1.41.0 is complete" and fleet.known == {}
    assert result["plan"] == ["hub hub: 1.40.0 -> 1.41.0", "wave 1 of 2, a: 1.40.0 -> 1.41.0", "wave 2 of 2, b: 1.40.0 -> 1.41.0"]
    assert {host: [one["msg"] for one in results] for host, results in result["sites"].items()} == {"a": ["deployed"], "b": ["deployed"]}


def test_a_second_run_changes_nothing() -> None:
    result = Fleet(NEW).upgrade()
    assert result == {"changed": False, "plan": [result["msg"]], "sites": {}, "msg": "hub: 1.41.0, and all 2 sites: nothing to upgrade"}


def test_check_mode_shows_the_plan_and_waits_for_nothing() -> None:
    fleet = Fleet(check=True)
    result = fleet.upgrade()
    assert not {"wait", "superlink_backup", "supernode pulled a"} & {*fleet.calls} and {"superlink", "supernode a", "supernode b"} <= {*fleet.calls}
    assert result["changed"] and "wave 2 of 2, b: 1.40.0 -> 1.41.0" in result["msg"] and "Nothing was changed" in result["msg"]


def test_an_app_that_cannot_be_read_is_refused_first() -> None:
    fleet = Fleet()
    fleet.answers["run check"] = {"result": {"failed": True, "msg": "no pyproject.toml"}}
    with pytest.raises(ClusterError, match="no pyproject"):
        fleet.upgrade(app="/apps/x")
    assert fleet.calls == ["run check"]


@pytest.mark.parametrize(
    ("variables", "options", "words"),
    [
        ({"ansible_limit": "a"}, {}, "--limit a: an upgrade covers the whole fleet"),
        ({"flower_plan": "x.yml"}, {}, "only federated.flower.site applies a plan"),
        ({"flower_plan_hash": "5f0c"}, {}, "only federated.flower.site applies a plan"),
        ({"flower_backup_directory": ""}, {}, "flower_upgrade_backup: an upgrade of the SuperLink changes its database"),
        ({"flower_serial": "ten"}, {}, "flower_serial: 'ten' is neither"),
        ({}, {"waves": ["x"]}, "flower_upgrade_waves: wave 1: 'x' is neither"),
    ],
)
def test_what_is_refused(variables: dict[str, Any], options: dict[str, Any], words: str) -> None:
    fleet = Fleet(**variables)
    with pytest.raises(ClusterError) as error:
        fleet.upgrade(**options)
    assert words in error.value.message and not fleet.known and not {"wait", "superlink"} & {*fleet.calls}


def test_a_site_that_takes_no_part_counts_as_failed() -> None:
    """Here its record is broken; the site is named before anything is changed."""
    fleet = Fleet()
    fleet.hub_info["sites"]["b"]["fault"] = "ConfigMap flower-site-b is not JSON"
    with pytest.raises(ClusterError, match="1 of 2 sites cannot be upgraded: b: ConfigMap flower-site-b is not JSON"):
        fleet.upgrade()
    result = fleet.upgrade(max_failed=1)
    assert result["msg"].startswith("the hub runs 1.41.0; b does not") and fleet.states == {"a": "done"}


def test_an_upgrade_after_one_that_stopped_at_the_hub_has_its_own_backup() -> None:
    fleet = Fleet(NEW, "1.42.0", record=begun_at_the_hub(OLD, NEW))
    assert "/b/old.tar" in fleet.upgrade()["plan"][0], "the archive of then is named before it is forgotten"
    assert "superlink_backup" in fleet.calls
    broken = Fleet(NEW, "1.41.1", record=begun_at_the_hub(OLD, NEW))
    broken.hub_info["error"] = "it does not answer"
    broken.upgrade()
    assert "superlink_backup" not in broken.calls, "a SuperLink that does not answer cannot be backed up"


def test_a_run_that_was_submitted_during_the_backup_is_waited_for() -> None:
    fleet = Fleet()
    fleet.busy = [False, True]
    with pytest.raises(ClusterError, match="run 1 is active"):
        fleet.upgrade()
    assert fleet.known["hub"]["state"] == "waiting" and "superlink" not in fleet.calls
    fleet.upgrade()
    assert not fleet.known


def test_other_changes_of_a_hub_whose_images_stay_do_not_fail_runs() -> None:
    """The first check of the playbook does not refuse them, since the hub's upgrade waits for runs."""
    for live, times in ((NEW, 1), (OLD, 0)):
        fleet = Fleet(live, superlink_checked={"flower": hub_of(NEW)})
        fleet.live["a"] = OLD
        fleet.upgrade()
        assert fleet.calls.count("superlink checked") == times and ("superlink_backup" in fleet.calls) is (times == 0)
        assert times == 0 or fleet.calls.index("superlink checked") < fleet.calls.index("superlink")


def test_a_hub_that_was_never_started_is_rolled_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Fleet, "_has_never_started", lambda _self: True)
    fleet = Fleet()
    failed, given = {"failed": True, "msg": "hub: no image"}, fleet.run_action

    def run_action(name: str, options: Any = None, variables: Any = None, **more: Any) -> Any:
        done = given(name, options, variables, **more)
        return {**done, **failed} if name == "superlink" and not options and "superlink_version" not in variables else done

    monkeypatch.setattr(fleet, "run_action", run_action)
    with pytest.raises(ClusterError, match=r"hub: no image\. The SuperLink was not started with it, so the hub was rolled back: it runs 1\.40\.0 again"):
        fleet.upgrade()
    assert fleet.live == {"hub": OLD, "a": OLD, "b": OLD} and fleet.known["hub"]["state"] == "waiting"


def test_a_wave_that_fails_is_rolled_back_and_reported_to_each_host() -> None:
    fleet = Fleet()
    fleet.answers["supernode"] = {"a": {"failed": True, "msg": "a: not ready"}}
    result = fleet.upgrade(waves=[["a", "b"]])
    assert fleet.live == {"hub": NEW, "a": OLD, "b": OLD} and fleet.states == {"a": "rolled back", "b": "rolled back"}
    last = {host: (results[-1]["failed"], results[-1]["msg"]) for host, results in result["sites"].items()}
    assert last["a"] == (True, "a: not ready; it runs 1.40.0 again") and last["b"] == (False, "b: its wave failed; it runs 1.40.0 again")
    assert last["hub"][0] and last["hub"][1].startswith("hub: wave 1 of 1 failed, and the upgrade stops: a: not ready; it runs 1.40.0 again.")


def test_images_that_cannot_be_pulled_stop_the_wave() -> None:
    fleet = Fleet()
    fleet.answers["supernode pulled"] = {"a": {"failed": True, "msg": "a: no image"}}
    result = fleet.upgrade()
    assert "supernode a" not in fleet.calls and fleet.states == {"a": "waiting", "b": "waiting"}
    assert result["sites"]["a"][-1]["failed"] and "wave 1 of 2 does not start: a: no image." in result["sites"]["hub"][0]["msg"]


@pytest.mark.parametrize(
    ("options", "answers", "words"),
    [
        ({"verify": True}, {"supernode_acceptance": {"a": {"accepted": False, "reasons": ["clock"]}}}, "a: it is not accepted: clock"),
        ({"app": "/x"}, {"run": {"result": {"status": "finished:completed", "node_errors": "1 reply is an error"}}}, "acceptance run failed: 1 reply"),
        ({"app": "/x"}, {"run": {"result": {"failed": True, "msg": "it ended"}}}, "the acceptance run failed: it ended"),
        ({}, {"supernode_info": {"a": {"workloads": [{**pool_of(OLD), "version": OLD}]}}}, "a: supernode-cpu/supernode runs n:1.40.0, not n:1.41.0"),
    ],
)
def test_what_a_wave_fails_with(options: dict[str, Any], answers: dict[str, Any], words: str) -> None:
    fleet = Fleet(sites=("a",))
    fleet.answers |= answers
    result = fleet.upgrade(**options)
    assert words in result["sites"]["a"][-1]["msg"] and fleet.live["a"] == OLD


@pytest.mark.parametrize(("denied", "failed"), [(False, True), (True, False)])
def test_a_supernode_that_is_away_fails_its_site_unless_that_is_denied(
    monkeypatch: pytest.MonkeyPatch, denied: bool, failed: bool
) -> None:
    fleet = Fleet(sites=("a",))
    fleet.book = {"denied": {"a": {"since": "x"}}} if denied else {}
    fleet.answers["supernode_acceptance"] = {"a": {"accepted": False, "reasons": ["0 of 1 are online"]}}
    known = Fleet._failures

    def failures(self: Fleet, sites: Any) -> Any:
        self.nodes = {"a": {"status": "offline"}}
        return known(self, sites)

    monkeypatch.setattr(Fleet, "_failures", failures)
    result = fleet.upgrade(verify=True)
    assert bool(result["sites"]["a"][-1].get("failed")) is failed
    assert "a: cpu/0 is offline" in result["sites"]["a"][-1]["msg"] or not failed


def test_a_bundle_is_written_and_neither_waited_for_nor_judged() -> None:
    fleet = Fleet(sites=("clinic", "a"))
    fleet.info["clinic"] |= {"bundle": {"version": 2}, "workloads": [], "bundle_workloads": [{**pool_of(OLD), "version": OLD}]}
    result = fleet.upgrade()
    assert result["plan"][1:] == ["wave 1 of 2, a: 1.40.0 -> 1.41.0", "wave 2 of 2, clinic: a bundle with 1.41.0, which the administrators of the site apply"]
    assert fleet.calls[fleet.calls.index("supernode pulled clinic") + 1] == "supernode clinic" and not fleet.known
    failing = Fleet(sites=("clinic", "a"))
    failing.info["clinic"] |= fleet.info["clinic"]
    failing.answers["supernode"] = {"clinic": {"failed": True, "msg": "clinic: the folder is full"}}
    assert failing.upgrade()["sites"]["clinic"][-1]["msg"] == "clinic: the folder is full"
    assert "supernode before clinic" not in failing.calls, "its version stays: its people may have applied it"


def test_the_options_are_the_variables_of_the_fleet_and_an_empty_answer_is_none() -> None:
    fleet = Fleet(flower_upgrade_wait="60", flower_upgrade_waves="", flower_upgrade_max_failed=0, flower_upgrade_app="")
    assert {name: value for name, value in fleet.arguments().items() if name != "wait_timeout"} == {"wait": "60", "max_failed": 0}
    fleet._task.args = {"wait": 5}
    assert fleet.arguments()["wait"] == 5
