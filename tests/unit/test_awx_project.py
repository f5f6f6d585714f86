# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The example project for AWX has the playbooks that the job templates of the role awx name, and an image that can be built."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

from ansible_collections.federated.flower.plugins.plugin_utils.checks import variables
from ansible_collections.federated.flower.tests.unit.read import ROOT, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

PROJECT = ROOT / "examples" / "awx-project"
PLAYBOOKS = sorted(row["playbook"] for row in yaml_file("roles", "awx", "defaults", "main.yml")["awx_job_templates"])
#: In the project, but no playbooks.
OTHERS = {"execution-environment.yml"}


def test_the_project_has_the_playbooks_of_the_job_templates() -> None:
    assert sorted({path.name for path in PROJECT.glob("*.yml")} - OTHERS) == PLAYBOOKS


@each_row("playbook", PLAYBOOKS)
def test_a_playbook_imports_that_of_the_collection(playbook: str) -> None:
    (play,) = yaml_file("examples", "awx-project", playbook)
    assert play == {"name": play["name"], "import_playbook": f"federated.flower.{playbook.removesuffix('.yml')}"}


def test_the_inventory_has_a_hub_sites_and_groups_for_limits() -> None:
    run = subprocess.run(
        [sys.executable, "-m", "ansible", "inventory", "-i", str(PROJECT / "inventory"), "--list"],
        env={**os.environ, "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    listed = json.loads(run.stdout)
    hostvars = listed.pop("_meta")["hostvars"]
    assert listed["flower_hub"]["hosts"] == ["hub"]
    assert sorted(listed["region_eu"]["hosts"] + listed["region_us"]["hosts"]) == sorted(
        listed["flower_sites"]["hosts"]
    )
    for host, found in hostvars.items():
        assert variables.faults(host, found) == []
        assert "flower_kubeconfig" not in found, "the credential names it"


def test_ocm_hosts_get_no_path_of_the_inventory_update() -> None:
    found = yaml_file("examples", "awx-project", "ocm", "fleet.ocm.yml")
    assert found["plugin"] == "federated.flower.ocm"
    assert "kubeconfig" not in found and found["hub_vars"] == {"flower_context": found["context"]}


def test_the_execution_environment_can_be_built(tmp_path: Path) -> None:
    (builder,) = [path for path in (Path(sys.executable).parent / "ansible-builder",) if path.exists()]
    command = [
        str(builder),
        "create",
        "-f",
        str(PROJECT / "execution-environment.yml"),
        "-c",
        str(tmp_path),
        "--output-filename",
        "Containerfile",
    ]
    run = subprocess.run(command, env={**os.environ, "PYTHONPATH": ""}, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    assert "federated.flower" in (tmp_path / "_build" / "requirements.yml").read_text(encoding="utf-8")
    assert "introspect" in (tmp_path / "Containerfile").read_text(encoding="utf-8")
