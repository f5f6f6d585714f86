# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The actions on outputs of runs: the real reader, and what Flower would say of the runs."""

from __future__ import annotations

import json
import os
import re
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.action import (
    run,
    run_outputs_fetch,
    run_outputs_info,
    run_outputs_remove,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower import (
    run_log,
    run_regions,
    run_sites,
    runs,
    submission,
)
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.outputs_pod import Hub

ROOT = Path(__file__).parents[5]
LISTED = [
    {"run-id": 1, "fab-id": "me/app", "fab-version": "1.0.0", "fab-hash": "abc", "status": "finished:completed",
     "pending-at": "2026-11-20 10:00:00Z", "finished-at": "2026-11-20 11:00:00Z", "elapsed": 3600.0},
    {"run-id": 2, "fab-id": "me/app", "fab-version": "1.0.0", "status": "finished:failed",
     "pending-at": "2026-11-21 10:00:00Z", "finished-at": "2026-11-21 11:00:00Z"},
    {"run-id": 3, "fab-id": "me/app", "fab-version": "1.0.0", "status": "running", "pending-at": "2026-11-22 10:00:00Z",
     "finished-at": "N/A"},
]  # fmt: skip


class Cluster(Hub):
    """The hub's cluster: one pod with the reader, one with the SuperLink."""

    keeps_outputs = True

    def __init__(self, root):
        super().__init__(root)
        self.submitted = []

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        return None

    def get(self, _version, _kind, name, _namespace):
        """The pods."""
        if name == "superlink-0":
            notes = {"federated.flower/outputs": "serverapp-0"} if self.keeps_outputs else {}
            ready = [{"name": "superlink", "ready": True, "state": {"running": {}}}]
            return {"metadata": {"uid": "1", "annotations": notes}, "status": {"containerStatuses": ready}}
        running = [{"name": "outputs", "state": {"running": {}}}]
        return {"metadata": {}, "status": {"containerStatuses": running}}


@pytest.fixture
def cluster(tmp_path, monkeypatch):
    root = tmp_path / "outputs"
    for number in ("1", "2", "3"):
        (root / number).mkdir(parents=True)
        (root / number / "model").write_bytes(b"m" * int(number) * 1000)
    monkeypatch.setattr(runs, "read_all", lambda cli: LISTED)
    monkeypatch.setattr(runs, "read_some", lambda cli, ids: [one for one in LISTED if str(one["run-id"]) in ids])
    monkeypatch.setattr(run_sites, "read", lambda cli, run: ["site-a"])
    return Cluster(root)


def act(module, cluster, *, check=False, notes=None, **given):
    action = object.__new__(module.ActionModule)
    action.inventory_host = "hub"
    action._task = SimpleNamespace(check_mode=check, no_log=False)
    action.connect = lambda: cluster
    action.say = lambda text: None
    action.note = lambda **facts: (notes if notes is not None else []).append(facts)
    action.params = action._checked(action.ARGS, action.SPEC, {"namespace": "flower", **given}, "")
    return action.execute(action.params, {})


def test_list(cluster):
    found = act(run_outputs_info, cluster)
    assert [(one["run_id"], one["status"], one["size"]) for one in found["outputs"]] == [
        ("3", "running", 3000), ("2", "failed", 2000), ("1", "completed", 1000),
    ]  # fmt: skip
    assert found["msg"].startswith("outputs of 3 runs, 5.9 KiB; ") and found["room"]["min_free"] == 512 * 2**20
    (one,) = act(run_outputs_info, cluster, run_ids=["1"], files=True)["outputs"]
    assert one["sizes"] == {"model": 1000}
    with pytest.raises(FlowerError, match="run 7 has no outputs on hub"):
        act(run_outputs_info, cluster, run_ids=["1", "7"])


def test_fetch(cluster, tmp_path):
    notes = []
    home = tmp_path / "home"
    would = act(run_outputs_fetch, cluster, check=True, run_ids=["1", "2"], directory=str(home))
    assert would["changed"] and would["msg"].startswith("would fetch 1 file of run 1, 1000 B; ") and not home.exists()
    found = act(run_outputs_fetch, cluster, notes=notes, run_ids=["1", "2", "1"], directory=str(home))
    assert found["changed"] and [one["path"] for one in found["fetched"]] == [str(home / "1"), str(home / "2")]
    (fact,), (_other,) = (note["outputs"] for note in notes)
    assert fact == {
        "change": "fetched", "run": "1", "app": "me/app 1.0.0", "fab_hash": "abc", "sites": ["site-a"], "files": 1, "size": 1000,
        "sha256": found["fetched"][0]["sha256"],
    }  # fmt: skip
    again = act(run_outputs_fetch, cluster, notes=notes, run_ids=["1"], directory=str(home))
    assert not again["changed"] and "were there already" in again["msg"] and len(notes) == 2


def test_a_run_without_outputs_does_not_keep_others(cluster, tmp_path):
    (cluster.root / "1/model").unlink()
    (cluster.root / "1").rmdir()
    found = act(run_outputs_fetch, cluster, run_ids=["1", "2"], directory=str(tmp_path / "home"))
    assert found["failed"] and [one["run_id"] for one in found["fetched"]] == ["2"] and (tmp_path / "home/2/model").exists()
    assert found["msg"].startswith("hub: run 1 has no outputs") and "outputs of run 2: 1 file" in found["msg"], found["msg"]


def test_an_active_run_is_neither_fetched_nor_deleted(cluster, tmp_path):
    with pytest.raises(FlowerError, match="run 3 is not finished, and its outputs are not fetched"):
        act(run_outputs_fetch, cluster, run_ids=["1", "3"], directory=str(tmp_path / "home"))
    with pytest.raises(FlowerError, match="run 3 is not finished, and its outputs are not deleted"):
        act(run_outputs_remove, cluster, run_ids=["1", "3"])
    assert not (tmp_path / "home").exists() and (cluster.root / "1").exists()


def test_prune_deletes_what_the_check_said(cluster):
    notes = []
    would = act(run_outputs_remove, cluster, check=True, keep=1)
    assert (would["changed"], would["deleted"], would["kept"]) == (True, ["1"], ["3", "2"])
    assert sorted(path.name for path in cluster.root.iterdir()) == ["1", "2", "3"]
    done = act(run_outputs_remove, cluster, notes=notes, keep=1)
    assert done["deleted"] == ["1"] and "deleted the outputs of 1 run, 1000 B: 1" in done["msg"]
    assert sorted(path.name for path in cluster.root.iterdir()) == ["2", "3"]
    assert [fact["run"] for note in notes for fact in note["outputs"]] == ["1"]
    again = act(run_outputs_remove, cluster, keep=1)
    assert not again["changed"] and again["msg"].startswith("no outputs are to be deleted; ")
    assert act(run_outputs_remove, cluster, older_than="99w")["deleted"] == []
    assert act(run_outputs_remove, cluster, keep=0)["deleted"] == ["2"], "an active run stays"


@pytest.mark.parametrize("kind", ["file", "link"])
def test_something_else_with_the_name_of_inputs_hides_no_outputs(cluster, app, tmp_path, kind):
    (tmp_path / "x").write_text("x")
    if kind == "file":
        (cluster.root / "inputs").write_text("an app wrote this")
    else:
        (cluster.root / "inputs").symlink_to(tmp_path)
    words = "inputs on the volume for outputs on hub is not a folder .*: rename it"
    listed = act(run_outputs_info, cluster)
    assert len(listed["outputs"]) == 3 and listed["inputs"] == [] and re.match(words, *listed["warnings"])
    done = act(run_outputs_remove, cluster, keep=1)
    assert done["deleted"] == ["1"] and re.match(words, *done["warnings"])
    for check in (True, False):
        with pytest.raises(FlowerError, match=f"nothing was submitted, because {words}"):
            act(run, cluster, check=check, app=str(app), inputs=str(tmp_path / "x"), outputs_min_free="0")
    assert cluster.submitted == []


def test_delete_by_id(cluster):
    done = act(run_outputs_remove, cluster, run_ids=["1", "7"])
    assert (done["deleted"], done["absent"]) == (["1"], ["7"]) and "run 7 has no outputs" in done["msg"]


def test_a_federation_without_outputs(cluster, tmp_path):
    cluster.keeps_outputs = False
    for module, given in (
        (run_outputs_info, {}),
        (run_outputs_remove, {"keep": 1}),
        (run_outputs_fetch, {"run_ids": ["1"], "directory": str(tmp_path / "home")}),
    ):
        with pytest.raises(FlowerError, match="keeps no outputs of runs: set superlink_outputs_enabled"):
            act(module, cluster, **given)


@pytest.fixture
def app(tmp_path, monkeypatch):
    folder = tmp_path / "app"
    (folder / "demo").mkdir(parents=True)
    (folder / "demo/__init__.py").write_text("")
    (folder / "demo/server.py").write_text("app = 1\n")
    (folder / "demo/client.py").write_text("app = 1\n")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "demo"\nversion = "1.0.0"\nlicense = {text = "Apache-2.0"}\n[tool.flwr.app]\npublisher = "me"\n'
        '[tool.flwr.app.components]\nserverapp = "demo.server:app"\nclientapp = "demo.client:app"\n'
        '[tool.flwr.app.config]\nresume-run = ""\ninputs = ""\nrounds = 3\n'
    )
    monkeypatch.setattr(
        submission,
        "submit",
        lambda cli, app, config: cli.cluster.submitted.append(config) or {"run-id": 1, "fab-hash": "abc"},
    )
    done = runs.Run("1", runs.COMPLETED, "", 3.0, "me/demo")
    monkeypatch.setattr(run.ActionModule, "_wait", lambda self, cli, run_id, submitted: (done, "", []))
    return folder


