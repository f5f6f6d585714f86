# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Tasks take and renew the lease of the fleet themselves."""

from __future__ import annotations

import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import constants, context
from ansible.errors import AnsiblePromptNoninteractive
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.action import lease as lease_action
from ansible_collections.federated.flower.plugins.plugin_utils.actions import fleet_lease
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state.hub_lease import Lost
from ansible_collections.federated.flower.plugins.plugin_utils.state.parent import Abandoned
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.state.lease_hub import LeaseHub

BOB = "bob@desk, job 7, site.yml, ansible-local-2def"
SHARED = fleet_lease._TAKEN
GROUPS = {"flower_hub": ["hub"], "flower_standby": ["spare"]}


class Action(ClusterAction):
    """A task on a site."""

    hub = LeaseHub()
    makes = False
    refusal = ""

    def __init__(self, *, check: bool = False, **variables: Any) -> None:
        self.inventory_host = self._site = "site-a"
        self.task_vars = {**variables, "groups": GROUPS, "hostvars": {"hub": {}, "spare": {}, "site-a": {}}}
        self._templar = Templar(loader=DataLoader(), variables={})
        self._task = SimpleNamespace(check_mode=check)
        self.asked: list[Any] = []
        self.noted: list[Any] = []

    def connect(self, host: str | None = None, *, timeout: float = 0) -> Any:
        self.asked.append((host, timeout))
        return self.hub

    def note(self, site: str | None = None, **facts: Any) -> None:
        self.noted.append((site, facts))

    def say(self, text: str) -> None:
        self.asked.append(text)

    def make_lease_namespace(self, hub: Any) -> bool:
        self.hub.has_namespace = self.makes
        return self.makes

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        raise NotImplementedError


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> LeaseHub:
    """A hub that serves, and a run that has not taken its lease."""
    found = LeaseHub()
    found.federation = "flower"
    monkeypatch.setattr(Action, "hub", found)
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path / "run"))
    monkeypatch.setattr(fleet_lease.serving, "require", lambda *_given: [])
    monkeypatch.setattr(fleet_lease, "_TAKEN", bytearray(256))
    return found


def cli(monkeypatch: pytest.MonkeyPatch, **options: Any) -> None:
    monkeypatch.setattr(context, "CLIARGS", options)


@pytest.mark.parametrize(
    ("variables", "needed"),
    [
        ({}, False),
        ({"__lease_needed": True}, True),
        ({"__lease_needed": "false"}, False),
        ({"__lease": {"taken": True, "changed": False}}, True),
        ({"__lease": {"taken": False}}, False),
        ({"__lease": {"skipped": True}}, False),
        ({"__lease_needed": True, "check": True}, False),
        ({"__lease_needed": True, "ansible_run_tags": ["preflight"]}, False),
        ({"__lease_needed": True, "ansible_run_tags": ["preflight", "superlink"]}, True),
    ],
)
def test_which_tasks_need_it(variables: dict[str, Any], needed: bool) -> None:
    assert fleet_lease.is_needed(Action(**variables)) is needed


def test_it_is_held_from_the_first_task_until_it_is_returned(hub: LeaseHub) -> None:
    for _task in range(2):
        action = Action()
        with fleet_lease.holding(action) as lease:
            assert lease is not None and lease.identity == hub.holder and hub.holder.endswith(", run")
        assert hub.holder and action.asked == [("hub", 0)]
    assert fleet_lease.give_back(Action()) == "the lease is returned" and hub.lease is None
    last = Action()
    assert fleet_lease.give_back(last) == "this run holds no lease" and last.asked == []


def test_that_it_was_taken_is_known_to_all_forks(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fleet_lease, "_TAKEN", SHARED)
    child = os.fork()
    if not child:
        try:
            monkeypatch.setattr(fleet_lease.parent, "has_ended", lambda _pid: False)
            fleet_lease.holding(Action()).__enter__()
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    try:
        hub.taken_by(BOB)
        with pytest.raises(Lost, match="bob@desk, job 7, site.yml took it"):
            fleet_lease.holding(Action()).__enter__()
    finally:
        SHARED[:] = bytes(len(SHARED))


def test_each_hub_has_its_own(hub: LeaseHub) -> None:
    with fleet_lease.holding(Action()):
        pass
    action = Action(__lease_group="flower_standby")
    assert fleet_lease.give_back(action) == "this run holds no lease" and hub.holder


@pytest.mark.parametrize("option", [{"start_at_task": "x"}, {"skip_tags": ["always,preflight"]}, {"skip_tags": "always"}])
def test_nothing_is_done_where_checks_were_left_out(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch, option: dict[str, Any]) -> None:
    cli(monkeypatch, **option)
    with pytest.raises(ClusterError, match="skips checks that precede every change, so the lease of the fleet is not taken"):
        fleet_lease.holding(Action()).__enter__()
    assert hub.lease is None


