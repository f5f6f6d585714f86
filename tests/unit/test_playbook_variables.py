# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What playbooks make of variables that people type: paths and lists."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/*/tasks/*.yml")])


def test_the_home_folder_is_expanded_before_a_path_is_made_absolute() -> None:
    for path in FILES:
        text = path.read_text(encoding="utf-8")
        assert len(re.findall(r"\brealpath\b", text)) == len(re.findall(r"\| expanduser \| realpath\b", text)), path


def option(playbook: str, module: str, name: str, **given: Any) -> Any:
    """The value of an option of a task, as Ansible evaluates it with the variables of its play."""
    play = yaml.safe_load((ROOT / "playbooks" / playbook).read_text(encoding="utf-8"))[-1]
    tasks = [task for block in play["tasks"] for task in block.get("block", [block])]
    task = [task for task in tasks if module in task][-1]  # before it, one may look only
    variables = trusted({**play.get("vars", {}), "ansible_check_mode": False, "omit": "<omit>"}) | given
    return Templar(loader=DataLoader(), variables=variables).template(trusted(task[module][name]))


@each_row(
    ("given", "hub", "site"),
    [
        ({}, ["flower", "flower-ca"], ["flower"]),
        ({"flower_create_namespace": False}, [], []),
        ({"superlink_create_namespace": False}, [], ["flower"]),
        ({"supernode_create_namespace": "false"}, ["flower", "flower-ca"], []),
        ({"flower_create_namespace": False, "supernode_create_namespace": True}, [], ["flower"]),
    ],
)
def test_a_project_is_requested_only_where_the_namespace_is_to_be_created(given: dict[str, Any], hub: list[str], site: list[str]) -> None:
    both: dict[str, Any] = {"inventory_hostname": "one", "groups": {"flower_hub": ["one"], "flower_sites": ["one"]}, **given}
    names = [option("openshift_projects.yml", "federated.flower.openshift_project", name, **both) for name in ("names", "site_names")]
    assert names == [hub, site]


def test_outputs_go_to_the_home_folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    given = {"flower_outputs_directory": "~/outputs"}
    assert option("run.yml", "federated.flower.run", "outputs_directory", **given) == str(tmp_path / "outputs")
    assert option("outputs.yml", "federated.flower.run_outputs_fetch", "directory", **given) == str(tmp_path / "outputs")


@each_row(("name", "variable"), [("regions", "flower_run_regions"), ("datasets", "flower_run_datasets")])
@each_row(
    ("value", "made"), [("eu, us", ["eu", "us"]), (["eu", "us "], ["eu", "us"]), ("eu", ["eu"]), ("", "<omit>"), ([], "<omit>"), (None, "<omit>")]
)
def test_lists_may_have_blanks_after_commas(name: str, variable: str, value: Any, made: Any) -> None:
    assert option("run.yml", "federated.flower.run", name, **{variable: value}) == made


def test_the_id_of_a_run_replaces_the_app_of_an_inventory() -> None:
    given = {"flower_app": "apps/ct", "flower_run_config": {"rounds": 5}}
    for run_id, app, config in (("7", "<omit>", "<omit>"), ("", "apps/ct", {"rounds": 5})):
        variables = {**given, "flower_run_id": run_id}
        assert option("run.yml", "federated.flower.run", "app", **variables) == app
        assert option("run.yml", "federated.flower.run", "run_config", **variables) == config


@pytest.mark.parametrize("value", ["", None])
def test_an_empty_variable_is_none(value: Any) -> None:
    assert option("run.yml", "federated.flower.run", "outputs_directory", flower_outputs_directory=value) == "<omit>"
    assert option("run.yml", "federated.flower.run", "run_config", flower_run_config=value) == "<omit>"
    given = {"flower_outputs": "prune", "flower_outputs_keep": value, "flower_outputs_older_than": "30d"}
    assert option("outputs.yml", "federated.flower.run_outputs_remove", "keep", **given) == "<omit>"
    assert option("outputs.yml", "federated.flower.run_outputs_remove", "older_than", **given) == "30d"
    given = {"flower_outputs": "prune", "flower_outputs_keep": 0, "flower_outputs_older_than": value}
    assert option("outputs.yml", "federated.flower.run_outputs_remove", "keep", **given) == 0
    assert option("outputs.yml", "federated.flower.run_outputs_remove", "older_than", **given) == "<omit>"


@each_row(
    ("given", "words"),
    [
        ({"flower_outputs": "prune", "flower_outputs_keep": "", "flower_outputs_older_than": ""}, "needs a rule"),
        ({"flower_outputs": "prune", "flower_outputs_keep": 0}, ""),
        ({"flower_outputs": "fetch", "flower_run_id": "1", "flower_outputs_directory": ""}, "needs a folder"),
    ],
)
def test_an_empty_variable_is_no_rule_and_no_folder(given: dict[str, Any], words: str) -> None:
    play = yaml.safe_load((ROOT / "playbooks/outputs.yml").read_text(encoding="utf-8"))[-1]
    found = Templar(loader=DataLoader(), variables=trusted({**play["vars"], "omit": "<omit>"}) | given).template(trusted("{{ __outputs_fault }}"))
    assert (words in found) if words else found == ""
