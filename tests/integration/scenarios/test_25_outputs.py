# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Outputs of runs: on their own volume, brought home by playbooks, and never mixed, half-done or overwritten."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import random
import re
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_fetch import Fetching
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_reader import Reader
from ansible_collections.federated.flower.tests.integration.connect_proxy import ConnectProxy
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

FILL = """\
import os, sys
folder = f"/outputs/{sys.argv[1]}"
os.makedirs(folder, exist_ok=True)
with open(f"{folder}/noise", "wb") as file:
    for _piece in range(int(sys.argv[2])):
        file.write(os.urandom(1 << 20))
os.symlink("/etc/passwd", f"{folder}/link")
"""
SUM = """\
import hashlib, sys
with open(sys.argv[1], "rb") as file:
    print(hashlib.file_digest(file, "sha256").hexdigest())
"""
UNKNOWN, LARGE = "7777777777777777777", "7888888888888888888"  # ids as Flower gives them, of no run here


@pytest.fixture(scope="module")
def made(federation: Any, tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Path, str]:
    """A federation, a folder, and the id of a run whose outputs are in it."""
    federation.settle()
    home = tmp_path_factory.mktemp("outputs")
    given = {
        "flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}, "flower_outputs_directory": str(home),
    }  # fmt: skip
    run = federation.play("run", "-e", json.dumps(given))
    assert "outputs of run" in run.messages(), run.messages()
    (folder,) = home.iterdir()
    return federation, home, folder.name


def serverapp(fed: Any, program: str, *arguments: str) -> str:
    """Run a program where apps compute."""
    return fed.python("hub", "serverapp-0", "superexec", program, *arguments)


def test_the_model_comes_home(made):
    fed, home, run_id = made
    manifest = json.loads((home / run_id / "flower-outputs.json").read_text())
    assert set(manifest["files"]) == {"checkpoint.json", "model.json", "metrics.json"}
    for name, facts in manifest["files"].items():
        assert hashlib.sha256((home / run_id / name).read_bytes()).hexdigest() == facts["sha256"]
    assert manifest["sites"] == ["site-a", "site-b"] and manifest["fab_hash"]
    (noted,) = fed.noted(fed.trail()[-1], "hub", "outputs", "fetched")
    assert (noted["run"], noted["files"], noted["sites"]) == (run_id, 3, ["site-a", "site-b"])


def test_it_is_listed_and_the_status_shows_the_room(made):
    fed, _home, run_id = made
    assert any(run_id in line and "completed" in line for line in fed.play("outputs").table)
    assert any(line.startswith("outputs: ") and line.endswith(" are free") for line in fed.play("status").table)


def test_nothing_is_overwritten(made):
    fed, home, run_id = made
    fetch = ("outputs", "-e", f"flower_outputs=fetch flower_run_id={run_id} flower_outputs_directory={home}")
    assert set(fed.play(*fetch).changed.values()) == {0}
    (home / run_id / "model.json").write_text("mine")
    words = fed.play(*fetch, rc=2).messages("hub", failed=True)
    assert "model.json has" in words and "choose another directory" in words
    assert (home / run_id / "model.json").read_text() == "mine"