def test_a_fork_of_a_playbook_that_was_killed_begins_nothing_and_returns_it(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = [False]

    def has_ended(_pid: int) -> bool:
        return ended[0]

    monkeypatch.setattr(fleet_lease.parent, "has_ended", has_ended)
    with fleet_lease.holding(Action()):
        ended[0] = True
        assert hub.holder
    assert hub.lease is None
    with pytest.raises(Abandoned):
        fleet_lease.holding(Action()).__enter__()


def test_a_hub_that_does_not_answer(hub: LeaseHub) -> None:
    hub.is_down = True
    with pytest.raises(ClusterError, match="nothing was changed. Run the playbook again when the hub answers."):
        fleet_lease.holding(Action()).__enter__()
    with pytest.raises(ClusterError, match="flower_claim_sites=true removes sites without it."):
        fleet_lease.holding(Action(__lease_removes=True)).__enter__()
    action = Action(flower_claim_sites="true")
    with fleet_lease.holding(action) as lease:
        assert lease is None and action.asked == [("hub", 10.0)]


def test_a_hub_that_does_not_serve_is_refused_and_its_lease_returned(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    def require(*_given: Any) -> list[str]:
        raise ClusterError("spare serves. Nothing was changed.")

    monkeypatch.setattr(fleet_lease.serving, "require", require)
    with pytest.raises(ClusterError, match="spare serves"):
        fleet_lease.holding(Action()).__enter__()
    assert hub.lease is None
    with fleet_lease.holding(Action(__lease_any_state=True)) as lease:
        assert lease is not None


@pytest.mark.parametrize("makes", [False, True])
def test_a_first_deployment_takes_it_once_there_is_a_namespace(hub: LeaseHub, makes: bool) -> None:
    hub.has_namespace = False
    action = Action()
    action.makes = makes
    with fleet_lease.holding(action) as lease:
        assert (lease is not None) is makes


@pytest.mark.parametrize(("given", "typed"), [("bob@desk", None), ("bob@desk, job 7, site.yml", None), ("true", b"bob@desk\n"), (True, b" bob@desk ")])
def test_it_is_broken_by_the_holders_name(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch, given: Any, typed: bytes | None) -> None:
    asked: list[str] = []

    def ask(question: str) -> bytes | None:
        asked.append(question)
        return typed

    monkeypatch.setattr(fleet_lease.display, "prompt_until", ask)
    hub.taken_by(BOB)
    action = Action(flower_lease_break=given)
    with fleet_lease.holding(action):
        assert hub.holder.endswith(", run")
    assert action.noted == [("hub", {"words": ["took the lease of bob@desk, job 7, site.yml by force"]})]
    assert bool(asked) is (typed is not None) and all("type the holder's name (bob@desk)" in question for question in asked)


@pytest.mark.parametrize(
    ("given", "typed", "words"),
    [
        ("jane@laptop", b"", "'jane@laptop' does not hold the lease, but bob@desk, job 7, site.yml. Nothing was changed."),
        ("true", b"yes", "'yes' does not hold the lease"),
        ("true", None, "there is no terminal to ask for the holder's name: -e flower_lease_break='bob@desk'"),
        ("false", b"bob@desk", "still holds its lease"),
        ("", b"bob@desk", "still holds its lease"),
    ],
)
def test_it_is_not_broken_without(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch, given: str, typed: bytes | None, words: str) -> None:
    def ask(_question: str) -> bytes:
        if typed is None:
            raise AnsiblePromptNoninteractive("stdin is not interactive")
        return typed

    monkeypatch.setattr(fleet_lease.display, "prompt_until", ask)
    hub.taken_by(BOB)
    with pytest.raises(ClusterError, match=words):
        fleet_lease.holding(Action(flower_lease_break=given, flower_lease_wait=0)).__enter__()
    assert hub.holder == BOB


@pytest.mark.parametrize("wait", [-1, "soon", 1.5])
def test_a_time_to_wait_that_is_none(wait: Any) -> None:
    with pytest.raises(ClusterError, match=f"flower_lease_wait: {wait} is not a number of seconds"):
        fleet_lease.holding(Action(flower_lease_wait=wait)).__enter__()


def test_the_playbooks_for_ones_own(hub: LeaseHub) -> None:
    class Lease(Action, lease_action.ActionModule):
        execute = lease_action.ActionModule.execute

    assert Lease(check=True).execute({"state": "taken"}, {})["taken"] is False and hub.lease is None
    assert Lease().execute({"state": "taken"}, {})["taken"] is True and hub.holder
    returned = Lease().execute({"state": "returned"}, {})
    assert returned == {"changed": False, "taken": False, "msg": "the lease is returned"} and hub.lease is None
