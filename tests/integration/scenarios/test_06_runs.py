# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Runs of an app on the federation, through playbooks/run.yml."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[3]
APP = ROOT / "examples" / "quickstart"
HOSTILE = "a \"b' @FOLDER@ $(id) ${HOME} {% raw %}{{ 1 }} \\ \\n é\u202e\n=x #"


INVENTORY: list[str] = []  # of the federation, set by the fixture below


def playbook(app: Path, *options: str, config: dict[str, Any] | None = None, **variables: Any) -> tuple[int, str]:
    """Run federated.flower.run on the demo inventory; return its exit code and output."""
    variables = {"flower_app": str(app), "flower_run_timeout": 300, "flower_run_config": config or {}} | variables
    command = ["ansible-playbook", *INVENTORY, str(ROOT / "playbooks" / "run.yml")]
    env = {**os.environ, "ANSIBLE_CALLBACK_RESULT_FORMAT": "yaml", "ANSIBLE_NOCOLOR": "1"}
    run = subprocess.run(
        [*command, *options, "-e", json.dumps({name: value for name, value in variables.items() if value is not None})],
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    print(run.stdout)
    return run.returncode, run.stdout


@pytest.fixture(autouse=True)
def deployed(fed: Any) -> None:
    """All of this needs a federation."""
    INVENTORY[:] = ["-i", str(fed.inventory())]


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A copy of the app, to change."""
    return Path(shutil.copytree(APP, tmp_path / "other", ignore=shutil.ignore_patterns("__pycache__")))


def rounds(output: str) -> list[float]:
    """Accuracy of each round, as the last task shows them; they were shown before, too, when they came."""
    shown = output.rpartition("TASK [Show the output of the app]")[2]
    return [float(found) for found in re.findall(r"round \d+: accuracy ([0-9.]+)", shown)]


def test_a_run_completes_and_its_texts_arrive_as_they_are() -> None:
    # "2" is a text, as from a survey; unsafe: what of it looks like a template is not Ansible's business
    rc, output = playbook(APP, config={"num-server-rounds": "2", "note": {"__ansible_unsafe": HOSTILE}})
    assert rc == 0
    accuracy = rounds(output)
    assert len(accuracy) == 2
    assert accuracy[1] > accuracy[0] + 0.05
    assert re.search(r"run \d+ of federated-flower/quickstart completed in ", output)
    assert json.dumps(HOSTILE) in " ".join(output.split())


def test_a_run_that_fails_fails_the_playbook() -> None:
    rc, output = playbook(APP, config={"fail": True})
    assert rc == 2
    assert re.search(r"hub: run \d+ of federated-flower/quickstart failed after .* told to fail", output)


def test_code_of_the_app_does_not_run_in_the_superlink_pod(other: Path) -> None:
    """flwr imports the package to look for the module in it; here that must fail only where the app belongs."""
    (other / "quickstart" / "__init__.py").write_text(
        "import socket\nraise RuntimeError('executed on ' + socket.gethostname())\n"
    )
    rc, output = playbook(other)
    assert rc == 2
    assert re.search(r"run \d+ of federated-flower/quickstart failed", output)
    assert "executed on serverapp-" in output
    assert "executed on superlink" not in output


def test_a_run_that_is_not_waited_for_is_followed_and_timed_out() -> None:
    rc, output = playbook(APP, config={"num-server-rounds": 1, "sleep": 10}, flower_run_wait=False)
    assert rc == 0
    run_id = re.search(r"run (\d+) was submitted", output)[1]
    rc, output = playbook(APP, flower_app=None, flower_run_config=None, flower_run_id=run_id, flower_run_timeout=2)
    assert rc == 2
    assert f"run {run_id} is not finished after 2 s" in output
    assert re.search(f"flwr stop {run_id} hub", " ".join(output.split()))
    rc, output = playbook(APP, flower_app=None, flower_run_config=None, flower_run_id=run_id)
    assert rc == 0
    assert len(rounds(output)) == 1


def test_what_is_no_app_is_refused_before_anything(other: Path) -> None:
    (other / "pyproject.toml").unlink()
    rc, output = playbook(other)
    assert rc == 2
    assert "is not a Flower app: it has no pyproject.toml" in " ".join(output.split())
    assert not re.search(r"\brun \d{6,}", output)


def test_an_app_without_its_module_is_refused_before_it_is_submitted(other: Path) -> None:
    (other / "quickstart" / "server_app.py").unlink()
    rc, output = playbook(other)
    assert rc == 2
    assert "would be refused by Flower: serverapp names the module quickstart.server_app" in output


def test_check_mode_submits_nothing() -> None:
    rc, output = playbook(APP, "--check", config={"num-server-rounds": 1})
    assert rc == 0
    assert "would submit federated-flower/quickstart" in output
    rc, output = playbook(APP, "--check", config={"rounds": 1})
    assert rc == 2
    assert "has no run config" in output


def test_an_unknown_run() -> None:
    rc, output = playbook(APP, flower_app=None, flower_run_config=None, flower_run_id="123")
    assert rc == 2
    assert "has no information about run 123" in " ".join(output.split())