def test_a_connection_that_is_cut_is_continued(made, tmp_path):
    fed = made[0]
    serverapp(fed, FILL, UNKNOWN, "200")
    said: list[str] = []
    with fed.cluster("hub") as cluster:
        reader = Reader(FlowerCLI(cluster, NAMESPACE))
        work = Fetching(reader, UNKNOWN, tmp_path, said.append)
        open_websocket, channels = cluster._open_websocket, []

        def noted(path: str, what: str) -> Any:
            channels.append(open_websocket(path, what))
            return channels[-1]

        cluster._open_websocket = noted
        stop = threading.Event()

        def cut() -> None:
            at = 0
            while at < 3 and not stop.wait(0.05):
                if work.received > (at + 1) * 40 * 2**20 and len(channels) > at + 1:  # after the one that hashes, and not twice the same
                    # Below TLS, as a network does: the same method of an SSL socket hands the rest out as it was encrypted.
                    with socket.socket(fileno=os.dup(channels[-1].sock.fileno())) as connection:
                        connection.shutdown(socket.SHUT_RDWR)
                    at += 1

        cutter = threading.Thread(target=cut)
        cutter.start()
        try:
            work.fetch({})
        finally:
            stop.set()
            cutter.join()
    assert work.attempts >= 4, said  # more where the machine is so busy that a part is lost without a cut
    summed = serverapp(fed, SUM, f"/outputs/{UNKNOWN}/noise")
    assert work.listed["noise"]["sha256"] == summed.strip()
    assert work.contents.left_out == {"link": "it is a symbolic link"} and not (tmp_path / UNKNOWN / "link").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with room for 8 MiB."""
    if os.geteuid():
        pytest.skip("only root can mount a small file system")
    place = tmp_path / "small"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs", str(place)], check=True)
    yield place
    subprocess.run(["umount", str(place)], check=True)


def test_a_disk_of_the_control_node_without_room(made, small_disk):
    """That is known before the first byte is written."""
    fed = made[0]
    words = f"flower_outputs=fetch flower_run_id={UNKNOWN} flower_outputs_directory={small_disk}"
    said = fed.play("outputs", "-e", words, rc=2).messages("hub", failed=True)
    assert "too little free space" in said and "200 MiB" in said and str(small_disk) in said, said
    assert not (small_disk / UNKNOWN).exists()


def peak(words: str) -> int:
    """The most memory in MiB that a process with these words on its command line has had until now."""
    most = 0
    for place in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # it has ended
            if words in (place / "cmdline").read_text():
                found = re.search(r"^VmHWM:\s+(\d+) kB$", (place / "status").read_text(), re.MULTILINE)
                most = max(most, int(found[1]) // 1024 if found else 0)
    return most


@pytest.mark.soak
def test_two_gib_come_home_through_three_cuts_in_little_memory(made, tmp_path):
    fed = made[0]
    serverapp(fed, FILL, LARGE, "2048")
    hosts = fed.base()
    most = 0
    with ConnectProxy("user:word") as proxy:
        proxy.break_at = sorted(random.sample(range(50 * 2**20, 1900 * 2**20), 3))
        through = {"proxy": proxy.url, "proxy_headers": {"proxy_basic_auth": "user:word"}}
        hosts["hub"]["flower_auth"] = {"kubeconfig": str(fed.kubeconfig), "context": "hub", **through}
        del hosts["hub"]["flower_context"]
        words = f"flower_outputs=fetch flower_run_id={LARGE} flower_outputs_directory={tmp_path}"
        finish = fed.start("outputs", "-e", words, hosts=hosts)
        while finish.running():
            most = max(most, peak(words))
            time.sleep(0.2)
        run = finish()
        assert run.rc == 0 and not proxy.break_at, run.details()
    with (tmp_path / LARGE / "noise").open("rb") as file:
        assert hashlib.file_digest(file, "sha256").hexdigest() == serverapp(fed, SUM, f"/outputs/{LARGE}/noise").strip()
    assert 20 < most <= 300, most
    assert Reader(FlowerCLI(fed.hub, NAMESPACE)).delete([LARGE], []) == {}


def test_retention_deletes_what_it_said(made):
    fed, _home, run_id = made
    # The run that Flower does not know is the newest, by its files.
    keep = ("outputs", "-e", "flower_outputs=prune flower_outputs_keep=1")
    would = fed.play(*keep, "--check").messages("hub")
    assert "would delete the outputs of" in would and run_id in would
    assert f"/{run_id}" not in (done := fed.play(*keep).messages("hub")) and run_id in done
    with pytest.raises(ClusterError, match="has no outputs"):
        Reader(FlowerCLI(fed.hub, NAMESPACE)).contents(run_id)
    (noted,) = [one for one in fed.noted(fed.trail()[-1], "hub", "outputs", "deleted") if one["run"] == run_id]
    assert noted["files"] == 3
    assert set(fed.play(*keep).changed.values()) == {0}


def test_no_run_is_submitted_below_the_floor(made):
    fed = made[0]
    before = fed.app_runs()
    words = fed.play("run", "-e", json.dumps({"flower_app": str(APP), "flower_outputs_min_free": "1000Ti"}), rc=2)
    assert "nothing was submitted, because the volume for outputs on hub is nearly full" in words.messages()
    assert fed.app_runs() == before


def test_an_app_writes_nowhere_else(made):
    fed = made[0]
    told = serverapp(
        fed,
        "import os\nfor path in ('/', '/app', '/internal-ca', '/superexec', '/outputs', '/tmp'):\n"
        "    print(path, os.access(path, os.W_OK))",
    )
    assert [line.split()[0] for line in told.splitlines() if line.endswith("True")] == ["/outputs", "/tmp"]
