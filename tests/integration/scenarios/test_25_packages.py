# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dependencies of an app: what an image lacks is named before anything is submitted, and what cannot be asked refuses nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.state.ledger import NODES
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP

OWN = '["flwr>=1.40", "numpy>=1.26"]'
LACKING = '["flwr[simulation]>=1.40", "numpy<1", "no-such-package>=2", "pywin32; sys_platform == \'win32\'"]'


@pytest.fixture
def app(tmp_path: Path) -> Callable[[str], Path]:
    """A copy of the example app with other dependencies."""

    def copied(dependencies: str) -> Path:
        folder = Path(shutil.copytree(APP, tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__")))
        project = folder / "pyproject.toml"
        text = project.read_text(encoding="utf-8")
        assert OWN in text
        project.write_text(text.replace(OWN, dependencies), encoding="utf-8")
        return folder

    return copied


@pytest.fixture(autouse=True)
def settled(federation: Any) -> Iterator[None]:
    """The federation is as before at the end."""
    federation.settle()
    yield
    federation.settle()


def submit(fed: Any, app: Path, rc: int = 0, **more: Any) -> Any:
    """Submit an app for one round."""
    given = {"flower_app": str(app), "flower_run_config": {"num-server-rounds": 1}, **more}
    return fed.play("run", "-e", json.dumps(given), rc=rc)


def test_images_that_fit_are_named_in_the_result(fed: Any) -> None:
    run = submit(fed, APP)
    assert "completed" in run.messages("hub") and "were not compared" not in run.output
    assert not {"lists", "serverapp"} & set(fed.ledger().read(NODES)), "nothing of it is recorded"


def test_everything_that_is_lacking_is_named_and_nothing_is_submitted(fed: Any, app: Callable[[str], Path]) -> None:
    before = fed.app_runs()
    run = submit(fed, app(LACKING), rc=2)
    words = run.messages("hub", failed=True)
    for place in ("ServerApp", "site-a, pool cpu", "site-b, pool gpu"):
        assert f"{place}, image docker.io/flwr/superexec:" in words, words
    assert (
        words.count("numpy: <1 is required, and ")
        == words.count("no-such-package: >=2 is required, and it is not")
        == 3
    )
    assert "pywin32" not in words and "flwr" not in words.replace("docker.io/flwr", "").replace("federated.flower", "")
    assert fed.app_runs() == before


def test_without_the_check_it_is_submitted(fed: Any, app: Callable[[str], Path]) -> None:
    run = submit(fed, app(LACKING), flower_run_packages_check=False)
    assert "completed" in run.messages("hub")


def test_what_cannot_be_asked_is_named_in_one_line(fed: Any, app: Callable[[str], Path]) -> None:
    """A site whose API server is not there, and one that the inventory does not have."""
    hosts = fed.base()
    hosts["site-a"]["flower_auth"] = {"host": "https://127.0.0.1:9"}
    del hosts["site-b"]
    run = fed.play("run", "-e", json.dumps({"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}), hosts=hosts)
    (line,) = (one for one in run.output.splitlines() if "were not compared with all images" in one)
    assert "site-b: it is not in the inventory" in line and "site-a: " in line
    refused = fed.play("run", "-e", json.dumps({"flower_app": str(app(LACKING))}), hosts=hosts, rc=2)
    assert "ServerApp, image" in refused.messages("hub", failed=True) and "pool cpu, image" not in refused.messages("hub", failed=True)


def test_clientapps_in_their_own_pods_are_asked(fed: Any, app: Callable[[str], Path]) -> None:
    hosts = fed.base()
    hosts["site-b"]["flower_clientapp"] = "workload"
    fed.settled = False
    fed.site(hosts)
    run = fed.play("run", "-e", json.dumps({"flower_app": str(app(LACKING))}), hosts=hosts, rc=2)
    assert "site-b, pool gpu, image" in run.messages("hub", failed=True)
