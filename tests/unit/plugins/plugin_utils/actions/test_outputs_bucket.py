# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs in object storage: uploaded once, with their SHA-256, never over what is there, and listed; inputs that come from it."""

from __future__ import annotations

import hashlib
import json
import os
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import run, run_outputs_info, run_outputs_upload
from ansible_collections.federated.flower.plugins.plugin_utils.flower import bucket, run_sites, runs, submission
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI, FlowerError
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.bucket_pod import (
    MANIFEST,
    PLACE,
    BucketHub,
)
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.flower.outputs_pod import tree, write

OLD, FAILED, ACTIVE = "13164552291825540154", "9915798441516665790", "8811111111111111111"
LISTED = [
    {"run-id": OLD, "fab-id": "me/app", "fab-version": "1.0.0", "fab-hash": "abc", "status": "finished:completed",
     "pending-at": "2026-11-20 10:00:00Z", "finished-at": "2026-11-20 11:00:00Z"},
    {"run-id": FAILED, "fab-id": "me/app", "fab-version": "1.0.0", "status": "finished:failed",
     "pending-at": "2026-11-21 10:00:00Z", "finished-at": "2026-11-21 11:00:00Z"},
    {"run-id": ACTIVE, "fab-id": "me/app", "fab-version": "1.0.0", "status": "running", "pending-at": "2026-11-22 10:00:00Z", "finished-at": "N/A"},
]  # fmt: skip


class Cluster(BucketHub):
    """The hub's cluster: one pod with the reader and rclone, one with the SuperLink."""

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_error: object) -> None:
        return None

    def get(self, _version: str, _kind: str, name: str, _namespace: str) -> dict[str, Any]:
        """The pods."""
        if name == "superlink-0":
            ready = [{"name": "superlink", "ready": True, "state": {"running": {}}}]
            return {"metadata": {"uid": "1", "annotations": {"federated.flower/outputs": "serverapp-0"}}, "status": {"containerStatuses": ready}}
        running = [{"name": "outputs", "state": {"running": {}}}, {"name": "outputs-s3", "state": {"running": {}} if self.runs_rclone else {}}]
        return {"metadata": {}, "spec": {"containers": self.containers}, "status": {"containerStatuses": running}}


