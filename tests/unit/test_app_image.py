# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example of app images: what its Containerfiles install, and that the app declares it."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import app as apps
from ansible_collections.federated.flower.plugins.plugin_utils.flower import packages
from ansible_collections.federated.flower.tests.unit.read import ROOT, role_options
from ansible_collections.federated.flower.tests.unit.rows import each_row

EXAMPLE = ROOT / "examples" / "app-image"
SIDES = ("server", "client")


def listed(side: str, project: Path, folder: Path) -> list[str]:
    """The requirements that a Containerfile takes from a project, by its own command."""
    text = (EXAMPLE / f"Containerfile.{side}app").read_text(encoding="utf-8")
    (command,) = re.findall(r"^RUN .*\\\n *(python -c .+?) > /tmp/requirements\.txt", text, re.MULTILINE)
    command = command.replace("/tmp/app/pyproject.toml", str(project)).replace("python", sys.executable, 1)
    done = subprocess.run(["sh", "-c", command], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[:-1]


@pytest.mark.parametrize("side", SIDES)
def test_an_image_gets_what_the_app_declares_without_flower(side: str, tmp_path: Path) -> None:
    project = tmp_path / "pyproject.toml"
    project.write_text(
        '[project]\nname = "x"\ndependencies = ["flwr[simulation]>=1.40", "flwr-datasets>=0.5", "numpy; os_name == \'posix\'"]\n'
        '[project.optional-dependencies]\nserver = ["mlflow"]\nclient = ["torch>=2"]\n'
    )
    own = {"server": "mlflow", "client": "torch>=2"}[side]
    assert listed(side, project, tmp_path) == ["flwr-datasets>=0.5", "numpy; os_name == 'posix'", own]
    project.write_text('[project]\nname = "x"\n')
    assert listed(side, project, tmp_path) == [""]


def test_the_example_is_an_app_that_declares_its_packages(tmp_path: Path) -> None:
    app = apps.load(EXAMPLE)
    assert {one.name for one in packages.declared(app)} == {"flwr", "numpy", "scikit-learn"}
    assert not any(name.startswith("Containerfile") for name in app.files)
    for side in SIDES:
        assert "scikit-learn>=1.5" in listed(side, EXAMPLE / "pyproject.toml", tmp_path)


CONTAINERFILES = pytest.mark.parametrize(
    "file", sorted(ROOT.glob("examples/*/Containerfile*")), ids=lambda file: f"{file.parent.name}-{file.name}"
)


@CONTAINERFILES
def test_the_version_of_flower_is_that_of_the_roles(file: Path) -> None:
    (version,) = re.findall(r"^ARG FLOWER_VERSION=(.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert version == role_options("supernode")["supernode_version"]["default"]


@each_row("name", sorted(path.parent.name for path in ROOT.glob("examples/*/pyproject.toml")))
def test_each_example_is_an_app_that_can_be_submitted(name: str) -> None:
    app = apps.load(ROOT / "examples" / name)
    assert app.name == f"federated-flower/{name}" and "flwr" in {one.name for one in packages.declared(app)}
    assert {"num-server-rounds", "min-nodes"} <= set(app.defaults)


@CONTAINERFILES
def test_credentials_of_an_index_do_not_stay_in_an_image(file: Path) -> None:
    """pip reads them where they are mounted for this one step."""
    steps = re.findall(r"^RUN (?:.*\\\n)*.*", file.read_text(encoding="utf-8"), re.MULTILINE)
    (install,) = (step for step in steps if "pip install" in step)
    assert install.startswith("RUN --mount=type=secret,id=pip,target=/etc/pip.conf,mode=0444 ")
