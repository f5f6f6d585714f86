# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Each folder of targets/ is a role; it runs on `testhost` (local) against the fleet.

A target finds the kubeconfig in K8S_AUTH_KUBECONFIG (so modules need only `context`) and in the variable
`fleet_kubeconfig`, the contexts in `fleet_contexts`, the hub's first. It makes its own namespaces and removes them.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

TARGETS = Path(__file__).parent / "targets"
INVENTORY = {
    "all": {"hosts": {"testhost": {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}}}
}


def targets() -> list[str]:
    """Names of the targets, except the disabled and the setup ones (roles that others depend on)."""
    found = []
    for folder in sorted(TARGETS.iterdir()) if TARGETS.is_dir() else []:
        aliases = folder / "aliases"
        words = aliases.read_text(encoding="utf-8").split() if aliases.exists() else []
        if (folder / "tasks" / "main.yml").exists() and not {"disabled", "hidden"} & set(words):
            found.append(folder.name)
    return found


@pytest.mark.parametrize("target", targets())
def test_target(target: str, fleet_kubeconfig: Path, fleet_contexts: list[str], tmp_path: Path) -> None:
    play = {
        "name": f"Run the target {target}",
        "hosts": "testhost",
        "gather_facts": False,
        "vars": {"fleet_kubeconfig": str(fleet_kubeconfig), "fleet_contexts": fleet_contexts},
        "roles": [target],
    }
    (tmp_path / "play.yml").write_text(json.dumps([play]), encoding="utf-8")
    (tmp_path / "inventory.yml").write_text(json.dumps(INVENTORY), encoding="utf-8")
    env = {**os.environ, "ANSIBLE_ROLES_PATH": str(TARGETS), "K8S_AUTH_KUBECONFIG": str(fleet_kubeconfig)}
    command = ["ansible-playbook", "-i", "inventory.yml", "play.yml"]
    run = subprocess.run(
        command, cwd=tmp_path, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
    )
    print(run.stdout)
    assert run.returncode == 0, f"ansible-playbook ended with {run.returncode}, see its output"
