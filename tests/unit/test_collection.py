# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The collection agrees with itself: documentation, metadata, roles."""
from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ROLES = sorted(path.parent.name for path in ROOT.glob("roles/*/meta"))
MODULES = sorted(path.stem for path in ROOT.glob("plugins/modules/*.py"))


def load(path: str) -> Any:
    """A YAML file of the collection; None if there is none."""
    file = ROOT / path
    return yaml.safe_load(file.read_text(encoding="utf-8")) if file.exists() else None


def documented_groups(module: str) -> list[str]:
    """Action groups that a module's documentation (with its fragments) says it is a member of."""
    from ansible.plugins.loader import fragment_loader, init_plugin_loader
    from ansible.utils.plugin_docs import get_docstring

    init_plugin_loader([str(ROOT.parents[2])])
    doc = get_docstring(
        str(ROOT / "plugins" / "modules" / f"{module}.py"),
        fragment_loader,
        collection_name="federated.flower",
        is_module=True,
        plugin_type="module",
    )[0]
    attribute = doc.get("attributes", {}).get("action_group", {})
    return [name.rsplit(".", 1)[-1] for name in attribute.get("membership", [])]


def test_action_groups_hold_the_modules_that_say_so() -> None:
    listed = load("meta/runtime.yml")["action_groups"]
    documented: dict[str, list[str]] = {group: [] for group in listed}
    for module in MODULES:
        for group in documented_groups(module):
            documented.setdefault(group, []).append(module)
    assert {group: sorted(names) for group, names in listed.items()} == documented


@pytest.mark.parametrize("action", sorted(path.stem for path in ROOT.glob("plugins/action/[!_]*.py")))
def test_every_action_is_documented_by_a_module(action: str) -> None:
    assert action in MODULES


@pytest.mark.parametrize("role", ROLES)
def test_argument_specs_are_the_defaults(role: str) -> None:
    """Each default is an option with that very default; what has no default is required or has none by its spec."""
    options = load(f"roles/{role}/meta/argument_specs.yml")["argument_specs"]["main"]["options"]
    defaults = load(f"roles/{role}/defaults/main.yml") or {}
    specified = {name: option["default"] for name, option in options.items() if "default" in option}
    assert specified == defaults
    untyped = [name for name, option in options.items() if "type" not in option]
    assert not untyped, "options without a type"


@pytest.mark.parametrize("role", ROLES)
def test_roles_have_a_readme(role: str) -> None:
    assert (ROOT / "roles" / role / "README.md").exists()


def test_python_requirements_have_lower_bounds_only() -> None:
    lines = (ROOT / "meta/ee-requirements.txt").read_text(encoding="utf-8").splitlines()
    requirements = [line for line in lines if line and not line.startswith("#")]
    assert requirements
    assert [line for line in requirements if not re.fullmatch(r"[A-Za-z0-9_.-]+>=[0-9.]+", line)] == []