def test_a_run_brings_its_outputs_home(cluster, app, tmp_path):
    notes = []
    found = act(
        run, cluster, notes=notes, app=str(app), outputs_directory=str(tmp_path / "home"), outputs_min_free="1Ki"
    )
    assert found["msg"].startswith("run 1 of me/demo completed in 3.0 s; outputs of run 1: 1 file, 1000 B, fetched: ")
    assert (
        found["outputs"]["path"] == str(tmp_path / "home/1")
        and found["outputs"]["place"] == "flower/serverapp-0:/outputs/1"
    )
    assert found["room"]["min_free"] == 1024 and not found.get("failed") and len(notes) == 1
    assert "path" not in act(run, cluster, app=str(app), outputs_min_free="0")["outputs"]


def test_a_run_stays_completed_when_its_outputs_do_not_come(cluster, app, tmp_path):
    (tmp_path / "home").write_text("a file")
    found = act(run, cluster, app=str(app), outputs_directory=str(tmp_path / "home"), outputs_min_free="0")
    assert found["failed"] and found["status"] == runs.COMPLETED and found["outputs"]["error"]
    assert "run 1 of me/demo completed in 3.0 s, but its outputs were not fetched: cannot make folders" in found["msg"]


def test_a_run_without_outputs_is_a_warning(cluster, app, tmp_path):
    (cluster.root / "1/model").unlink()
    (cluster.root / "1").rmdir()
    found = act(run, cluster, app=str(app), outputs_directory=str(tmp_path / "home"), outputs_min_free="0")
    assert not found.get("failed") and any("its app wrote nothing" in one for one in found["warnings"])


