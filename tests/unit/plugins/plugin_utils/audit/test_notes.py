# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the base of the actions notes, whatever an action does."""

from __future__ import annotations

import os
from types import SimpleNamespace

import pytest
from ansible import constants
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import ApplyFailed, Result
from ansible_collections.federated.flower.plugins.plugin_utils.audit.journal import Journal
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError

VARIABLES = {
    "inventory_hostname": "site-a",
    "groups": {"hubs": ["hub"]},
    "flower_hub_group": "hubs",
    "flower_namespace": "own",
    "hostvars": {"hub": {"flower_namespace": "f"}},
    "ansible_inventory_sources": ["/fleet"],
}
OBJECTS = [
    {"kind": "Service", "namespace": "f", "name": "x", "change": "changed", "sha256": "0" * 64, "apiVersion": "v1"},
    {"kind": "Service", "namespace": "f", "name": "y", "change": "unchanged", "apiVersion": "v1"},
]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Function: let an action run whose execute is the given one; returns its result and what was noted."""
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))

    def do(execute, check=False):
        class Action(ClusterAction):
            def execute(self, params, task_vars):
                return execute(self)

        loader = DataLoader()
        task = Task.load({"action": "federated.flower.apply", "check_mode": check})
        connection = SimpleNamespace(
            _shell=SimpleNamespace(tmpdir="/none")
        )  # all that the base of the actions looks at
        action = Action(task, connection, None, loader, Templar(loader=loader, variables=VARIABLES), None)
        return action.run(task_vars=VARIABLES), Journal(tmp_path).read()

    return do


def test_objects_of_a_result(run):
    _result, (note,) = run(lambda action: {"changed": True, "objects": OBJECTS})
    assert note["site"] == "site-a" and not note["check"]
    assert note["facts"] == {"objects": [{"change": "changed", "object": "Service f/x", "sha256": "0" * 64}]}
    assert note["run"]["place"] == {"inventory": ["/fleet"], "hub": "hub", "namespace": "f"}
    assert note["run"]["pid"] == os.getppid() and set(note["run"]["who"]) == {"user", "host"}


def test_nothing_changed(run):
    assert run(lambda action: {"changed": False, "objects": OBJECTS[1:]})[1] == []


def test_check_mode(run):
    assert [note["check"] for note in run(lambda action: {"changed": True}, check=True)[1]] == [True]


def test_a_change_of_which_nothing_was_told(run):
    (note,) = run(lambda action: {"changed": True, "msg": "all is new"})[1]
    assert note["facts"] == {"words": ["apply: all is new"]}


def test_what_an_action_tells(run):
    def execute(action):
        action.note("site-b", keys=[{"fingerprint": "SHA256:a"}], words=[])
        action.note(words=iter(["x"]))
        return {"changed": True, "msg": "told"}

    notes = run(execute)[1]
    assert [(note["site"], note["facts"]) for note in notes] == [
        ("site-b", {"keys": [{"fingerprint": "SHA256:a"}]}),
        ("site-a", {"words": ["x"]}),
    ]


def test_what_an_apply_had_changed_before_it_failed(run):
    def execute(action):
        raise ApplyFailed("half of it failed", Result(objects=OBJECTS))

    result, notes = run(execute)
    assert result["failed"] and result["msg"] == "site-a: half of it failed"
    assert [note.get("failed") or note["facts"]["objects"][0]["object"] for note in notes] == [
        "Service f/x",
        "site-a: half of it failed",
    ]


def test_a_journal_that_cannot_be_written_fails_the_task(run, tmp_path):
    def execute(action):
        tmp_path.rmdir()
        return {"changed": True, "msg": "done"}

    result, _notes = run(execute)
    assert result["failed"] and result["msg"].startswith("done; site-a: changes cannot be stored")


def test_errors_are_noted_as_failures_without_facts(run):
    def execute(action):
        raise ClusterError("it is down.")

    assert [note["failed"] for note in run(execute)[1]] == ["site-a: it is down."]
