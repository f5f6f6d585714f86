# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Each task records what it changed in the audit trail on the hub, whatever becomes of it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import constants
from ansible.parsing.dataloader import DataLoader
from ansible.playbook.task import Task
from ansible.template import Templar

from ansible_collections.federated.flower.plugins.plugin_utils.actions import audit_record, check_notes, fleet_lease
from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import ApplyFailed, Result
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import NotFound, Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Trail
from ansible_collections.federated.flower.plugins.plugin_utils.state.hash_chain import parse
from ansible_collections.federated.flower.tests.unit.audit_hub import Hub
from ansible_collections.federated.flower.tests.unit.rows import each_row

VARIABLES: dict[str, Any] = {
    "inventory_hostname": "site-a",
    "ansible_play_batch": ["site-a"],
    "groups": {"flower_hub": ["hub"]},
    "hostvars": {"hub": {"flower_namespace": "f"}},
}
OBJECTS = [
    {"kind": "Service", "namespace": "f", "name": "x", "change": "changed", "sha256": "0" * 64, "apiVersion": "v1"},
    {"kind": "Service", "namespace": "f", "name": "y", "change": "unchanged", "apiVersion": "v1"},
]
CHANGED = [{"change": "changed", "object": "Service f/x", "sha256": "0" * 64}]

Execute = Callable[[ClusterAction], dict[str, Any]]


class Scene:
    """A hub with a trail, and tasks beside it."""

    def __init__(self) -> None:
        self.hub = Hub("hostile")
        self.shown: list[str] = []
        self.is_lost = False

    def run(self, execute: Execute, *, check: bool = False, lease: Any = None, variables: Any = None, **attributes: Any) -> dict[str, Any]:
        """Run a task; returns its result."""
        scene = self

        class Action(ClusterAction):
            MUST_RECORD = attributes.get("must", True)
            NOTES_MESSAGE = attributes.get("message", True)

            def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
                self.lease = lease
                return execute(self)

            def _cluster_of(self, host: str | None, timeout: float) -> Any:
                assert host == "hub"
                if scene.is_lost:
                    raise Unreachable("hub: no answer")
                return nullcontext(scene.hub)

            def say(self, text: str) -> None:
                scene.shown.append(text)

        task = Task.load({"action": "federated.flower.apply", "check_mode": check, "diff": True})
        connection = SimpleNamespace(_shell=SimpleNamespace(tmpdir="/none"))  # all that the base of the actions looks at
        given, loader = {**VARIABLES, **(variables or {})}, DataLoader()
        return Action(task, connection, None, loader, Templar(loader=loader, variables=given), None).run(task_vars=given)

    @property
    def entries(self) -> list[dict[str, Any]]:
        """The entries of the trail."""
        lines, _head = Trail(self.hub, "f", "flower").read()
        return [entry for line in lines if (entry := parse(line.text))]


@pytest.fixture
def scene(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> Scene:
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(tmp_path))
    monkeypatch.setattr(audit_record, "kubernetes_user", lambda _cluster: "jane")
    return Scene()


def changes(action: ClusterAction) -> dict[str, Any]:
    return {"changed": True, "objects": OBJECTS, "msg": "done"}


def fails(action: ClusterAction) -> dict[str, Any]:
    action.note(words=["x"])
    raise ClusterError("it is down.")


def test_objects_of_a_result_are_recorded(scene: Scene) -> None:
    result = scene.run(changes)
    (entry,) = scene.entries
    assert entry["sites"] == {"site-a": {"objects": CHANGED}} and "failed" not in entry
    assert set(entry["who"]) == {"user", "host", "kubernetes"} and entry["who"]["kubernetes"] == "jane"
    assert scene.shown == [f"audit trail: entry 1, hash {entry['hash']}"]
    assert result["msg"] == "done" and not result.get("warnings")


def test_nothing_is_recorded_where_nothing_was_changed(scene: Scene) -> None:
    scene.is_lost = True  # nor is the hub asked
    scene.run(lambda _action: {"changed": False, "objects": OBJECTS[1:]})
    scene.run(changes, check=True)
    scene.run(lambda _action: {"changed": True}, message=False)
    scene.run(lambda action: fails(action) if action.check else {}, check=True)
    scene.run(changes, variables={"groups": {}})  # there is no hub that could have a trail
    assert not scene.hub.found


