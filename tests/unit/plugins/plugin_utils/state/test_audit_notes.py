# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the base of the actions notes, whatever an action does."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest
from ansible import constants
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import ApplyFailed, Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_notes import FILE, Journal, abandoned

PLACE = {"inventory": ["/i"], "hub": "hub", "namespace": "f"}

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


def note(site="a", pid=1, host="ctl", place=None):
    return {
        "run": {"pid": pid, "who": {"host": host}, "place": place or PLACE},
        "site": site,
        "facts": {"words": ["ä"]},
    }


@pytest.fixture
def dead():
    """The id of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def folder(tmp_path, name):
    path = tmp_path / f"ansible-local-{name}"
    path.mkdir()
    return path


def test_notes_are_kept_until_they_are_taken(tmp_path):
    journal = Journal(tmp_path)
    assert journal.read() == []
    with journal.taken() as notes:
        assert notes == []
    assert not journal.path.exists()
    journal.note(note("a"))
    journal.note(note("b"))
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    with pytest.raises(RuntimeError), journal.taken() as notes:
        assert len(notes) == 2
        raise RuntimeError
    with journal.taken() as notes:
        assert [one["site"] for one in notes] == ["a", "b"]
    assert journal.read() == []
    journal.note(note("c"))
    assert [one["site"] for one in journal.read()] == ["c"]


def test_many_write_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: Journal(tmp_path).note(note("x" * 5000 + str(number))), range(200)))
    assert len({one["site"] for one in Journal(tmp_path).read()}) == 200


def test_a_line_that_was_cut_off_is_no_note(tmp_path):
    journal = Journal(tmp_path)
    journal.note(note("a"))
    with journal.path.open("ab") as file:
        file.write(b'{"run": {"pi')
    assert [one["site"] for one in journal.read()] == ["a"]


def test_a_journal_that_cannot_be_written(tmp_path):
    with pytest.raises(ClusterError, match="cannot be stored for the audit trail in .*: No such file or directory"):
        Journal(tmp_path / "gone").note(note())


def test_what_runs_that_were_killed_left(tmp_path, dead):
    mine = folder(tmp_path, "1")
    for name, one in {
        "mine": None,
        "killed": note("killed", dead),
        "alive": note("alive", os.getpid()),
        "elsewhere": note("elsewhere", dead, host="other"),
        "another": note("another", dead, place={**PLACE, "namespace": "g"}),
    }.items():
        if one:
            Journal(folder(tmp_path, name)).note(one)
    Journal(mine).note(note("mine", dead))
    folder(tmp_path, "empty").joinpath(FILE).touch()
    (found,) = abandoned(mine, "ctl", PLACE)
    with found.taken() as notes:
        assert [one["site"] for one in notes] == ["killed"]
    assert abandoned(mine, "ctl", PLACE) == []


def test_what_others_left_in_a_shared_folder_is_none_of_ours(tmp_path, dead, monkeypatch):
    """Whoever may write to that folder may leave a journal in it, or a link to a file of someone else."""
    mine = folder(tmp_path, "1")
    killed, linked = folder(tmp_path, "killed"), folder(tmp_path, "linked")
    Journal(killed).note(note("killed", dead))
    (linked / FILE).symlink_to(killed / FILE)
    assert [one.path.parent for one in abandoned(mine, "ctl", PLACE)] == [killed]
    with pytest.raises(ClusterError, match="cannot be stored"):
        Journal(linked).note(note())
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert abandoned(mine, "ctl", PLACE) == []


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
