# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run begins with: the checkpoint of a run whose pod was killed, or a file of the control node."""

from __future__ import annotations

import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import local_inputs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader
from ansible_collections.federated.flower.plugins.plugin_utils.flower.run_inputs import Sending
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

ROUNDS = {"num-server-rounds": 3, "min-nodes": 3}
ROUND = """\
import json, sys
try:
    print(json.load(open(f"/outputs/{sys.argv[1]}/checkpoint.json"))["round"])
except FileNotFoundError:
    print(0)
"""
SUM = "import hashlib, sys; print(hashlib.sha256(open('/outputs/' + sys.argv[1], 'rb').read()).hexdigest())"


def given(app: Path = APP, **more: Any) -> tuple[str, str]:
    return ("-e", json.dumps({"flower_app": str(app), **more}))


@pytest.fixture(scope="module")
def straight(federation: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a run without interruption leaves."""
    federation.settle()
    home = tmp_path_factory.mktemp("straight")
    federation.play("run", *given(flower_run_config=ROUNDS, flower_outputs_directory=str(home)))
    (folder,) = home.iterdir()
    return folder


def test_a_run_goes_on_where_another_was_killed(fed, straight, tmp_path):
    run_id, finish = fed.begin(**ROUNDS, sleep=4.0)

    def done() -> int:
        return int(fed.python("hub", "serverapp-0", "outputs", ROUND, run_id))

    fed.wait("a checkpoint", done, 90)
    fed.hub.delete("v1", "Pod", "serverapp-0", fed.namespace, propagation="Background")
    assert finish().rc == 2 and fed.app_runs()[run_id] == "finished:failed"
    reader = Reader(FlowerCLI(fed.hub, NAMESPACE))
    reader.pod(120)
    assert 0 < done() < ROUNDS["num-server-rounds"], "the run was over before it was killed: this shows nothing"

    resumed = fed.play(
        "run", *given(flower_run_config=ROUNDS, flower_run_resume=run_id, flower_outputs_directory=str(tmp_path))
    )
    assert any(line.startswith(f"going on from round {done()} of run {run_id}") for line in resumed.table), resumed.table
    (folder,) = tmp_path.iterdir()
    assert (folder / "model.json").read_bytes() == (straight / "model.json").read_bytes()
    ours, theirs = (json.loads((one / "metrics.json").read_text())["accuracy"] for one in (folder, straight))
    assert ours[-1] == theirs[-1] and len(ours) < len(theirs)


def test_a_run_that_nothing_can_go_on_from(fed, tmp_path):
    before = fed.app_runs()
    words = fed.play("run", *given(flower_run_resume="12"), rc=2).messages("hub", failed=True)
    assert "nothing was submitted: run 12 has no outputs on hub" in words
    app = tmp_path / "app"
    shutil.copytree(APP, app)
    project = app / "pyproject.toml"
    project.write_text("".join(one for one in project.open() if not one.startswith("resume-run")))
    words = fed.play("run", *given(app, flower_run_resume="12"), rc=2).messages("hub", failed=True)
    assert 'Add resume-run = "" to [tool.flwr.app.config] in its pyproject.toml' in words
    assert fed.app_runs() == before


def test_a_run_begins_with_a_file(fed, straight):
    begin = given(flower_run_config={"num-server-rounds": 1}, flower_run_inputs=str(straight / "model.json"))
    assert ", would send " in fed.play("run", "--check", *begin).messages()
    before = len(fed.trail())
    fed.play("run", *begin)
    (noted,) = fed.noted(fed.recorded(before), "hub", "outputs", "sent")
    name = noted["inputs"]
    local = local_inputs.load(str(straight / "model.json"))
    assert name == local.name
    assert fed.python("hub", "serverapp-0", "superexec", SUM, local.place).strip() == local.files["model.json"].sha256
    assert ", there already: " in fed.play("run", "--check", *begin).messages()
    assert any(line.startswith(name) for line in fed.play("outputs").table)
    delete = ("outputs", "-e", f"flower_outputs=delete flower_inputs={name}")
    assert "would delete 1 inputs" in fed.play(*delete, "--check").messages("hub")
    assert "deleted 1 inputs" in fed.play(*delete).messages("hub")
    assert Reader(FlowerCLI(fed.hub, NAMESPACE)).list()[2] == []


def test_a_connection_that_is_cut_is_continued(fed, tmp_path):
    file = tmp_path / "noise"
    with file.open("wb") as stream:
        for _piece in range(150):
            stream.write(os.urandom(1 << 20))
    said: list[str] = []
    with fed.cluster("hub") as cluster:
        reader = Reader(FlowerCLI(cluster, NAMESPACE))
        work = Sending(reader, local_inputs.load(str(file)), "0", said.append)
        open_websocket, passed, cuts = cluster._open_websocket, 0, 0

        def cut_now_and_then(path: str, what: str) -> Any:
            channel = open_websocket(path, what)
            send = channel.send_binary

            def counted(data: bytes) -> Any:
                nonlocal passed, cuts
                passed += len(data)
                if cuts < 3 and passed > (cuts + 1) * 40 * 2**20:
                    cuts += 1
                    with socket.socket(fileno=os.dup(channel.sock.fileno())) as connection:  # below TLS
                        connection.shutdown(socket.SHUT_RDWR)
                return send(data)

            channel.send_binary = counted
            return channel

        cluster._open_websocket = cut_now_and_then
        work.send()
        assert cuts == 3
        summed = fed.python("hub", "serverapp-0", "superexec", SUM, work.inputs.place)
        assert summed.strip() == work.inputs.files["noise"].sha256
        assert reader.delete([], [work.inputs.name]) == {}
    assert sum("is continued" in line for line in said) == cuts, said
