# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Where the SuperLink is, say the hub's own variables, also with a limit to sites: modules read them, and so do the defaults of roles."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

ROOT = Path(__file__).parents[2]
PLAYBOOKS = sorted((ROOT / "playbooks").rglob("*.yml"))
PLACE = {"namespace", "hub_namespace", "federation"}
# It also names the namespace of the CA's keys, which follows from that of the SuperLink.
ALLOWED = {("backup", "superlink_backup", "namespace")}


def open_options(module: str) -> set[str]:
    """Options of an action of this collection for the place of the SuperLink that have no default."""
    if not (ROOT / "plugins" / "action" / f"{module}.py").is_file():
        return set()
    found = import_module(f"ansible_collections.federated.flower.plugins.action.{module}")
    options = getattr(getattr(found, "ActionModule", None), "ARGS", {})
    return {name for name, spec in options.items() if name in PLACE and not {"default", "required"} & set(spec)}


def uses(value: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Modules of this collection with their options, in tasks and in defaults of modules."""
    if isinstance(value, list):
        for one in value:
            yield from uses(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if str(name).startswith("federated.flower.") and isinstance(one, dict):
                yield str(name).removeprefix("federated.flower."), one
            yield from uses(one)


@each_row("path", PLAYBOOKS)
def test_a_playbook_leaves_the_place_of_the_hub_to_its_variables(path: Path) -> None:
    used = uses(yaml.safe_load(path.read_text(encoding="utf-8")))
    found = {(path.stem, module, name) for module, options in used for name in open_options(module) & set(options)}
    assert found - ALLOWED == set()


def test_the_modules_that_ask_the_hub_have_such_options() -> None:
    asking = {"superlink_info", "supernode_forget", "site_access", "plan", "upgrade", "run", "runs_info"}
    assert [module for module in asking if not open_options(module) & {"namespace", "hub_namespace"}] == []


def test_what_templates_read_of_it_is_of_the_hub_or_of_the_host_itself() -> None:
    for path in PLAYBOOKS:
        lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.lstrip().startswith("#")]
        for line in lines:
            if "flower_namespace" in line:
                assert "superlink_namespace" in line or "supernode_namespace" in line or "hostvars[" in line, f"{path.name}: {line}"


@each_row(
    ("file", "variable"),
    [
        (("supernode", "defaults"), "supernode_hub_namespace"),
        (("skupper_link", "defaults"), "skupper_link_hub_namespace"),
        (("cert_rotation", "defaults"), "cert_rotation_hub_namespace"),
    ],
)
@each_row(
    ("hub", "there"),
    [
        ({"flower_namespace": "fed-a"}, "fed-a"),
        ({"superlink_namespace": "fed-b", "flower_namespace": "fed-a"}, "fed-b"),
        ({}, "flower"),
        (None, "flower"),  # it is not in the inventory, which is reported where it is connected
    ],
)
def test_roles_look_for_the_hub_where_its_own_variables_say(file: tuple[str, str], variable: str, hub: dict[str, str] | None, there: str) -> None:
    role, folder = file
    known = trusted(yaml_file("roles", role, folder, "main.yml"))
    hostvars = {"site-a": {}} if hub is None else {"hub": hub, "site-a": {}}
    play = {"groups": {"flower_hub": ["hub"]}, "hostvars": hostvars, "inventory_hostname": "site-a"}
    given = {"flower_namespace": "of-the-site"}  # of the site for which the task runs
    templar = Templar(loader=DataLoader(), variables={**known, **play, **given})
    assert templar.template(known[variable]) == there
