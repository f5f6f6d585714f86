# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What becomes of each site in a rotation: a report, or the failure of the site."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import rotation
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.rights.ask import MissingRights
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_proof import Proof

DOWN = "site-b: the API server is unreachable"


@dataclass
class Site:
    """What a rotation needs of a site."""

    hub: str = "hub"
    hub_namespace: str = "flower"
    federation: str = "demo"
    seconds: int = 300
    spec: Any = field(default_factory=lambda: SimpleNamespace(ca_bundle="CA"))


class Way:
    """A site whose SuperNodes accept what the gateway serves, or a site that is down."""

    def __init__(self, trouble: str) -> None:
        self.trouble, self.rests, self.site = trouble, 0, Site()

    def detect_platform(self) -> None:
        return None

    def close(self) -> None:
        self.rests += 1

    def answer(self) -> None:
        if self.trouble:
            raise (MissingRights if "may not" in self.trouble else ClusterError)(self.trouble)

    def trust(self, wanted: Any, result: dict[str, Any]) -> None:
        assert wanted.own_bundle and wanted.seconds == 5
        self.answer()
        result["changed"], result["pods"] = True, [{"pool": "cpu", "pod": "supernode-cpu-0", "seen": {}}]

    def restart(self, wanted: Any, result: dict[str, Any]) -> None:
        self.answer()
        result.update(changed=True, restarted=["supernode-cpu-0"], renewed=bool(wanted.mark))


def acting(monkeypatch: pytest.MonkeyPatch, trouble: str = DOWN) -> tuple[Any, dict[str, Way], dict[str, str]]:
    """An action on two sites, of which one is down; their ways, and what is recorded of failures."""
    action: Any = object.__new__(rotation.ActionModule)
    ways, failures = {"site-a": Way(""), "site-b": Way(trouble)}, {}
    run = SimpleNamespace(failed=failures.__setitem__, note=lambda *_given, **_facts: None)
    action._sites = {name: Site() for name in ways}
    action._outcomes = Outcomes(run, ways, 1)
    action._options = {"hub": "hub", "wait_timeout": 7, "wait": 0, "force": False}

    def reach(sites: dict[str, Site]) -> dict[str, Way]:
        for name, site in sites.items():
            ways[name].site = site
        return {name: ways[name] for name in sites}

    monkeypatch.setattr(action, "reach", reach, raising=False)
    return action, ways, failures


def prove(action: Any, because: Any = None, *, first: bool = False, required: bool = False) -> dict[str, Any]:
    proof = Proof("superlink.demo", {"now": "aa"}, first=first, seconds=5)
    found: dict[str, Any] = action.prove(proof, {"site-a": [], "site-b": []}, because or {}, required=required)
    return found


def test_a_site_that_does_not_prove_it_is_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    action, ways, failures = acting(monkeypatch)
    found = prove(action, {"site-b": {"trouble": "it was not restarted"}})
    outcomes = action._outcomes.as_dict()
    assert not failures and "failed" not in outcomes["site-b"] and action.good() == ["site-a", "site-b"]
    assert found["site-b"]["trouble"] == outcomes["site-b"]["msg"] == f"it was not restarted; {DOWN}"
    assert (outcomes["site-a"]["msg"], outcomes["site-a"]["changed"]) == (
        "1 SuperNodes accept the served certificates",
        True,
    )
    assert not found["site-a"]["trouble"] and [way.rests for way in ways.values()] == [1, 1]


def test_a_site_that_has_to_prove_it_fails_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    action, _ways, failures = acting(monkeypatch)
    prove(action, required=True)
    assert failures == action.faults() == {"site-b": DOWN} and action.good() == ["site-a"]


def test_a_site_without_rights_fails_and_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    action, _ways, failures = acting(monkeypatch, "site-b: the identity may not: create pods/exec")
    found = prove(action, first=True)
    assert list(failures) == ["site-b"] and "may not" in found["site-b"]["trouble"] and found["site-b"]["trust"] is None


