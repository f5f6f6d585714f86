# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Apps that save into the working directory, as Flower's published examples do: Flower's own programs run them, started as pods start them."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import outputs as rendered
from ansible_collections.federated.flower.tests.integration.scenarios.published_app import NUMPY, SKLEARN, App

BIN = Path(sys.executable).parent
#: A ServerApp that does not wait for clients; ``main`` of the test is its body.
ALONE = """
    import os
    from pathlib import Path
    from flwr.serverapp import ServerApp
    {top}
    app = ServerApp()

    @app.main()
    def main(grid, context):
    {body}
"""


def started(command: list[str], env: dict[str, str], place: Path, log: Path) -> subprocess.Popen[bytes]:
    """A program of the federation."""
    with log.open("ab") as output:
        return subprocess.Popen(command, env=env, cwd=place, stdout=output, stderr=output, start_new_session=True)


def free_port() -> int:
    """A port on which nothing listens."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@pytest.fixture(scope="module")
def federation(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A SuperLink, two SuperNodes, and a SuperExec of ServerApps with the command, environment and files of its pod."""
    home = tmp_path_factory.mktemp("federation")
    hub = SimpleNamespace(outputs_enabled=True, labels={}, annotations={})
    starter, outputs, app = home / "serverapp", home / "outputs", home / "app"
    for folder in (starter, outputs, app, home / "flwr"):
        folder.mkdir()
    program = starter / "flwr-serverapp"
    program.write_text(rendered.start_program(), encoding="utf-8")
    program.chmod(0o555)
    command = [word.replace(rendered.STARTER_ROOT, str(starter)) for word in rendered.command(hub, "flower-superexec")["command"]]
    env = {
        **os.environ,
        "PATH": f"{BIN}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": "",
        "HOME": str(home),
        "FLWR_HOME": str(home / "flwr"),
        "FLWR_TELEMETRY_ENABLED": "0",
        "FLWR_DISABLE_UPDATE_CHECK": "1",
        "FLWR_SUPEREXEC_TASK_POLL_INTERVAL": "0.1",
    }
    port = free_port()
    link = f"127.0.0.1:{port}"
    (home / "flwr/config.toml").write_text(f'[superlink]\ndefault = "hub"\n[superlink.hub]\naddress = "{link}"\ninsecure = true\n', encoding="utf-8")
    logs = home / "log"
    supernode = ["flower-supernode", "--insecure", "--superlink", link, "--host", "127.0.0.1"]
    programs = [
        started(["flower-superlink", "--insecure", "--host", "127.0.0.1", "--port", str(port), "--isolation", "process"], env, app, logs),
        started([*command, "--runtime-api-address", link, "--insecure"], {**env, "FLOWER_OUTPUTS_DIR": str(outputs)}, app, logs),
        *(
            started([*supernode, "--port", str(free_port()), "--node-config", f"partition-id={number} num-partitions=2"], env, app, logs)
            for number in range(2)
        ),
    ]
    try:
        deadline = time.monotonic() + 600
        while True:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            assert programs[0].poll() is None and time.monotonic() < deadline, logs.read_text(encoding="utf-8", errors="replace")
            time.sleep(0.1)
        yield SimpleNamespace(home=home, env=env, outputs=outputs, app=app, log=logs)
    finally:
        for one in programs:
            if one.poll() is None:
                os.killpg(one.pid, signal.SIGKILL)
            one.wait(60)


def run(federation: Any, place: Path) -> tuple[str, str]:
    """Run an app to its end; its id, and how it ended."""
    run_id = str(flwr(federation, "run", str(place), "hub")["run-id"])
    deadline = time.monotonic() + 1200
    while not (status := flwr(federation, "list", "--run-id", run_id, "hub")["runs"][0]["status"]).startswith("finished"):
        assert time.monotonic() < deadline, (status, federation.log.read_text(encoding="utf-8", errors="replace")[-8000:])
        time.sleep(0.5)
    return run_id, status