@pytest.fixture
def cluster(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Cluster:
    root = tmp_path / "outputs"
    for number, run_id in enumerate((OLD, FAILED, ACTIVE), 1):
        write(root / run_id / "model", b"m" * number * 1000)
        write(root / run_id / "logs/ä b.txt", b"x")
    (root / OLD / "link").symlink_to("/etc/passwd")
    monkeypatch.setattr(runs, "read_all", lambda cli: LISTED)
    monkeypatch.setattr(runs, "read_some", lambda cli, ids: [one for one in LISTED if str(one["run-id"]) in ids])
    monkeypatch.setattr(run_sites, "read", lambda cli, run: ["site-a"])
    return Cluster(root)


def act(module: Any, cluster: Cluster, *, check: bool = False, notes: Any = None, **given: Any) -> dict[str, Any]:
    action = object.__new__(module.ActionModule)
    action.inventory_host = "hub"
    action._task = SimpleNamespace(check_mode=check, no_log=False)
    action.connect = lambda: cluster
    action.say = lambda text: None
    action.note = lambda **facts: (notes if notes is not None else []).append(facts)
    action.params = action._checked(action.ARGS, action.SPEC, {"namespace": "flower", **given}, "")
    found: dict[str, Any] = action.execute(action.params, {})
    return found


def facts(cluster: Any) -> dict[str, Any]:
    """What a status reports."""
    return bucket.facts(FlowerCLI(cluster, "flower"), [])


def stored(cluster: Cluster) -> dict[str, bytes]:
    """The objects below the prefix."""
    return tree(cluster.store / "models/trial")


def test_finished_runs_are_uploaded_once_with_their_checksums(cluster: Cluster) -> None:
    notes: list[Any] = []
    would = act(run_outputs_upload, cluster, check=True)
    assert would["changed"] and f"would upload outputs of run {OLD}: 2 files, 1001 B: {PLACE}/{OLD}" in would["msg"] and not cluster.store.exists()
    found = act(run_outputs_upload, cluster, notes=notes)
    assert found["changed"] and {one["run_id"] for one in found["uploaded"]} == {OLD, FAILED}, "an active run is left out"
    assert {path for path in stored(cluster) if path.startswith(OLD)} == {f"{OLD}/model", f"{OLD}/logs/ä b.txt", f"{OLD}/{MANIFEST}"}
    manifest = json.loads(stored(cluster)[f"{OLD}/{MANIFEST}"])
    assert manifest["files"]["model"] == {"size": 1000, "sha256": hashlib.sha256(b"m" * 1000).hexdigest()}
    about = {name: manifest[name] for name in ("run_id", "app", "fab_hash", "sites", "status", "hub", "left_out")}
    assert about == {
        "run_id": OLD, "app": "me/app 1.0.0", "fab_hash": "abc", "sites": ["site-a"], "status": "completed", "hub": "hub",
        "left_out": {"link": "it is a symbolic link"},
    }  # fmt: skip
    noted = [fact for note in notes for fact in note["outputs"]]
    assert [(one["change"], one["place"]) for one in noted] == [("uploaded", f"{PLACE}/{one}") for one in (FAILED, OLD)]
    assert any("link (it is a symbolic link)" in one for one in found["warnings"])

    before = stored(cluster)
    again = act(run_outputs_upload, cluster, notes=notes)
    assert not again["changed"] and again["msg"] == f"the outputs of all finished runs are in {PLACE}" and len(notes) == 2
    named = act(run_outputs_upload, cluster, run_ids=[OLD])
    assert not named["changed"] and "were there already" in named["msg"] and stored(cluster) == before
    assert (cluster.root / OLD / "model").exists(), "the outputs stay on the hub"


def test_nothing_in_the_bucket_is_overwritten(cluster: Cluster) -> None:
    write(cluster.store / "models/trial" / OLD / "model", b"theirs")
    found = act(run_outputs_upload, cluster)
    assert found["failed"] and f"outputs of run {OLD} were not uploaded" in found["msg"] and "model: immutable file modified" in found["msg"]
    assert [one["run_id"] for one in found["uploaded"]] == [FAILED], "one that fails keeps no other"
    assert stored(cluster)[f"{OLD}/model"] == b"theirs" and f"{OLD}/{MANIFEST}" not in stored(cluster)


@pytest.mark.parametrize("text", ['{"run_id": "1", "files": {}}', "[]", "not JSON"])
def test_the_outputs_of_another_run_are_not_taken_for_these(cluster: Cluster, text: str) -> None:
    write(cluster.store / "models/trial" / OLD / MANIFEST, text.encode())
    found = act(run_outputs_upload, cluster, run_ids=[OLD])
    assert found["failed"] and MANIFEST in found["msg"] and stored(cluster) == {f"{OLD}/{MANIFEST}": text.encode()}


def test_outputs_that_change_meanwhile_are_not_complete(cluster: Cluster) -> None:
    def change(verb: str) -> None:
        if verb == "copy":
            write(cluster.root / OLD / "model", b"n" * 1000)

    cluster.before = change
    found = act(run_outputs_upload, cluster, run_ids=[OLD])
    assert found["failed"] and "model of run" in found["msg"] and "was changed while it was uploaded" in found["msg"]
    assert f"{OLD}/{MANIFEST}" not in stored(cluster)


def test_an_upload_that_broke_is_continued(cluster: Cluster) -> None:
    cluster.fails = {"rcat": "connection refused"}
    found = act(run_outputs_upload, cluster, run_ids=[OLD])
    assert found["failed"] and "rclone rcat ended with code 1: model: connection refused; not JSON?[31m" in found["msg"]
    assert OLD in facts(cluster)["not_uploaded"]
    cluster.fails = {}
    assert act(run_outputs_upload, cluster, run_ids=[OLD])["changed"]


def test_what_cannot_be_uploaded_is_refused(cluster: Cluster) -> None:
    with pytest.raises(FlowerError, match=f"run {ACTIVE} is not finished, and its outputs are not uploaded"):
        act(run_outputs_upload, cluster, run_ids=[ACTIVE])
    assert "run 7 has no outputs" in act(run_outputs_upload, cluster, run_ids=["7"])["msg"]
    cluster.runs_rclone = False
    with pytest.raises(FlowerError, match="container outputs-s3 of pod flower/serverapp-0 on hub, which uploads outputs, is not running"):
        act(run_outputs_upload, cluster)
    cluster.place = "s3://x"
    with pytest.raises(FlowerError, match="names no bucket"):
        act(run_outputs_upload, cluster)
    cluster.place = ""
    with pytest.raises(FlowerError, match="has no object storage for outputs: set superlink_outputs_s3"):
        act(run_outputs_upload, cluster)
    assert not cluster.store.exists()


def test_the_list_says_where_they_are(cluster: Cluster) -> None:
    act(run_outputs_upload, cluster, run_ids=[OLD])
    found = act(run_outputs_info, cluster)
    assert {one["run_id"]: one["bucket"] for one in found["outputs"]} == {OLD: f"{PLACE}/{OLD}", FAILED: "", ACTIVE: ""}
    assert any(f"{PLACE}/{OLD}" in line for line in found["table"]) and found["msg"].endswith(f"; 1 finished run not uploaded to {PLACE}")
    cluster.fails = {"lsjson": "no such host"}
    found = act(run_outputs_info, cluster)
    assert found["outputs"] and any("in object storage: s3://models/trial (hub): rclone lsjson ended" in one for one in found["warnings"])
    assert "no such host" in facts(cluster)["bucket_error"]
    cluster.place = ""
    found = act(run_outputs_info, cluster)
    assert not found["warnings"] and {one["bucket"] for one in found["outputs"]} == {""} and facts(cluster) == {}


@pytest.fixture
def app(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> tuple[str, list[dict[str, Any]]]:
    """An app, and the run configs with which it was submitted."""
    folder = tmp_path / "app"
    for name in ("__init__", "server", "client"):
        write(folder / f"demo/{name}.py", b"app = 1\n")
    (folder / "pyproject.toml").write_text(
        '[project]\nname = "demo"\nversion = "1.0.0"\nlicense = {text = "Apache-2.0"}\n[tool.flwr.app]\npublisher = "me"\n'
        '[tool.flwr.app.components]\nserverapp = "demo.server:app"\nclientapp = "demo.client:app"\n[tool.flwr.app.config]\ninputs = ""\n'
    )
    sent: list[dict[str, Any]] = []
    monkeypatch.setattr(submission, "submit", lambda cli, app, config: sent.append(dict(config)) or {"run-id": int(OLD), "fab-hash": "abc"})
    done = runs.Run(OLD, runs.COMPLETED, "", 3.0, "me/demo")
    monkeypatch.setattr(run.ActionModule, "_wait", lambda self, cli, run_id, submitted: (done, "", []))
    return str(folder), sent


def test_a_run_ends_with_the_upload(cluster: Cluster, app: tuple[str, Any]) -> None:
    found = act(run, cluster, app=app[0], outputs_min_free="0")
    assert found["succeeded"] and found["outputs"]["bucket"] == f"{PLACE}/{OLD}" and f"uploaded: {PLACE}/{OLD}" in found["msg"]
    assert f"{OLD}/{MANIFEST}" in stored(cluster)


def test_a_run_succeeds_although_the_upload_fails(cluster: Cluster, app: tuple[str, Any]) -> None:
    cluster.fails = {"copy": "AccessDenied"}
    found = act(run, cluster, app=app[0], outputs_min_free="0")
    assert found["succeeded"] and "bucket" not in found["outputs"]
    assert any("AccessDenied" in one and f"-e flower_outputs=upload -e flower_run_id={OLD}" in one for one in found["warnings"])


@pytest.mark.parametrize(
    ("key", "files"), [("weights/unet.bin", {"unet.bin"}), ("weights", {"unet.bin", "more/a.json"}), ("weights/", {"unet.bin", "more/a.json"})]
)
def test_a_run_begins_with_objects_of_a_bucket(cluster: Cluster, app: tuple[str, list[Any]], key: str, files: set[str]) -> None:
    write(cluster.store / "models/weights/unet.bin", b"w" * 5000)
    write(cluster.store / "models/weights/more/a.json", b"{}")
    given = {"app": app[0], "inputs": f"s3://models/{key}", "outputs_min_free": "0"}
    would = act(run, cluster, check=True, **given)
    assert "would copy" in would["msg"] and not (cluster.root / "inputs").exists() and not app[1]
    notes: list[Any] = []
    found = act(run, cluster, notes=notes, **given)
    (sent,) = app[1]
    assert sent["inputs"] == found["run_config"]["inputs"] == found["inputs"]["place"]
    place = cluster.root / sent["inputs"]
    home = place.parent if place.is_file() else place
    assert set(tree(home)) == files and home.name == found["inputs"]["sha256"] and (home / "unet.bin").read_bytes() == b"w" * 5000
    assert not os.stat(home / "unet.bin").st_mode & 0o222 and [one.name for one in home.parent.iterdir()] == [home.name]
    fact = {"change": "copied", "inputs": home.name, "files": len(files), "size": sum(map(len, tree(home).values()))}
    assert {**fact, "source": f"s3://models/{key}".rstrip("/")} in notes[0]["outputs"]
    again = act(run, cluster, **given)
    assert again["inputs"]["place"] == sent["inputs"] and [one.name for one in home.parent.iterdir()] == [home.name]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("s3://models", "is not s3://BUCKET/KEY"),
        ("s3:///key", "is not s3://BUCKET/KEY"),
        ("s3://models/../x", "is not s3://BUCKET/KEY"),
        ("s3://models/a\nb", "is not s3://BUCKET/KEY"),
        ("s3://models/gone", "there is no object s3://models/gone, and none below it"),
    ],
)
def test_wrong_places_are_refused(cluster: Cluster, app: tuple[str, list[Any]], given: str, words: str) -> None:
    with pytest.raises(FlowerError, match=words):
        act(run, cluster, app=app[0], inputs=given, outputs_min_free="0")
    assert not app[1] and not (cluster.root / "inputs").exists()


def test_inputs_that_cannot_come_are_refused(cluster: Cluster, app: tuple[str, list[Any]]) -> None:
    write(cluster.store / "models/weights.bin", b"w")
    given = {"app": app[0], "inputs": "s3://models/weights.bin"}
    with pytest.raises(FlowerError, match="nothing was submitted, because the volume"):
        act(run, cluster, outputs_min_free="1000Ti", **given)
    cluster.fails = {"copy": "AccessDenied"}
    with pytest.raises(FlowerError, match="AccessDenied"):
        act(run, cluster, outputs_min_free="0", **given)
    cluster.place = ""
    with pytest.raises(FlowerError, match="s3://models/weights.bin is in object storage, which the federation .* does not use: set superlink_outputs_s3"):
        act(run, cluster, outputs_min_free="0", **given)
    assert not app[1]