def test_nothing_is_submitted_below_the_floor(cluster, app, monkeypatch):
    monkeypatch.setattr(submission, "submit", lambda *given: pytest.fail("submitted"))
    with pytest.raises(FlowerError, match=r"nothing was submitted, .* nearly full: .*superlink_outputs_min_free"):
        act(run, cluster, app=str(app), outputs_min_free="1000Ti")


def test_a_federation_without_outputs_is_not_asked(cluster, app):
    cluster.keeps_outputs = False
    found = act(run, cluster, app=str(app))
    assert found["outputs"] == {} and "room" not in found and found["warnings"] == [] and cluster.connections == 0


def test_a_reader_that_cannot_be_asked_is_a_warning(cluster, app, monkeypatch):
    def no_answer(self, seconds):
        raise FlowerError("no answer")

    monkeypatch.setattr(FlowerCLI, "wait_for_superlink", no_answer)
    found = act(run, cluster, app=str(app))
    assert any("the free space for outputs is unknown: no answer" in one for one in found["warnings"])


def test_outputs_of_a_run_that_is_not_waited_for_are_fetched_later(cluster, app, tmp_path):
    found = act(run, cluster, app=str(app), wait=False, outputs_min_free="0", outputs_directory=str(tmp_path / "home"))
    assert found["msg"] == "run 1 was submitted; to fetch its outputs, wait for it with run_id (flower_run_id)"
    assert act(run, cluster, app=str(app), wait=False, outputs_min_free="0")["msg"] == "run 1 was submitted"