def test_check_mode_keeps_what_a_plan_needs(scene: Scene) -> None:
    scene.run(lambda _action: {"changed": True, "objects": OBJECTS, "diff": [{"after_header": "x"}]}, check=True)
    assert check_notes.changes() == [{"site": "site-a", "facts": facts} for facts in ({"objects": CHANGED}, {"diff": [{"after_header": "x"}]})]


def test_a_change_of_which_nothing_was_noted_is_recorded_with_its_message(scene: Scene) -> None:
    scene.run(lambda _action: {"changed": True, "msg": "all is new"})
    assert scene.entries[0]["sites"] == {"site-a": {"words": ["apply: all is new"]}}


def test_what_an_action_notes_is_recorded_by_site(scene: Scene) -> None:
    def execute(action: ClusterAction) -> dict[str, Any]:
        action.note("site-b", keys=[{"fingerprint": "SHA256:a"}], words=[])
        action.note(words=iter(["x"]))
        return {"changed": True, "msg": "done"}

    scene.run(execute)
    assert scene.entries[0]["sites"] == {"site-b": {"keys": [{"fingerprint": "SHA256:a"}]}, "site-a": {"words": ["x"]}}


def test_what_a_task_changed_before_it_failed_is_recorded(scene: Scene) -> None:
    def execute(_action: ClusterAction) -> dict[str, Any]:
        raise ApplyFailed("half of it failed", Result(objects=OBJECTS))

    assert scene.run(execute)["msg"] == "site-a: half of it failed"
    assert scene.run(fails)["failed"]
    assert [(entry["sites"], entry["failed"]) for entry in scene.entries] == [
        ({"site-a": {"objects": CHANGED}}, {"site-a": "site-a: half of it failed"}),
        ({"site-a": {"words": ["x"]}}, {"site-a": "site-a: it is down."}),
    ]


