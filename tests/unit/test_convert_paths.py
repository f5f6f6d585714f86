# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""convert.yml takes paths as those of the folder in which it is run, as the guide's commands do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.playbook


def convert(folder: Path, *variables: str) -> subprocess.CompletedProcess[str]:
    """Run the playbook in a folder."""
    return subprocess.run(
        ["ansible-playbook", "federated.flower.convert", *(word for one in variables for word in ("-e", one))],
        env={**os.environ, "ANSIBLE_NOCOLOR": "1"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_relative_paths_are_those_of_the_folder(tmp_path: Path) -> None:
    (tmp_path / "supernode.yaml").write_text("supernode: {replicas: 2}\n")
    done = convert(tmp_path, "flower_convert_supernode=supernode.yaml", "flower_convert_directory=fleet")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "changed=4" in done.stdout
    assert (tmp_path / "fleet/inventory/group_vars/flower_sites/converted.yml").is_file()
    assert (tmp_path / "fleet/convert-report.txt").is_file()


def test_a_file_with_two_federations_is_refused(tmp_path: Path) -> None:
    (tmp_path / "two.yaml").write_text("---\nkind: Federation\n---\nkind: Federation\n")
    done = convert(tmp_path, "flower_convert_federation=two.yaml", "flower_convert_directory=fleet")
    assert done.returncode == 2 and "two.yaml has 2 resources: put each Federation into a separate file" in " ".join(done.stdout.split())
    assert [path.name for path in tmp_path.iterdir()] == ["two.yaml"]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{kind: Deployment, apiVersion: apps/v1}", "it is not a Federation of flwr.exalsius.ai/v1, but 'Deployment'"),
        ("{kind: Federation, apiVersion: flwr.exalsius.ai/v1}", "the Federation has no spec"),
        ("{kind: Federation, apiVersion: flwr.exalsius.ai/v1, spec: {mode: Deployment}}", "spec.mode of the Federation is 'Deployment'"),
    ],
)
def test_what_is_wrong_with_a_federation_is_shown(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "federation.yaml").write_text(text)
    done = convert(tmp_path, "flower_convert_federation=federation.yaml", "flower_convert_directory=fleet")
    assert done.returncode == 2 and message in " ".join(done.stdout.replace("''", "'").split()), done.stdout
    assert "concatenate" not in done.stdout and [path.name for path in tmp_path.iterdir()] == ["federation.yaml"]
