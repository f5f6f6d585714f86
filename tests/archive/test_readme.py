# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The archive of the collection, installed as README.md says into an empty environment. Its commands work there, without a checkout."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from ansible_collections.federated.flower.tests.unit.guide_blocks import BLOCKS, COMMANDS, Block
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file

README = [one for one in COMMANDS if one.block.page == "README.md"]
VERSION = yaml_file("galaxy.yml")["version"]
UNREACHABLE = "https://127.0.0.1:9"
NAMES = ("hub", "site-a", "site-b")


def kubeconfig() -> str:
    """Contexts with the names of README.md, of an API server that does not answer."""
    return yaml.safe_dump({
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "c", "cluster": {"server": UNREACHABLE}}],
        "users": [{"name": "u", "user": {"token": "t"}}],
        "contexts": [{"name": name, "context": {"cluster": "c", "user": "u"}} for name in NAMES],
    })  # fmt: skip


def block(words: str) -> Block:
    """The first example of README.md that has these words."""
    return next(one for one in BLOCKS if one.page == "README.md" and words in one.text)


class Shell:
    """A user's shell, after the commands of «Installation»."""

    def __init__(self, folder: Path) -> None:
        home = folder / "home"
        (home / ".kube").mkdir(parents=True)
        (home / ".kube" / "config").write_text(kubeconfig(), encoding="utf-8")
        kept = {name: value for name, value in os.environ.items() if name.startswith("PIP_") or name.lower().endswith("_proxy")}
        python = Path(getattr(sys, "_base_executable", sys.executable)).parent
        self._environment = {**kept, "HOME": str(home), "PATH": f"{python}:/usr/bin:/bin", "LANG": "C.UTF-8", "ANSIBLE_NOCOLOR": "1"}
        self._folder = folder
        self._prepared = "true"

    def run(self, command: str, rc: int = 0) -> str:
        script = f"set -e\n{self._prepared}\n{command}"
        done = subprocess.run(
            ["bash", "-c", script], cwd=self._folder, env=self._environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        assert done.returncode == rc, f"{command}\n{done.stdout}"
        return done.stdout

    def install(self) -> None:
        installation = block(f"federated-flower-{VERSION}.tar.gz")
        lines = [one.text for one in README if one.block is installation]
        self.run("\n".join(lines))
        self._prepared = "\n".join(re.sub(r"^python3 .* && ", "", line) for line in lines if "activate" in line or line.startswith("cd "))


@pytest.fixture(scope="module")
def shell(tmp_path_factory: pytest.TempPathFactory) -> Shell:
    folder = tmp_path_factory.mktemp("empty")
    galaxy = shutil.which("ansible-galaxy")
    assert galaxy is not None
    subprocess.run([galaxy, "collection", "build", "--output-path", str(folder)], cwd=ROOT, check=True)
    found = Shell(folder)
    found.install()
    found.run(f"cat > fleet.yml <<'END'\n{block('flower_hub:').text}END")
    return found


def test_the_archive_has_no_tests_and_its_own_version(shell: Shell) -> None:
    assert VERSION in shell.run("ansible-galaxy collection list federated.flower")
    there = shell.run("ls -A").split()
    assert {"README.md", "CHANGELOG.rst", "MANIFEST.json", "examples", "inventories", "docs"} <= set(there)
    assert not {"tests", "tools", "requirements", "Makefile", "build"} & set(there)


def test_modules_and_roles_are_documented(shell: Shell) -> None:
    assert "FEDERATED.FLOWER.RUN" in shell.run("ansible-doc federated.flower.run").upper()
    assert "superlink_exposure" in shell.run("ansible-doc --type role federated.flower.superlink")


def test_each_playbook_of_the_readme_is_there(shell: Shell) -> None:
    found = [one.text for one in README if one.text.startswith("ansible-playbook")]
    assert len(found) > 4
    for command in found:
        shell.run(f"{command} --syntax-check")
    assert "Deploy" in shell.run("ansible-playbook -i fleet.yml federated.flower.site --list-tasks")


@pytest.mark.parametrize(
    ("playbook", "rc"),
    [
        ("site", 2),
        ("status", 0),  # it reports what it cannot reach
        ("run -e flower_app=$PWD/examples/quickstart -e flower_outputs_directory=$PWD/outputs", 2),
    ],
)
def test_a_cluster_that_does_not_answer_is_named(shell: Shell, playbook: str, rc: int) -> None:
    output = shell.run(f"ansible-playbook -i fleet.yml federated.flower.{playbook}", rc)
    assert f"hub: the API server {UNREACHABLE} refuses connections" in output.replace("\n", " "), output
    assert "Traceback" not in output and "ERROR! " not in output
