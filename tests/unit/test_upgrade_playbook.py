# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""upgrade.yml, and an action that runs other actions, in a real ansible-playbook."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, written
from ansible_collections.federated.flower.tests.unit.read import yaml_file


def test_the_checks_do_not_refuse_runs_for_which_the_upgrade_waits() -> None:
    first, play = (one for one in yaml_file("playbooks", "upgrade.yml") if one.get("import_playbook") == "parts/site_check.yml" or "hosts" in one)
    assert first["vars"] == {"superlink_serverapp_force": True} and "superlink_serverapp_force" not in str(play)


def test_the_upgrade_runs_once_and_each_host_reports() -> None:
    (play,) = [one for one in yaml_file("playbooks", "upgrade.yml") if "hosts" in one]
    upgrade, report = play["tasks"]
    assert play["hosts"].startswith("{{ flower_hub_group") and upgrade["run_once"] is True and upgrade["federated.flower.upgrade"] is None
    assert "run_once" not in report


@pytest.mark.playbook
def test_its_action_runs_others_with_the_variables_of_the_fleet(tmp_path: Path) -> None:
    """Of a hub without a SuperLink: the action that reads the hub finds the place in the variables, and the error is that of the upgrade."""
    task = {"federated.flower.upgrade": None, "run_once": True}
    play = {"hosts": "flower_hub:flower_sites", "gather_facts": False, "tasks": [task]}
    (tmp_path / "play.yml").write_text(json.dumps([play]))
    with api_server() as (address, seen):
        hub = {"flower_auth": {"host": address, "api_key": "t"}, "flower_namespace": "study"}
        fleet = written(tmp_path, inventory(hub, {"site-a": {}}))
        environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANSIBLE_", "K8S_AUTH_", "KUBECONFIG"))}
        environment |= {"HOME": str(tmp_path), "ANSIBLE_HOME": str(tmp_path), "ANSIBLE_COLLECTIONS_PATH": os.environ["ANSIBLE_COLLECTIONS_PATH"]}
        command = [Path(sys.executable).with_name("ansible-playbook"), "-i", fleet, tmp_path / "play.yml"]
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=600)
    words = " ".join(done.stdout.split())
    assert done.returncode == 2 and "hub: " in words, done.stdout + done.stderr
    assert any("/namespaces/study/statefulsets" in one["path"] for one in seen), words
    assert "Traceback" not in done.stdout + done.stderr