def test_a_task_that_is_interrupted_records_what_it_changed(scene: Scene) -> None:
    def execute(action: ClusterAction) -> dict[str, Any]:
        action.note(words=["x"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        scene.run(execute)
    assert scene.entries[0]["sites"] == {"site-a": {"words": ["x"]}}


def test_a_long_task_records_every_half_minute(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(audit_record.time, "monotonic", lambda: clock.now)
    found = []

    def execute(action: ClusterAction) -> dict[str, Any]:
        for step in range(4):
            clock.now = step * 31.0
            scene.is_lost = step == 2  # then it is tried again later
            action.note(f"site-{step}", words=["x"])
            found.append([list(entry["sites"]) for entry in scene.entries])
        return {"changed": True}

    result = scene.run(execute)
    assert found == [[], [["site-0", "site-1"]], [["site-0", "site-1"]], [["site-0", "site-1"], ["site-2", "site-3"]]]
    assert len(scene.entries) == 2 and not result.get("warnings")


def test_a_site_that_fails_after_its_changes_were_recorded_is_named(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = SimpleNamespace(now=0.0)
    monkeypatch.setattr(audit_record.time, "monotonic", lambda: clock.now)

    def execute(action: ClusterAction) -> dict[str, Any]:
        action.note("site-a", words=["x"])
        clock.now = 31.0
        action.note("site-b", words=["x"])
        action.begin_notes().fail("site-a", "no image")
        return {"changed": True}

    scene.run(execute)
    assert [(list(entry["sites"]), entry.get("failed")) for entry in scene.entries] == [(["site-a", "site-b"], None), ([], {"site-a": "no image"})]


@pytest.mark.parametrize(
    ("attributes", "fails_too"),
    [({"lease": "held"}, True), ({}, False), ({"must": False, "lease": "held"}, False)],
)
def test_what_cannot_be_recorded_is_in_the_result(scene: Scene, attributes: dict[str, Any], fails_too: bool) -> None:
    scene.is_lost = True
    result = scene.run(changes, **attributes)
    assert [entry["sites"] for entry in result["unrecorded"]] == [{"site-a": {"objects": CHANGED}}]
    assert result.get("failed", False) is fails_too
    (text,) = result.get("warnings") or [result["msg"]]
    assert "could not be recorded in the audit trail" in text and "no answer" in text
    assert result["msg"].startswith("done"), "the message of the task is lost"


@pytest.mark.parametrize(("lease", "fails_too"), [(None, False), ("held", True)])
def test_a_hub_without_a_namespace_has_no_trail_yet(scene: Scene, monkeypatch: pytest.MonkeyPatch, lease: Any, fails_too: bool) -> None:
    def refuse(*_given: Any) -> Any:
        raise NotFound("hub", "POST", 404, {"message": "namespaces f not found"})

    monkeypatch.setattr(scene.hub, "create", refuse)
    result = scene.run(changes, lease=lease)
    assert result.get("failed", False) is fails_too and result["unrecorded"]


def test_what_the_hub_does_not_accept_is_in_the_result_and_the_rest_is_recorded(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(action: ClusterAction) -> dict[str, Any]:
        action.note("site-a", words=["x"])
        action.note("site-b", words=["hostile"])
        return {"changed": True, "msg": "done"}

    monkeypatch.setattr(audit_record.audit_notes.in_parts, "__defaults__", (1,))
    result = scene.run(execute, lease="held")
    assert [list(entry["sites"]) for entry in scene.entries] == [["site-a"]]
    assert [list(entry["sites"]) for entry in result["unrecorded"]] == [["site-b"]] and result["failed"]


@pytest.mark.parametrize("gone", ["Namespace f", "Project f", "ConfigMap f/flower-audit"])
def test_a_task_that_deletes_the_trail_does_not_begin_another_one(scene: Scene, gone: str) -> None:
    def execute(action: ClusterAction) -> dict[str, Any]:
        action.note("hub", objects=[{"change": "deleted", "object": gone}])
        return {"changed": True}

    assert not scene.run(execute).get("failed") and not scene.hub.found
    assert scene.shown == ["The audit trail was deleted together with the hub's namespace f."]


def test_values_of_a_vault_are_not_in_it(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    def execute(action: ClusterAction) -> dict[str, Any]:
        action.note(words=["x"])
        raise ClusterError("the token hush-hush is refused")

    monkeypatch.setattr(ClusterAction, "public", lambda _self, words: str(words).replace("hush-hush", "…") if isinstance(words, str) else words)
    scene.run(execute)
    assert "hush" not in str(scene.entries)


# ---- the lease of a playbook that may end here -------------------------------------------------------------------------


@each_row(
    ("base", "result", "batch", "once", "step", "ends"),
    [
        (ClusterAction, {"failed": True}, ["a"], False, False, True),
        (ClusterAction, {"failed": True}, ["a", "b"], True, False, True),
        (ClusterAction, {"failed": True}, ["a", "b"], False, False, False),  # the other host may still work
        (ClusterAction, {"failed": True}, ["a"], False, True, False),  # the action of which it is a step goes on
        (ClusterAction, {}, ["a"], False, False, False),
        (FleetAction, {"sites": {"a": {"failed": True}, "b": {"failed": True}}}, ["a", "b"], True, False, True),
        (FleetAction, {"sites": {"a": {"failed": True}, "b": {}}}, ["a", "b"], True, False, False),
        (FleetAction, {"sites": {"a": {"failed": True}}}, ["a"], True, True, False),
        (FleetAction, {"sites": {}}, ["a"], True, False, False),
    ],
)
def test_a_task_after_which_the_playbook_may_end(base: Any, result: Any, batch: list[str], once: bool, step: bool, ends: bool) -> None:
    action = object.__new__(type("Action", (base,), dict.fromkeys(base.__abstractmethods__)))
    action._task, action.task_vars, action.is_step = SimpleNamespace(run_once=once), {"ansible_play_batch": batch}, step
    assert action.may_end_play(result) is ends


@pytest.mark.parametrize(("execute", "returned"), [(fails, 1), (changes, 0)])
def test_a_task_that_may_be_the_last_one_returns_the_lease(scene: Scene, monkeypatch: pytest.MonkeyPatch, execute: Execute, returned: int) -> None:
    given: list[Any] = []
    monkeypatch.setattr(fleet_lease, "give_back", given.append)
    scene.run(execute, lease="held")
    assert len(given) == returned
