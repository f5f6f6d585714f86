# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""upgrade.yml: what is wrong is told before anything is changed."""

from __future__ import annotations

from typing import Any

import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit.read import trusted, yaml_file

RUN = "federated.flower.run"


def begun() -> list[dict[str, Any]]:
    """The tasks before the hub is changed."""
    (play,) = [one for one in yaml_file("playbooks", "upgrade.yml") if one["name"] == "Plan the upgrade"]
    return play["tasks"][0]["block"]


def test_the_app_of_the_acceptance_run_is_read_before_anything_is_changed() -> None:
    names = [task["name"] for task in begun()]
    (early,) = [task for task in begun() if RUN in task]
    (late,) = [task for task in yaml_file("playbooks", "tasks", "upgrade_sites.yml") if RUN in task]
    assert names.index(early["name"]) < names.index("Wait for the end of runs") and early["check_mode"] is True
    assert early["when"] in late["when"], "an empty answer to a survey is no app"
    assert all(early[RUN][option] == late[RUN][option] for option in early[RUN])


@pytest.mark.parametrize(
    ("given", "good"), [({}, True), ({"flower_plan_hash": ""}, True), ({"flower_plan": "a.yml"}, False), ({"flower_plan_hash": "5f0c"}, False)]
)
def test_a_plan_that_an_upgrade_would_not_keep_to_is_refused(given: dict[str, str], good: bool) -> None:
    (refusal,) = [task["ansible.builtin.assert"] for task in begun() if "flower_plan" in str(task.get("ansible.builtin.assert"))]
    templar = Templar(loader=DataLoader(), variables=given)
    assert templar.template(trusted("{{ " + refusal["that"] + " }}")) is good


@pytest.mark.parametrize(("todo", "hub_changes", "checked"), [(True, False, True), (True, True, False), (False, False, False)])
def test_other_changes_of_a_hub_whose_images_stay_do_not_fail_runs(todo: bool, hub_changes: bool, checked: bool) -> None:
    """The first check does not refuse them, since the hub's upgrade waits for runs. One of sites alone, or that only ends, does not."""
    found = yaml_file("playbooks", "upgrade.yml")
    names = [one["name"] for one in found]
    (first,) = [one for one in found if one.get("import_playbook") == "site_check.yml"]
    (again,) = [task for task in found[names.index("Begin with the hub")]["tasks"][0]["block"] if "ansible.builtin.include_role" in task]
    assert first["vars"]["superlink_serverapp_force"] is True and "vars" not in again
    assert names.index("Begin with the hub") < names.index("Upgrade the hub")
    templar = Templar(loader=DataLoader(), variables={"__upgrade_plan": {"todo": todo, "hub_changes": hub_changes}})
    assert templar.template(trusted("{{ " + again["when"] + " }}")) is checked