def flwr(federation: Any, *words: str) -> dict[str, Any]:
    """The answer of Flower's command line."""
    done = subprocess.run(["flwr", *words, "--format", "json"], env=federation.env, cwd=federation.home, capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    assert answer["success"], (done.stdout, done.stderr)
    return dict(answer)


def saved(federation: Any, run_id: str) -> list[str]:
    """Files in the folder of a run. Nothing is left elsewhere, and nothing is in the folder in which the SuperExec was started."""
    assert not list(federation.app.iterdir()), "the image's folder, which is read-only in a pod"
    return files_of(federation.outputs / run_id)


@pytest.mark.parametrize("app", [NUMPY, SKLEARN], ids=lambda app: app.name)
def test_a_published_example_ends_with_its_model_among_the_outputs(federation: Any, app: App) -> None:
    run_id, status = run(federation, app.write(federation.home))
    assert status == "finished:completed", federation.log.read_text(encoding="utf-8", errors="replace")[-8000:]
    assert saved(federation, run_id) == [app.model]
    assert federation.log.read_text(encoding="utf-8", errors="replace").count("working directory") == 0


#: Flower's program without a SuperLink: it imports the app, and calls it with the number of a run.
STANDIN = """
    import sys
    from types import SimpleNamespace

    sys.path.insert(0, {place!r})
    from quickstart.server_app import app

    app(grid=None, context=SimpleNamespace(run_id=7, node_id=0, node_config={{}}, run_config={{}}))
"""


@pytest.fixture
def start(tmp_path: Path) -> Any:
    """Function: call a ServerApp with some body; what its program answers, and the folder of all outputs."""

    def start_app(body: str, top: str = "", **env: str) -> tuple[subprocess.CompletedProcess[str], Path]:
        starter, real, app, outputs = (tmp_path / name for name in ("serverapp", "bin", "app", "outputs"))
        for folder in (starter, real, app / "quickstart", outputs):
            folder.mkdir(parents=True)
        server = textwrap.dedent(ALONE).replace("{top}", top).replace("{body}", textwrap.indent(textwrap.dedent(body), " " * 4))
        (app / "quickstart/server_app.py").write_text(server, encoding="utf-8")
        standin = f"#!{sys.executable}{textwrap.dedent(STANDIN).format(place=str(app))}"
        for path, text in ((starter / "flwr-serverapp", rendered.start_program()), (real / "flwr-serverapp", standin)):
            path.write_text(text, encoding="utf-8")
            path.chmod(0o555)
        path = os.pathsep.join(map(str, (starter, real, BIN, os.environ["PATH"])))
        environ = {**os.environ, "PATH": path, "PYTHONPATH": "", "FLOWER_OUTPUTS_DIR": str(outputs), **env}
        done = subprocess.run(["flwr-serverapp", "--token", "x"], env=environ, cwd=real, capture_output=True, text=True, check=False)
        assert sorted(one.name for one in real.iterdir()) == ["flwr-serverapp"], "the image's folder, which is read-only in a pod"
        assert not list(outputs.glob(".*")), "a hidden folder is left"
        return done, outputs

    return start_app


def files_of(folder: Path) -> list[str]:
    """Paths of all files below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("body", "top", "files"),
    [
        ('open("final_model.pkl", "wb").write(b"x")', "", ["final_model.pkl"]),
        (  # as an app that makes a folder before the first round
            """
            save_path = Path.cwd() / "outputs/2026-11-27/10-00-00"
            save_path.mkdir(parents=True, exist_ok=False)
            (save_path / "run_config.json").write_text("{}")
            """,
            "",
            ["outputs/2026-11-27/10-00-00/run_config.json"],
        ),
        (
            'logging.info("begins"); Path("model.bin").write_bytes(b"x")',
            'import logging; logging.basicConfig(filename="train.log", level="INFO", force=True)',
            ["model.bin", "train.log"],
        ),
        (  # the collection's own rule
            """
            outputs = Path(os.environ["FLOWER_OUTPUTS_DIR"], str(context.run_id))
            outputs.mkdir(exist_ok=True)
            (outputs / "model.pt").write_bytes(b"x")
            """,
            "",
            ["model.pt"],
        ),
        ('import subprocess, sys; subprocess.run([sys.executable, "-c", "open(\'by_a_child\', \'w\')"], check=True)', "", ["by_a_child"]),
    ],
)
def test_what_apps_save_is_among_the_outputs(start: Any, body: str, top: str, files: list[str]) -> None:
    done, outputs = start(body, top)
    assert done.returncode == 0, done.stderr
    assert files_of(outputs / "7") == files


def test_what_an_app_saved_before_it_failed_stays(start: Any) -> None:
    done, outputs = start('Path("checkpoint-1").write_text("x"); raise ValueError("no")')
    assert done.returncode == 1 and "ValueError: no" in done.stderr
    assert files_of(outputs / "7") == ["checkpoint-1"]


def test_a_folder_that_has_files_already_is_named_with_what_to_do(start: Any) -> None:
    """An app that writes into it while it is imported, or an earlier start of the same run."""
    top = 'Path(os.environ["FLOWER_OUTPUTS_DIR"], "7").mkdir(); Path(os.environ["FLOWER_OUTPUTS_DIR"], "7", "model.bin").write_text("x")'
    done, outputs = start('Path("other.bin").write_text("y")', top)
    assert done.returncode == 1 and files_of(outputs / "7") == ["model.bin"], "what is there stays as it is"
    said = done.stderr.splitlines()[-1]
    assert said.startswith("RuntimeError: the ServerApp was not called") and str(outputs / "7") in said and said.endswith("each run has a folder of its own")


@pytest.mark.parametrize(("top", "rc"), [("", 0), ('open("x", "w"); raise ImportError("no")', 1)])
def test_an_app_that_saves_nothing_leaves_no_folder(start: Any, top: str, rc: int) -> None:
    done, outputs = start("pass", top)
    assert done.returncode == rc and not list(outputs.iterdir())


def test_an_app_runs_where_the_folder_of_outputs_cannot_be_written(start: Any) -> None:
    done, _outputs = start('print("ran in", os.getcwd())', FLOWER_OUTPUTS_DIR="/proc/1/nothing")
    assert done.returncode == 0 and "ran in" in done.stdout and "the working directory stays" in done.stderr