def test_what_a_run_began_with_is_recorded(cluster, app):
    notes = []
    act(run, cluster, notes=notes, app=str(app), resume="2", outputs_min_free="0")
    assert notes == [{"outputs": [{"change": "began", "run": "1", "resume": "2"}]}]
    act(run, cluster, check=True, notes=notes, app=str(app), resume="2")
    act(run, cluster, notes=notes, app=str(app), outputs_min_free="0")
    assert len(notes) == 1


def test_the_list_beside_the_outputs_says_what_the_run_began_with(cluster, app, tmp_path):
    (tmp_path / "x").write_text("x")
    home = {"outputs_directory": str(tmp_path / "home"), "outputs_min_free": "0"}
    found = act(run, cluster, app=str(app), resume="2", inputs=str(tmp_path / "x"), **home)
    began = {"resume": "2", "inputs": found["inputs"]["sha256"]}
    assert json.loads((tmp_path / "home/1/flower-outputs.json").read_text())["began"] == began
    act(run_outputs_fetch, cluster, run_ids=["1", "2"], directory=str(tmp_path / "later"))
    assert json.loads((tmp_path / "later/1/flower-outputs.json").read_text())["began"] == began
    assert "began" not in json.loads((tmp_path / "later/2/flower-outputs.json").read_text())
    (kept,) = cluster.root.glob(".began-*")
    assert os.stat(kept).st_mode & 0o200, "the request can be repeated"
    act(run_outputs_remove, cluster, run_ids=["1"])
    assert not kept.exists()


@pytest.mark.parametrize("text", ["", "[]", "x", "[" * 5000, '{"resume": "../7", "inputs": "x", "more": 1}'])
def test_an_app_cannot_say_anything_else_there(cluster, tmp_path, text):
    (cluster.root / ".began-1").write_text(text)
    act(run_outputs_fetch, cluster, run_ids=["1"], directory=str(tmp_path / "home"))
    assert "began" not in json.loads((tmp_path / "home/1/flower-outputs.json").read_text())


def test_a_run_whose_origin_cannot_be_kept_goes_on(cluster, app):
    (cluster.root / ".began-1").mkdir()
    found = act(run, cluster, app=str(app), resume="2", outputs_min_free="0")
    assert found["run_id"] == "1" and not found.get("failed")
    assert any("will not list its inputs" in one for one in found["warnings"])


def test_a_run_goes_on_from_an_earlier_one(cluster, app):
    would = act(run, cluster, check=True, app=str(app), resume="2")
    assert would["msg"] == "would submit me/demo 1.0.0; would go on from run 2 (me/app 1.0.0, failed): 1 file, 2.0 KiB"
    assert cluster.submitted == []
    found = act(run, cluster, app=str(app), resume="2", run_config={"rounds": "5"})
    assert cluster.submitted == [{"rounds": 5, "resume-run": "2"}] == [found["run_config"]]
    assert (found["resume"]["run_id"], found["resume"]["status"], found["resume"]["files"]) == ("2", "failed", 1)


