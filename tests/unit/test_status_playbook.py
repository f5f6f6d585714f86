# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""status.yml for programs: JSON where it can be printed, else the way to it, and the federation's name in each format."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

pytestmark = pytest.mark.playbook

INVENTORY = """
all:
  vars: {ansible_connection: local, flower_federation: oncology, flower_kubeconfig: /not/there}
  children:
    flower_hub: {hosts: {hub: {}}}
    flower_sites: {hosts: {site-a: {}}}
"""


def status(folder: Path, result_format: str, *variables: str) -> subprocess.CompletedProcess[str]:
    """Run the playbook for a hub that cannot be reached."""
    (folder / "fleet.yml").write_text(INVENTORY)
    return subprocess.run(
        ["ansible-playbook", "-i", "fleet.yml", "federated.flower.status", *(word for one in variables for word in ("-e", one))],
        env={**os.environ, "ANSIBLE_NOCOLOR": "1", "ANSIBLE_CALLBACK_RESULT_FORMAT": result_format},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_json_that_would_be_folded_is_refused_with_the_way_to_it(tmp_path: Path) -> None:
    done = status(tmp_path, "yaml", "flower_status_format=json")
    words = " ".join(done.stdout.split())
    assert done.returncode == 2 and "add -e flower_status_file=status.json instead; to print it, set ANSIBLE_CALLBACK_RESULT_FORMAT=json" in words
    assert "Read the state of the hub" not in done.stdout


@pytest.mark.parametrize("result_format", ["json", "yaml"])
def test_a_file_has_it_in_any_case(tmp_path: Path, result_format: str) -> None:
    printed = ["flower_status_format=json"] if result_format == "json" else []
    done = status(tmp_path, result_format, "flower_status_file=status.json", "flower_status_page=fleet.html", *printed)
    assert done.returncode == 0, done.stdout
    report = json.loads((tmp_path / "status.json").read_text())
    assert report["hub"]["federation"] == "oncology" and not report["healthy"]
    assert "<h1>Federation oncology</h1>" in (tmp_path / "fleet.html").read_text()
    if printed:
        shown = next(json.loads("{" + line.strip().rstrip(",") + "}")["msg"] for line in done.stdout.splitlines() if line.strip().startswith('"msg": "{'))
        assert json.loads(shown) == report
    else:
        assert "federation oncology, address unknown" in done.stdout


def test_it_is_shown_again(tmp_path: Path) -> None:
    done = status(tmp_path, "json", "flower_status_watch=1", "flower_status_watch_limit=2")
    assert done.returncode == 0 and done.stdout.count("federation oncology, address unknown") == 3, done.stdout
    for wrong in ("flower_status_watch=often", "flower_status_watch=0"):
        done = status(tmp_path, "json", wrong)
        assert done.returncode == 2 and "is not a number of seconds" in " ".join(done.stdout.split()), done.stdout