def test_what_keeps_a_site_from_restarting_is_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    action, ways, failures = acting(monkeypatch)
    monkeypatch.setattr(rotation, "Registry", lambda *_given: None)
    monkeypatch.setattr(
        rotation.deploy,
        "Rollout",
        lambda *_given: SimpleNamespace(wait_error="", restart_of=lambda _name, _files, mark: SimpleNamespace(mark=mark)),
    )
    monkeypatch.setattr(action, "connect", lambda _host: Connected(), raising=False)
    found = action.restart(["site-a", "site-b"], ["superexec"], "mark")
    assert not failures and found["site-a"]["renewed"] and found["site-b"]["trouble"] == DOWN
    assert action._outcomes["site-a"].msg == "1 SuperNodes restarted" and action._outcomes["site-b"].msg == DOWN
    assert {way.site.seconds for way in ways.values()} == {7} and {site.seconds for site in action._sites.values()} == {300}


def test_after_a_wait_for_runs_that_was_in_vain_no_further_site_is_restarted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each of them would wait for as long again, for the same run."""
    action, ways, _failures = acting(monkeypatch, "")
    rollout = SimpleNamespace(wait_error="", restart_of=lambda name, _files, _mark: name)

    def wait(_wanted: Any, _result: Any) -> None:
        assert not rollout.wait_error
        rollout.wait_error = "not reached"
        raise ClusterError("a run is active.")

    for way in ways.values():
        monkeypatch.setattr(way, "restart", wait)
    monkeypatch.setattr(rotation, "Registry", lambda *_given: None)
    monkeypatch.setattr(rotation.deploy, "Rollout", lambda *_given: rollout)
    monkeypatch.setattr(action, "connect", lambda _host: Connected(), raising=False)
    found = action.restart(["site-a", "site-b"], ["trust"])
    assert {name: report["trouble"] for name, report in found.items()} == {"site-a": "a run is active", "site-b": "not reached"}
    assert not found["site-b"]["changed"] and not found["site-b"]["renewed"] and action._outcomes["site-b"].msg == "not reached"


class Connected:
    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_error: object) -> None:
        return None


@pytest.mark.parametrize("fault", ["", "no run ended"])
def test_what_became_of_each_site_is_in_the_result_of_a_rotation_that_cannot_go_on(monkeypatch: pytest.MonkeyPatch, fault: str) -> None:
    action, _ways, _failures = acting(monkeypatch)
    shown: list[str] = []

    def run(todo: Any, sites: Any) -> None:
        assert (todo, sites) == ({"leaf": "old"}, action)
        if fault:
            raise ClusterError(fault)

    action._todo, action.say = {"leaf": "old"}, shown.append
    action._rotation = SimpleNamespace(run=run, handshakes=["SITE"], done=["the gateway serves 2"], changed=True, hub=SimpleNamespace(warnings=[]))
    found = action.work({}, action._sites, action._outcomes)
    assert found["msg"] == (f"hub: {fault}" if fault else "the gateway serves 2") and "failed" not in found
    assert {outcome.msg for outcome in action._outcomes.sites.values()} == {"it was not asked"}
    assert found["changed"] and shown == [*found["handshakes"], "the gateway serves 2"]


@pytest.mark.parametrize(
    ("fault", "playing", "hub", "fails"),
    [
        ("hub: no run ended", ["hub", "site-a"], {"changed": False, "failed": True, "msg": "hub: no run ended"}, False),
        ("hub: no run ended", ["site-a"], None, True),
        ("", ["hub", "site-a"], None, False),
    ],
)
def test_the_hub_reports_as_the_sites_do(monkeypatch: pytest.MonkeyPatch, fault: str, playing: list[str], hub: Any, fails: bool) -> None:
    """A task that runs once and fails ends the play for all hosts, before any site has reported what became of it."""
    action, _ways, _failures = acting(monkeypatch)
    monkeypatch.setattr(action, "public", lambda words: words, raising=False)
    action._fault, action.task_vars = fault, {"ansible_play_hosts": playing}
    found = action._with_hub({"sites": {"site-a": {"failed": True}}})
    assert found["sites"].get("hub") == hub and found["sites"]["site-a"] == {"failed": True} and found.get("failed", False) is fails
