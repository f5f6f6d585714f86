# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The action that records the notes of runs: none is lost before it is in the trail."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from ansible import constants

from ansible_collections.federated.flower.plugins.action import audit
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_notes import Journal
from ansible_collections.federated.flower.plugins.plugin_utils.state.audit_trail import Refused

PLACE = {"inventory": ["/i"], "hub": "hub", "namespace": "flower"}


def note(site: str, pid: int) -> dict[str, Any]:
    run = {"pid": pid, "who": {"host": socket.gethostname()}, "place": PLACE, "playbook": "site", "options": {}}
    return {"run": run, "at": "2026-11-22T00:00:00+00:00", "check": False, "site": site, "facts": {"words": ["x"]}}


@pytest.fixture
def scene(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The journal of a run that was killed, and a run of the action beside it."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    killed, mine = (Journal(tmp_path / f"ansible-local-{name}") for name in ("killed", "mine"))
    for journal in (killed, mine):
        journal.path.parent.mkdir()
    killed.note(note("killed", process.pid))
    monkeypatch.setattr(constants, "DEFAULT_LOCAL_TMP", str(mine.path.parent))
    action: Any = object.__new__(audit.ActionModule)
    action.inventory_host = "hub"
    action.task_vars = {"groups": {"flower_hub": ["hub"]}}
    action._task = SimpleNamespace(check_mode=False)
    action.place = lambda: PLACE
    action.variable = lambda name, default: default
    action.connect = lambda _hub: contextlib.nullcontext(SimpleNamespace())
    monkeypatch.setattr(audit, "kubernetes_user", lambda _cluster: "jane")
    return SimpleNamespace(action=action, killed=killed, mine=mine)


def act(scene: Any, append: Any, monkeypatch: pytest.MonkeyPatch, *, required: bool) -> dict[str, Any]:
    monkeypatch.setattr(audit, "Trail", lambda *_place: SimpleNamespace(append=append))
    return scene.action.execute({"hub": None, "hub_namespace": "flower", "federation": "flower", "required": required}, {})


def refuse(_parts: Any) -> Any:
    raise ClusterError("hub: jane cannot create configmaps")


@pytest.mark.parametrize("required", [True, False])
def test_what_a_killed_run_left_is_kept_until_it_is_recorded(scene: Any, monkeypatch: pytest.MonkeyPatch, required: bool) -> None:
    result = act(scene, refuse, monkeypatch, required=required)
    assert [one["site"] for one in scene.killed.read()] == ["killed"]
    assert result["failed"] is required and "it is kept for a later run" in result["msg"] and "jane cannot create" in result["msg"]
    assert "warnings" not in result and "unrecorded" not in result, "nothing of this run is lost"
    recorded: list[Any] = []

    def append(parts: Any) -> Any:
        recorded.extend(parts)
        return [{"seq": 7, "hash": "h"}], []

    result = act(scene, append, monkeypatch, required=required)
    assert [entry["interrupted"] for entry in recorded] == ["2026-11-22T00:00:00+00:00"]
    assert result["changed"] and scene.killed.read() == []


@pytest.mark.parametrize("required", [True, False])
def test_what_this_run_changed_is_in_its_result_and_tried_again(scene: Any, monkeypatch: pytest.MonkeyPatch, required: bool) -> None:
    scene.mine.note(note("mine", 1))
    result = act(scene, refuse, monkeypatch, required=required)
    assert [list(entry["sites"]) for entry in result["unrecorded"]] == [["mine"]]
    assert result.get("failed", False) is required and bool(result.get("warnings")) is not required
    assert len(scene.mine.read()) == len(scene.killed.read()) == 1


@pytest.mark.parametrize("required", [True, False])
def test_what_the_hub_does_not_accept_is_in_the_result_and_the_rest_is_recorded(
    scene: Any, monkeypatch: pytest.MonkeyPatch, required: bool
) -> None:
    scene.mine.note(note("mine", 1))

    def append(parts: Any) -> Any:
        raise Refused("hub: one entry is not accepted", [parts[0]], [{"seq": 7, "hash": "h"}], ["w"])

    result = act(scene, append, monkeypatch, required=required)
    assert [list(entry["sites"]) for entry in result["unrecorded"]] == [["killed"]]
    assert result["changed"] and result["added"] == [7] and "one entry is not accepted" in result["msg"]
    assert result.get("failed", False) is required and result["warnings"][0] == "w" and len(result["warnings"]) == 2 - required
    assert scene.mine.read() == scene.killed.read() == []


def test_journals_stay_where_the_hub_accepts_nothing(scene: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def append(parts: Any) -> Any:
        raise Refused("hub: jane cannot create configmaps", parts, [], [])

    assert act(scene, append, monkeypatch, required=True)["failed"]
    assert len(scene.killed.read()) == 1
