# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs in object storage: the hub uploads them to SeaweedFS over TLS (fleet addon seaweedfs), once, over nothing, and a run begins with an object."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

SECRET, PLACE = "models-key", "models/hospital/trial"
LOST, TAKEN = "7777777777777777771", "7777777777777777772"  # ids as Flower gives them, of no run here
FILL = """\
import os, sys
folder = f"/outputs/{sys.argv[1]}"
os.makedirs(f"{folder}/sub folder", exist_ok=True)
with open(f"{folder}/noise", "wb") as file:
    for _piece in range(int(sys.argv[2])):
        file.write(os.urandom(1 << 20))
open(f"{folder}/sub folder/ü.txt", "w").close()
"""
ENVIRONMENT = "import json, os; print(json.dumps(dict(os.environ)))"


@pytest.fixture(scope="module")
def storage(federation: Any, fleet_command: Callable[..., None], fleet_addon: Callable[..., None], fleet_kubeconfig: Path) -> Iterator[Any]:
    """A federation that uploads to the server, with an empty store."""
    fleet_command("image", "rclone")
    fleet_addon("seaweedfs", "up")
    federation.settle()
    folder = fleet_kubeconfig.parent / "hub/seaweedfs"
    key = json.loads((folder / "key.json").read_text(encoding="utf-8"))
    data = {name: base64.b64encode(value.encode()).decode() for name, value in key.items()}
    federation.hub.apply({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": SECRET, "namespace": NAMESPACE}, "data": data})
    config = yaml.safe_load(fleet_kubeconfig.read_text(encoding="utf-8"))
    (context,) = (one["context"] for one in config["contexts"] if one["name"] == "hub")
    (url,) = (one["cluster"]["server"] for one in config["clusters"] if one["name"] == context["cluster"])
    bucket, _slash, prefix = PLACE.partition("/")
    own = {
        "endpoint": f"{url.rpartition(':')[0]}:8333", "bucket": bucket, "prefix": prefix, "secret": SECRET,
        "ca": (folder / "ca.crt").read_text(encoding="utf-8"),
    }  # fmt: skip
    hosts = federation.base()
    hosts["hub"]["superlink_outputs_s3"] = own
    federation.site(hosts)
    federation.storage_hosts = hosts
    yield federation
    federation.settled = False
    federation.settle()
    assert not any(one["name"] == "outputs-s3" for one in federation.pods("hub", name="serverapp")["serverapp-0"]["spec"]["containers"])
    # The key is in the environment of the container that uploads, as Kubernetes puts it there, and nowhere else.
    shown = federation.shown(federation.logs, federation.home, federation.tmp)
    assert not shown, shown
    for text in [text for text, place in federation.secrets.items() if SECRET in place]:
        del federation.secrets[text]
    federation.hub.delete("v1", "Secret", SECRET, NAMESPACE)
    fleet_addon("seaweedfs", "down")


@pytest.fixture(scope="module")
def first(storage: Any) -> str:
    """The id of a run that was uploaded at its end."""
    run = storage.play("run", "-e", json.dumps({"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}))
    assert f"uploaded: s3://{PLACE}/" in run.messages(), run.messages()
    return str(run.messages().split(f"s3://{PLACE}/")[1].split()[0].rstrip('"\','))


def rclone(fed: Any, *words: str, stdin: str = "") -> tuple[int, bytes]:
    """Run rclone as the hub does."""
    command = ["sh", "-c", 'head -c "$0" | exec rclone "$@"', str(len(stdin)), *words]
    result = fed.hub.exec(NAMESPACE, "serverapp-0", "outputs-s3", command, stdin=stdin.encode(), timeout=90)
    return result.rc, result.stdout


def manifest(fed: Any, run_id: str) -> dict[str, Any]:
    """What is beside the outputs of a run."""
    rc, text = rclone(fed, "cat", f"s3:{PLACE}/{run_id}/flower-outputs.json")
    assert rc == 0
    found: dict[str, Any] = json.loads(text)
    return found


def test_a_run_ends_in_the_bucket(storage: Any, first: str) -> None:
    found = manifest(storage, first)
    assert set(found["files"]) == {"checkpoint.json", "model.json", "metrics.json"} and found["sites"] == ["site-a", "site-b"] and found["fab_hash"]
    for name, facts in found["files"].items():
        assert hashlib.sha256(rclone(storage, "cat", f"s3:{PLACE}/{first}/{name}")[1]).hexdigest() == facts["sha256"]
    (noted,) = storage.noted(storage.trail()[-1], "hub", "outputs", "uploaded")
    assert (noted["run"], noted["place"]) == (first, f"s3://{PLACE}/{first}")


def test_what_is_there_is_not_uploaded_again(storage: Any, first: str) -> None:
    storage.play("outputs", "-e", "flower_outputs=upload")  # those of runs of other files
    for words in ("", f" flower_run_id={first}"):
        run = storage.play("outputs", "-e", f"flower_outputs=upload{words}")
        assert set(run.changed.values()) == {0}, run.messages()
    assert any(f"s3://{PLACE}/{first}" in line for line in storage.play("outputs").table)
    storage.unchanged(storage.storage_hosts)


def test_the_status_warns_until_outputs_are_uploaded(storage: Any, first: str) -> None:
    storage.python("hub", "serverapp-0", "superexec", FILL, LOST, "30")
    words = f"the outputs of 1 finished run are not in s3://{PLACE}"
    assert any(words in line for line in storage.play("status").table)
    would = storage.play("outputs", "-e", "flower_outputs=upload", "--check")
    assert f"would upload outputs of run {LOST}: 2 files, 30.0 MiB" in would.messages()
    assert rclone(storage, "lsf", f"s3:{PLACE}/{LOST}/")[1] == b""
    storage.play("outputs", "-e", "flower_outputs=upload")
    assert set(manifest(storage, LOST)["files"]) == {"noise", "sub folder/ü.txt"}
    summed = storage.python("hub", "serverapp-0", "superexec", f"import hashlib; print(hashlib.sha256(open('/outputs/{LOST}/noise', 'rb').read()).hexdigest())")
    assert manifest(storage, LOST)["files"]["noise"]["sha256"] == summed.strip()
    table = storage.play("status").table
    assert not any(words in line for line in table) and any(f"uploaded to s3://{PLACE}" in line for line in table)


def test_nothing_in_the_bucket_is_overwritten(storage: Any, first: str) -> None:
    storage.python("hub", "serverapp-0", "superexec", FILL, TAKEN, "1")
    assert rclone(storage, "rcat", f"s3:{PLACE}/{TAKEN}/noise", stdin="theirs")[0] == 0
    said = storage.play("outputs", "-e", "flower_outputs=upload", rc=2).messages("hub", failed=True)
    assert f"outputs of run {TAKEN} were not uploaded" in said and "noise" in said, said
    # The server refuses as well, if the object appears after rclone has looked.
    assert rclone(storage, "rcat", "--header-upload=If-None-Match:*", f"s3:{PLACE}/{TAKEN}/noise", stdin="mine")[0] != 0
    assert rclone(storage, "cat", f"s3:{PLACE}/{TAKEN}/noise")[1] == b"theirs"
    assert b"flower-outputs.json" not in rclone(storage, "lsf", f"s3:{PLACE}/{TAKEN}/")[1]
    storage.play("outputs", "-e", f"flower_outputs=delete flower_run_id={TAKEN}")


def test_a_run_begins_with_an_object(storage: Any, first: str) -> None:
    given = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}, "flower_run_inputs": f"s3://{PLACE}/{first}/model.json"}
    run = storage.play("run", "-e", json.dumps(given))
    run_id = str(run.messages().split(f"uploaded: s3://{PLACE}/")[1].split()[0].rstrip('"\','))
    began = manifest(storage, run_id)["began"]["inputs"]
    inside = storage.python("hub", "serverapp-0", "superexec", f"print(open('/outputs/inputs/{began}/model.json').read(), end='')")
    assert inside.encode() == rclone(storage, "cat", f"s3:{PLACE}/{first}/model.json")[1]
    before = storage.app_runs()
    said = storage.play("run", "-e", json.dumps({**given, "flower_run_inputs": f"s3://{PLACE}/gone"}), rc=2).messages()
    assert "nothing was submitted: there is no object" in said and storage.app_runs() == before


def test_apps_do_not_get_the_key(storage: Any) -> None:
    for container in ("superexec", "outputs"):
        found = json.loads(storage.python("hub", "serverapp-0", container, ENVIRONMENT))
        assert not [name for name in found if "RCLONE" in name or "AWS" in name]


def test_a_secret_that_is_not_there_is_refused(storage: Any) -> None:
    before, hosts = storage.everything(), json.loads(json.dumps(storage.storage_hosts))
    hosts["hub"]["superlink_outputs_s3"] |= {"secret": "gone"}
    said = storage.play("site", "--limit", "hub", hosts=hosts, rc=2).messages("hub", failed=True)
    assert f"superlink_outputs_s3.secret: Secret {NAMESPACE}/gone does not exist: create it" in said
    assert storage.everything() == before
