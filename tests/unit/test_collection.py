# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection agrees with itself: documentation, metadata, roles."""

from __future__ import annotations

import importlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit import read
from ansible_collections.federated.flower.tests.unit.read import trusted, yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.parent.name for path in ROOT.glob("roles/*/meta"))
ACTIONS = sorted(path.stem for path in ROOT.glob("plugins/action/[!_]*.py"))
MODULES = sorted(path.stem for path in ROOT.glob("plugins/modules/[!_]*.py"))


def load(path: str) -> Any:
    """A YAML file of the collection; None if there is none."""
    return yaml_file(path) if (ROOT / path).exists() else None


def documentation(modules: list[str]) -> dict[str, Any]:
    """What ansible-doc knows of each module, fragments included, by short name."""
    names = [f"federated.flower.{name}" for name in modules]
    run = subprocess.run(
        [sys.executable, "-m", "ansible", "doc", "--json", "-t", "module", *names],
        env={**os.environ, "ANSIBLE_COLLECTIONS_PATH": str(ROOT.parents[2]), "PYTHONPATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    return {name.rsplit(".", 1)[-1]: entry["doc"] for name, entry in json.loads(run.stdout).items()}


def test_action_groups_hold_the_modules_that_say_so() -> None:
    listed = load("meta/runtime.yml")["action_groups"]
    documented: dict[str, list[str]] = {group: [] for group in listed}
    for module, doc in sorted(documentation(MODULES).items()):
        for group in doc.get("attributes", {}).get("action_group", {}).get("membership", []):
            documented.setdefault(group.rsplit(".", 1)[-1], []).append(module)
    assert {group: sorted(names) for group, names in listed.items()} == documented


def test_every_action_is_documented_by_a_module() -> None:
    assert set(ACTIONS) <= set(MODULES)


def test_every_plugin_can_be_imported() -> None:
    """No unit test loads all of them; Ansible would say so in the middle of a play."""
    for path in sorted(ROOT.glob("plugins/**/*.py")):
        importlib.import_module(".".join(("ansible_collections.federated.flower", *path.relative_to(ROOT).with_suffix("").parts)))


def plays(playbook: str) -> list[dict[str, Any]]:
    """The plays of a playbook, those of its parts included."""
    found = []
    for play in read.playbook(playbook):
        part = play.get("import_playbook")
        if part is None:
            found.append(play)
        elif part.startswith("parts/"):
            found += plays(part)
    return found


PLAYBOOKS = sorted(path.name for path in ROOT.glob("playbooks/*.yml"))


#: Modules and roles that change nothing of the fleet: they read, work on runs, write files on the control node, or only report.
READING = {
    "run", "run_outputs_fetch", "run_outputs_info", "run_outputs_remove", "run_outputs_upload", "run_stop", "runs_info",
    "audit_info", "superlink_backup", "superlink_info", "supernode_info", "leaving_statement", "supernode_acceptance",
    "plan", "node_info", "lease", "site_result", "awx", "connect", "logs_info", "support",
}  # fmt: skip


#: They change the fleet's objects, but must not wait for others: a denial is at once, also that of sites outside of a run's regions, a project is
#: where the lease will be, and the others are the administrator's.
WITHOUT_LEASE = {"acm_policy.yml", "openshift_projects.yml", "rbac.yml", "run.yml", "site_access.yml"}
#: They run the parts that deploy, in check mode.
IN_CHECK_MODE = {"plan.yml", "render.yml"}


@each_row("playbook", PLAYBOOKS)
def test_playbooks_that_change_the_fleet_return_the_lease_at_the_end(playbook: str) -> None:
    used = set(re.findall(r"federated\.flower\.(\w+)", json.dumps(plays(playbook)))) & {*MODULES, *ROLES}
    changes = bool(used - READING) and playbook not in WITHOUT_LEASE | IN_CHECK_MODE
    assert (read.playbook(playbook)[-1].get("import_playbook") == "return_lease.yml") == changes, used - READING


@each_row("role", ROLES)
def test_argument_specs_are_the_defaults(role: str) -> None:
    """Each default, templated where no other variable is set, is the one that the documentation of the option shows.

    A default that is null, looks into the inventory, or is a table of objects, has no value to write down: its option has none.
    """
    options = load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    defaults = load(f"roles/{role}/defaults/main.yml")
    specified = {name: option["default"] for name, option in options.items() if option.get("default") is not None}
    unwritten = ("query(", "groups[", "inventory_hostname", "{{ awx_name")
    fixed = trusted(
        {k: v for k, v in defaults.items() if v is not None and not any(word in str(v) for word in unwritten)}
    )
    assert specified == Templar(loader=DataLoader(), variables=fixed).template(fixed)
    assert set(defaults) <= set(options), "defaults without an option"


def test_python_requirements_have_lower_bounds_only() -> None:
    lines = (ROOT / "meta" / "ee-requirements.txt").read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if line and not line.startswith("#")]
    assert requirements
    assert [line for line in requirements if not re.fullmatch(r"[A-Za-z0-9_.-]+>=[0-9.]+", line)] == []
    lowest = (ROOT / "requirements" / "lowest.txt").read_text(encoding="utf-8")
    core = yaml_file("meta", "runtime.yml")["requires_ansible"].removeprefix(">=")
    for bound in [*requirements, f"ansible-core>={core}"]:
        assert re.search(rf"^{bound.replace('>=', '==')}(\.0)*(;|$)", lowest, re.MULTILINE), f"the gate `lowest` does not have {bound}"