def test_what_a_run_goes_on_from_stays_while_it_is_not_finished(cluster, app, monkeypatch):
    act(run, cluster, check=True, app=str(app), resume="2")
    assert [one["in_use"] for one in act(run_outputs_info, cluster)["outputs"]] == [False, False, False]
    act(run, cluster, app=str(app), resume="2", outputs_min_free="0")
    assert act(run_outputs_remove, cluster, check=True, keep=0)["deleted"] == ["1"]
    with pytest.raises(FlowerError, match="outputs of run 2 may be in use"):
        act(run_outputs_remove, cluster, run_ids=["1", "2"])
    assert act(run_outputs_remove, cluster, keep=0)["deleted"] == ["1"]
    assert [one["in_use"] for one in act(run_outputs_info, cluster)["outputs"]] == [False, True]
    monkeypatch.setattr(runs, "read_all", lambda cli: [*LISTED[:2], {**LISTED[2], "status": "finished:completed"}])
    assert act(run_outputs_remove, cluster, keep=0)["deleted"] == ["3"], "another run with it may not be submitted yet"
    (cluster.root / "3").mkdir()
    an_hour_ago = time.time() - 3700
    os.utime(cluster.root / ".used-2", (an_hour_ago, an_hour_ago))
    assert act(run_outputs_remove, cluster, run_ids=["2"])["deleted"] == ["2"]
    assert [path.name for path in cluster.root.iterdir()] == ["3"], "the mark goes as well"


@pytest.mark.parametrize(
    ("resume", "words"),
    [
        ("7", "run 7 has no outputs on hub to resume from"),
        ("3", "run 3 is not finished, and its outputs are not handed to another run"),
        ("x", "resume: a run id is a number, not 'x'"),
    ],
)
def test_what_no_run_can_go_on_from(cluster, app, resume, words):
    for check in (False, True):
        with pytest.raises(FlowerError, match=words):
            act(run, cluster, check=check, app=str(app), resume=resume)
    assert cluster.submitted == []


def test_a_run_is_handed_a_file(cluster, app, tmp_path):
    notes = []
    weights = tmp_path / "weights.npz"
    weights.write_bytes(b"w" * 5000)
    would = act(run, cluster, check=True, app=str(app), inputs=str(weights), outputs_min_free="0")
    assert "would send 4.9 KiB: inputs/" in would["msg"] and not (cluster.root / "inputs").exists()
    found = act(run, cluster, notes=notes, app=str(app), inputs=str(weights), outputs_min_free="0")
    place = found["inputs"]["place"]
    assert cluster.submitted == [{"inputs": place}] and (cluster.root / place).read_bytes() == b"w" * 5000
    began = {"outputs": [{"change": "began", "run": "1", "inputs": found["inputs"]["sha256"]}]}
    sent = {"change": "sent", "inputs": found["inputs"]["sha256"], "files": 1, "size": 5000}
    assert notes == [{"outputs": [sent]}, began]
    again = act(run, cluster, notes=notes, app=str(app), inputs=str(weights), outputs_min_free="0")
    assert again["inputs"] == {**found["inputs"], "sent": 0} and notes[2:] == [began], "also if they were there"
    assert "there already" in act(run, cluster, check=True, app=str(app), inputs=str(weights))["msg"]


@pytest.mark.parametrize("option", ["resume", "inputs"])
def test_an_app_that_can_be_handed_nothing(cluster, app, option):
    project = app / "pyproject.toml"
    key = {"resume": "resume-run", "inputs": "inputs"}[option]
    for other in ("", f"{key} = 3\n"):
        project.write_text(project.read_text().replace(f'{key} = ""\n', other))
        with pytest.raises(
            FlowerError, match=rf'{option}: .* has no string \'{key}\'. Add {key} = "" to \[tool.flwr.app.config\]'
        ):
            act(run, cluster, app=str(app), **{option: "1"})


def test_nothing_is_handed_over_twice(cluster, app):
    with pytest.raises(FlowerError, match="resume: the run config has 'resume-run' as well"):
        act(run, cluster, app=str(app), resume="2", run_config={"resume-run": "1"})
    act(run, cluster, app=str(app), resume="2", run_config={"resume-run": ""}, outputs_min_free="0")


