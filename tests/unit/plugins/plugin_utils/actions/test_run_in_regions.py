# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The action that submits a run into some regions: the order of its checks, and what it says of a run that is not watched any more."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import jinja2
import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.action import run
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    outputs_reader,
    packages,
    run_inputs,
    run_regions,
    run_sites,
    run_table,
    runs,
    submission,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unauthorized
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

ROOT = Path(__file__).parents[5]
EU = run_regions.Regions(("eu",), {"1": "site-a", "3": "site-b"}, {"site-a": "eu", "site-b": "us"})


class Hub:
    """A cluster that nobody asks."""

    name = "hub"

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_error: object) -> None:
        """It stays."""


def act(**given: Any) -> dict[str, Any]:
    action: Any = object.__new__(run.ActionModule)
    action.inventory_host = "hub"
    action._task = SimpleNamespace(check_mode=False, no_log=False)
    action.connect = Hub
    action.say = lambda text: None
    action.note = lambda **facts: None
    action.params = action._checked(action.ARGS, action.SPEC, {"namespace": "flower", **given}, "")
    found: dict[str, Any] = action.execute(action.params, {})
    return found


@pytest.fixture
def online(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Nodes that are online, look after look; the last one again and again."""
    looks = [["1"]]

    def nodes(_cli: FlowerCLI) -> dict[str, dict[str, str]]:
        now = looks.pop(0) if len(looks) > 1 else looks[0]
        return {node: {"status": "online" if node in now else "offline"} for node in EU.homes}

    monkeypatch.setattr(FlowerCLI, "nodes", nodes)
    monkeypatch.setattr(run_regions, "read", lambda cli, wanted: EU)
    monkeypatch.setattr(run_regions, "known", lambda cli, wanted: EU)
    monkeypatch.setattr(run_regions.time, "sleep", lambda seconds: None)
    monkeypatch.setattr(run_table, "known_runs", lambda cli, ids: {})
    return looks


def ends(monkeypatch: pytest.MonkeyPatch, end: runs.Run | ClusterError) -> None:
    """What following the run comes to."""

    def wait(*_given: Any, **_more: Any) -> tuple[runs.Run, str, list[str]]:
        if isinstance(end, ClusterError):
            raise end
        return end, "", []

    monkeypatch.setattr(run.ActionModule, "_wait", wait)


def succeeded(result: dict[str, Any]) -> bool:
    """What the playbook takes the result for."""
    play = yaml.safe_load((ROOT / "playbooks/run.yml").read_text("utf-8"))[-1]
    seen = {key: value for key, value in result.items() if key != "failed"}  # its task has failed_when: false
    return jinja2.Environment().from_string(play["vars"]["__run_well"]).render(__run=seen) == "True"


def test_what_is_denied_is_offline_before_datasets_are_compared(online: list[list[str]], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    online[:] = [["1", "3"], ["1", "3"], ["1"]]
    seen = []

    def compare(cli: FlowerCLI, *_given: Any, **_more: Any) -> dict[str, Any]:
        seen.append(sorted(node for node, state in cli.nodes().items() if state["status"] == "online"))
        return {}

    app = SimpleNamespace(name="me/app", version="1", files={}, size=0, warnings=[], defaults={})
    monkeypatch.setattr(run.apps, "load", lambda path: app)
    monkeypatch.setattr(packages, "declared", lambda app: [])
    given = SimpleNamespace(run_config={}, origin={})
    monkeypatch.setattr(run_inputs, "read", lambda *_given: given)
    monkeypatch.setattr(run_inputs, "provide", lambda *_given, **_more: ({}, [], []))
    monkeypatch.setattr(submission, "check_datasets", compare)
    monkeypatch.setattr(outputs_reader, "known_room", lambda *_given: (None, ""))
    monkeypatch.setattr(submission, "submit", lambda cli, app, config: {"run-id": 5})
    ends(monkeypatch, runs.Run("5", "finished:failed", "", 1.0, "me/app"))
    found = act(app=str(tmp_path), regions=["eu"], datasets=["ct"], regions_wait=60)
    assert seen == [["1"]] and found["run_id"] == "5" and found["region_sites"] == ["site-a"] and not found["succeeded"]


def test_a_run_that_is_not_over_in_time_is_not_watched(online: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    ends(monkeypatch, runs.Run("5", "running", "", 1.0, "me/app"))
    words = act(run_id="5", regions=["eu"])["msg"]
    assert "It is still running" in words and "its regions are not enforced" in words and "flower_run_regions" in words
    assert "regions" not in act(run_id="5")["msg"]


def test_a_run_that_completed_without_a_site_warns(monkeypatch: pytest.MonkeyPatch) -> None:
    failed = "INFO :          \t> Received error in reply from node 3: <class 'ValueError'>:<'3 columns'>"
    log = ["INFO :      aggregate_train: Received 1 results and 1 failures", failed, *[f"line {number}" for number in range(60)]]
    end = runs.Run("5", runs.COMPLETED, "", 1.0, "me/app")
    monkeypatch.setattr(run.ActionModule, "_wait", lambda *_given, **_more: (end, "", log))
    monkeypatch.setattr(run.ActionModule, "_fetch_outputs", lambda self, cli, run_id, result: result.update(outputs={}))
    monkeypatch.setattr(run_sites, "homes", lambda cli: EU.homes)
    found = act(run_id="5")
    assert succeeded(found) and found["node_errors"] in found["warnings"][0] and found["warnings"] == [
        "run 5: answers of SuperNodes in its log that are errors: 1. Flower's strategies continue without these SuperNodes. "
        "The last error of each: site-b (node 3): <class 'ValueError'>:<'3 columns'>"
    ]
    end = runs.Run("5", "finished:failed", "", 1.0, "me/app")
    assert "site-b (node 3): <class 'ValueError'>" in act(run_id="5")["msg"]
    log[:2] = []
    assert "answers of SuperNodes" not in act(run_id="5")["msg"]


def test_a_run_that_cannot_be_read_may_be_over(online: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run.ActionModule, "_wait", lambda *_given, **_more: (runs.Run("5", "running", "", 1.0, "me/app"), "hub: no route to host.", []))
    words = act(run_id="5", wait_timeout=60)["msg"]
    assert words.startswith("hub: cannot determine whether run 5 has ended, after 60 s (wait_timeout); last seen: running; the last read failed: hub: no route")
    assert "no route to host. It may still be running. Wait for it with run_id" in words and "is still running" not in words.replace("may still", "")


def test_a_run_that_waits_for_supernodes_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    log = ["INFO :      Waiting for nodes to connect: 2 connected (minimum required: 5)."]
    monkeypatch.setattr(run.ActionModule, "_wait", lambda *_given, **_more: (runs.Run("5", "running", "", 1.0, "me/app"), "", log))
    words = act(run_id="5", wait_timeout=60)["msg"]
    assert "last seen: running (its app waits for 5 SuperNodes, and 2 can be reached). It is still running" in words


def test_a_run_is_not_followed_in_regions_that_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_regions, "known", lambda cli, wanted: run_regions.Regions(wanted, EU.homes, EU.places))
    with pytest.raises(FlowerError) as refused:
        act(run_id="5", regions=["EU"])
    assert refused.value.message == (
        "run 5 is no longer followed, so its regions are no longer enforced: no site is in the region EU (flower_run_regions). Regions: eu, us"
    )


def test_no_site_is_denied_for_a_run_that_cannot_be() -> None:
    play = yaml.safe_load((ROOT / "playbooks/run.yml").read_text("utf-8"))[-1]
    (assertion,) = (task["ansible.builtin.assert"] for task in play["tasks"][-1]["block"] if "ansible.builtin.assert" in task)
    hub = {"sites": {"site-a": {"region": "eu"}, "site-b": {"region": "us"}, "site-c": {"region": ""}}, "runs": []}
    variables = trusted({**play["vars"], "ansible_check_mode": False})

    def refused(**given: Any) -> str:
        templar = Templar(loader=DataLoader(), variables={**variables, "__run_hub": hub, "flower_run_regions_only": True, **given})
        is_right = templar.template(trusted("{{ " + assertion["that"] + " }}"))
        return "" if is_right else str(templar.template(trusted(assertion["fail_msg"])))

    assert refused(flower_run_regions="eu, us") == ""
    assert refused(flower_run_regions="eu, EU") == "no site is in the region EU (flower_run_regions). Regions: eu, us. Nothing was changed."
    assert "set flower_run_wait to true" in refused(flower_run_regions="eu", flower_run_wait="false")
    assert "needs flower_run_regions" in refused(flower_run_regions="")
    hub["runs"] = [{"run-id": "7", "status": "running"}]
    assert "active runs use: 7" in refused(flower_run_regions="eu")


def test_sites_are_admitted_also_if_the_hub_does_not_answer_at_once() -> None:
    play = yaml.safe_load((ROOT / "playbooks/run.yml").read_text("utf-8"))[-1]
    admit, *_others, last = play["tasks"][-1]["always"]
    (task,) = admit["block"]
    assert task["federated.flower.site_access"]["state"] == "admitted" and task["until"] == f"{task['register']} is success"
    assert task["retries"] * task["delay"] >= 120, "an API server may restart"
    variables = {"__run_hub": {"sites": {"site-b": {"region": "us"}}}, "flower_run_regions": "eu", "__run_kept_denied": "hub: connection refused."}
    templar = Templar(loader=DataLoader(), variables={**trusted(play["vars"]), **variables})
    assert last["when"] == "__run_kept_denied is defined" and list(admit["rescue"][0]["ansible.builtin.set_fact"]) == ["__run_kept_denied"]
    assert templar.template(trusted(last["ansible.builtin.fail"]["msg"])) == (
        "hub: connection refused. site-b may still be denied. Admit them when no run is active: federated.flower.site_access -e "
        """'{"flower_site": ["site-b"], "flower_access": "admitted"}'"""
    )


def test_a_run_that_cannot_be_read_any_more_may_go_on(online: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    ends(monkeypatch, Unauthorized("hub: the token has expired."))
    words = act(run_id="5", regions=["eu"])["msg"]
    assert "the token has expired. It may still be running. Wait for it with run_id (flower_run_id): 5, or stop it: kubectl " in words
    assert "its regions are not enforced" in words
    ends(monkeypatch, runs.UnknownRun("the SuperLink has no run 5"))
    assert "may still be running" not in act(run_id="5", regions=["eu"])["msg"]


def test_a_run_that_left_is_stopped_or_named(online: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    ends(monkeypatch, run_regions.LeftRegion("SuperNodes outside of eu came online"))
    for (status, trouble), said in (
        ((runs.STOPPED, ""), "hub: run 5 was stopped, because SuperNodes outside of eu came online"),
        (("", "busy"), "run 5 could not be stopped (busy). Stop it: kubectl "),
        ((runs.COMPLETED, ""), "run 5 had already ended (finished:completed)"),
    ):
        monkeypatch.setattr(runs, "stop_at_last", lambda cli, run_id, seconds, end=(status, trouble): end)
        found = act(run_id="5", regions=["eu"])
        assert said in found["msg"] and found["failed"] and found.get("status", "") == status
        assert not succeeded(found), "the playbook must not take it for a run that went well"


def test_the_playbook_fails_for_a_run_that_completed_outside_of_its_regions(online: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    ends(monkeypatch, runs.Run("5", runs.COMPLETED, "", 1.0, "me/app"))
    monkeypatch.setattr(run_regions, "fault_afterwards", lambda *_given: "site-b had SuperNodes online during it")
    found = act(run_id="5", regions=["eu"])
    assert found["failed"] and found["status"] == runs.COMPLETED and not succeeded(found)


def test_a_run_that_was_not_watched_all_the_time_says_so(online: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(self: Any, *_given: Any, **_more: Any) -> tuple[runs.Run, str, list[str]]:
        self._border.unseen = 3600.0
        return runs.Run("5", runs.COMPLETED, "", 1.0, "me/app"), "", []

    monkeypatch.setattr(run.ActionModule, "_wait", wait)
    monkeypatch.setattr(run_regions, "fault_afterwards", lambda *_given: "")
    monkeypatch.setattr(run.ActionModule, "_fetch_outputs", lambda self, cli, run_id, result: result.update(outputs={}))
    (warning,) = act(run_id="5", regions=["eu"])["warnings"]
    assert warning.startswith("for 3600 s of run 5 the online SuperNodes were unknown")
