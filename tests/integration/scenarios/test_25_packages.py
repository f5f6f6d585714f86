# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Dependencies of an app: what an image lacks is named before anything is submitted, and what is not known refuses nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base import package_list
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import package_index
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

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


@pytest.fixture(scope="module")
def recorded(federation: Any) -> Iterator[dict[str, Any]]:
    """What the deployment recorded; the federation is as before at the end."""
    federation.settle()
    yield federation.ledger().read_packages()
    federation.settle()


def submit(fed: Any, app: Path, rc: int = 0, **more: Any) -> Any:
    """Submit an app for one round."""
    given = {"flower_app": str(app), "flower_run_config": {"num-server-rounds": 1}, **more}
    return fed.play("run", "-e", json.dumps(given), rc=rc)


def test_the_deployment_records_what_images_hold(fed: Any, recorded: dict[str, Any]) -> None:
    found, strange = package_index.of_nodes(recorded, [*fed.keys("site-a").values(), *fed.keys("site-b").values()])
    assert [(site, pool) for site, pool, _held in found] == [("site-a", "cpu"), ("site-b", "gpu")] and not strange
    server = package_index.of_serverapp(recorded)
    assert server is not None
    for held in (server, *(held for _site, _pool, held in found)):
        listed = package_list.unpack(held.listed)
        assert {"flwr", "numpy"} <= set(listed.packages) and listed.environment["sys_platform"] == "linux"
        assert held.digest and not held.why
    assert len(recorded["lists"]) == 1, "all of them have the same packages"


def test_everything_that_is_lacking_is_named_and_nothing_is_submitted(
    fed: Any, recorded: dict[str, Any], app: Callable[[str], Path]
) -> None:
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


def test_without_the_check_it_is_submitted(fed: Any, recorded: dict[str, Any], app: Callable[[str], Path]) -> None:
    run = submit(fed, app(LACKING), flower_run_packages_check=False)
    assert "completed" in run.messages("hub")


def test_what_is_not_recorded_is_a_warning(fed: Any, recorded: dict[str, Any]) -> None:
    fed.hub.delete("v1", "ConfigMap", "flower-packages", NAMESPACE)
    run = submit(fed, APP)
    assert "completed" in run.messages("hub")
    assert "were not compared with all images" in run.warnings() and "ServerApp: " in run.warnings()
    fed.site()
    fed.unchanged()
    assert fed.ledger().read_packages() == recorded
    assert "were not compared" not in submit(fed, APP).warnings()


def test_pods_report_it_themselves(fed: Any, recorded: dict[str, Any], app: Callable[[str], Path]) -> None:
    """As behind Open Cluster Management; in both kinds of pods."""
    hosts = fed.base()
    hosts["site-a"]["supernode_packages_report"] = True
    hosts["site-b"] |= {"supernode_packages_report": True, "flower_clientapp": "workload"}
    fed.settled = False
    fed.site(hosts)
    fed.unchanged(hosts)
    pods = [*fed.pods("site-a").values(), *fed.pods("site-b", name="clientapp").values()]
    for pod in pods:
        (one,) = (found for found in pod["status"]["initContainerStatuses"] if found["name"] == "packages")
        listed = package_list.unpack(one["state"]["terminated"]["message"])
        assert {"flwr", "numpy"} <= set(listed.packages)
    index = fed.ledger().read_packages()
    for site in ("site-a", "site-b"):
        assert all(held.listed for held in package_index.of_site(index, site).values())
    run = fed.play("run", "-e", json.dumps({"flower_app": str(app(LACKING))}), hosts=hosts, rc=2)
    assert "site-b, pool gpu, image" in run.messages("hub", failed=True)
