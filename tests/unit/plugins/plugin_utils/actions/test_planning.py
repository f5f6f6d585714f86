# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What is kept in check mode becomes a plan, and a plan that is in force lets only that be written."""

from __future__ import annotations

import json
import stat
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import plan as plan_action
from ansible_collections.federated.flower.plugins.plugin_utils.actions import planning
from ansible_collections.federated.flower.plugins.plugin_utils.apply import watching
from ansible_collections.federated.flower.plugins.plugin_utils.apply.order import id_of
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.plan import (
    plan_comparison,
    plan_document,
    planned_object,
)

HEADER = {
    "collection": "0.1.0", "federation": "f", "namespace": "flower", "hub": "hub", "hosts": ["hub", "site-a"], "tags": "", "skip_tags": "",
}  # fmt: skip


def step(name: str, text: str = "a", **more: Any) -> watching.Step:
    desired = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "flower"}, "data": {"text": text}}
    return watching.Step("site-a", "site-a", id_of(desired), "v1", "created", desired, None, desired, **more)


def test_from_check_mode_to_the_end_of_the_run(tmp_path: Path) -> None:
    recorder = planning.Recorder(tmp_path)
    pem = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    planning.keep_stand_in(tmp_path, pem)
    for one in (step("known"), step("trust", pem), step("address", "not-known-yet.invalid:65535"), step("job", passing=True)):
        recorder.foreseen(one)
    planning.Recorder(tmp_path, apart=True).foreseen(step("link"))
    planning.keep_facts(tmp_path, "site-a", {"words": ["keys: new keys for 0"]})
    content = plan_document.compose(HEADER, planning.found(tmp_path))
    entries = {one["object"].partition("/")[2]: one for one in planned_object.objects(content)}
    assert {name: one["later"] for name, one in entries.items()} == {"known": False, "trust": True, "address": True, "link": False}
    assert entries["link"]["apart"] and content["clusters"]["site-a"]["steps"] == ["keys: new keys for 0"]

    assert planning.in_force(tmp_path) is None
    assert "no plan was compared" in planning.Guard(tmp_path, None).fault(step("known"))
    planning.put_in_force(tmp_path, content)
    guard = planning.Guard(tmp_path, planning.in_force(tmp_path))
    assert guard.fault(step("known")) == guard.fault(step("trust", "real")) == guard.fault(step("job", passing=True)) == ""
    assert "something else" in guard.fault(step("known", "b")) and "not in the plan" in guard.fault(step("other"))
    for one in (step("known"), step("trust", "real"), step("job", passing=True)):
        guard.done(one)
    planned, applied = plan_comparison.outcome(content, planning.done(tmp_path))
    assert [line for line in planned if line not in applied] == ["site-a: created ConfigMap flower/address (made when it was applied)"]
    assert not [line for line in applied if line not in planned]
    guard.done(step("address", "hub:9092"))
    planned, applied = plan_comparison.outcome(content, planning.done(tmp_path))
    assert planned == applied
    assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}
    planning.put_in_force(tmp_path, content)
    assert planning.done(tmp_path) == [], "another plan has its own end"


def test_what_was_kept_is_read_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[Any] = []

    def loads(line: Any) -> Any:
        read.append(line)
        return json.loads(line)

    monkeypatch.setattr(planning, "json", SimpleNamespace(loads=loads, dumps=json.dumps))
    recorder = planning.Recorder(tmp_path)
    for number in range(30):
        planning.keep_stand_in(tmp_path, f"-----BEGIN CERTIFICATE-----\nM{number}\n-----END CERTIFICATE-----")
        recorder.foreseen(step(f"trust-{number}", f"-----BEGIN CERTIFICATE-----\nM{number}\n-----END CERTIFICATE-----\n"))
    assert len(read) == 30, "each stand-in once, and not once for each object"
    content = plan_document.compose(HEADER, planning.found(tmp_path))
    assert all(one["later"] for one in planned_object.objects(content))
    planning.put_in_force(tmp_path, content)
    guard = planning.Guard(tmp_path, planning.in_force(tmp_path))
    read.clear()
    for number in range(30):
        one = step(f"trust-{number}", "real")
        assert guard.fault(one) == ""
        guard.done(one)
    assert guard.fault(step("trust-0", "real")) == "" and len(read) == 30, "and each object that was written"


def test_a_line_that_is_still_written_waits(tmp_path: Path) -> None:
    path, found = tmp_path / "lines", []
    lines = planning._Lines(path)
    lines.added(found.append)
    for text in ('"a"\n"b', 'c"', "\n"):
        with path.open("a", encoding="ascii") as file:
            file.write(text)
        lines.added(found.append)
    assert found == ["a", "bc"]


def test_who_watches(tmp_path: Path) -> None:
    assert watching.current() is None
    outer, inner = planning.Recorder(tmp_path), planning.Guard(tmp_path, None)
    with watching.watched(outer):
        with watching.watched(None):
            assert watching.current() is outer
        with watching.watched(inner):
            assert watching.current() is inner
        assert watching.current() is outer
    assert watching.current() is None


@pytest.mark.parametrize(
    ("value", "words"), [("", ""), ("none", ""), (None, ""), ("site-x", "cannot be applied with a plan"), (True, "must be names of sites")]
)
def test_a_plan_forgets_no_site(value: Any, words: str) -> None:
    action: Any = object.__new__(plan_action.ActionModule)
    action.params = {"forget": value, "former": None, "sha256": "a" * 64, "path": None}
    if words:
        with pytest.raises(ClusterError, match=f"^flower_forget_sites .*{words}"):
            action._open()
    else:
        assert action._open()["msg"].endswith("is compared with a new one")
        action.params["former"] = "c1"
        with pytest.raises(ClusterError, match="^flower_forget_clusters cannot be applied with a plan"):
            action._open()