def test_nothing_can_be_handed_over_without_outputs(cluster, app, tmp_path):
    cluster.keeps_outputs = False
    (tmp_path / "x").write_text("x")
    for given in ({"resume": "2"}, {"inputs": str(tmp_path / "x")}):
        with pytest.raises(FlowerError, match="set superlink_outputs_enabled"):
            act(run, cluster, app=str(app), **given)
    assert cluster.submitted == []


def test_inputs_are_listed_and_deleted(cluster, app, tmp_path, monkeypatch):
    notes = []
    (tmp_path / "x").write_bytes(b"x" * 100)
    name = act(run, cluster, app=str(app), inputs=str(tmp_path / "x"), outputs_min_free="0")["inputs"]["sha256"]
    listed = act(run_outputs_info, cluster)
    assert [(one["name"], one["size"], one["active"]) for one in listed["inputs"]] == [(name, 100, True)]
    assert "; 1 inputs, 100 B; " in listed["msg"] and listed["inputs_table"][1].startswith(name)
    with pytest.raises(FlowerError, match=f"inputs {name} may be in use"):
        act(run_outputs_remove, cluster, inputs=[name])
    assert act(run_outputs_remove, cluster, keep=0)["kept_inputs"] == [name]
    monkeypatch.setattr(runs, "read_all", lambda cli: LISTED[:2])
    would = act(run_outputs_remove, cluster, check=True, inputs=[name, "0" * 64])
    assert would["deleted_inputs"] == [name] and "would delete 1 inputs, 100 B" in would["msg"]
    assert would["absent"] == ["0" * 64] and "there are no inputs 000" in would["msg"]
    assert act(run_outputs_remove, cluster, keep=0)["kept_inputs"] == [name], "their run may not be submitted yet"
    an_hour_ago = time.time() - 3700
    os.utime(cluster.root / "inputs" / name, (an_hour_ago, an_hour_ago))
    done = act(run_outputs_remove, cluster, notes=notes, keep=0)
    assert done["deleted_inputs"] == [name] and not (cluster.root / "inputs" / name).exists()
    assert {"change": "deleted", "inputs": name, "files": 1, "size": 100} in notes[0]["outputs"]
    assert act(run_outputs_info, cluster)["inputs_table"] == []


@pytest.fixture
def followed(monkeypatch):
    """Function: what Flower would say of a run that is followed. It must be neither waited for nor stopped."""
    for module, name in ((run.ActionModule, "_wait"), (runs, "stop")):
        monkeypatch.setattr(module, name, lambda *_given, **_more: pytest.fail("it was touched"))
    monkeypatch.setattr(run_log, "read_log", lambda cli, one: ["round 1"])

    def say(status):
        monkeypatch.setattr(runs, "read_run", lambda cli, run_id: runs.Run(run_id, status, "", 3.0, "me/app"))

    return say


def test_check_mode_fetches_nothing_of_a_run_that_is_followed(cluster, followed, tmp_path):
    notes, home = [], tmp_path / "home"
    followed(runs.COMPLETED)
    would = act(run, cluster, check=True, notes=notes, run_id="1", outputs_directory=str(home))
    assert not home.exists() and notes == [] and would["changed"] and not would.get("failed")
    assert would["msg"] == "run 1 of me/app completed in 3.0 s; would fetch 1 file of run 1, 1000 B"
    assert would["status"] == runs.COMPLETED and set(would["outputs"]) == {"place"}


def test_check_mode_does_not_stop_a_run_that_left_its_regions(cluster, followed, monkeypatch):
    eu = run_regions.Regions(("eu",), {}, {"site-a": "eu"})
    monkeypatch.setattr(run_regions, "read", lambda cli, wanted: eu)
    followed("running")
    found = act(run, cluster, check=True, run_id="3", regions=["eu"])
    assert found["status"] == "running" and not found.get("failed") and not found["changed"]
    assert found["msg"] == "run 3 of me/app is running"
