# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Private variables (two underscores) belong to one role or playbook; entry points have argument specs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

ROOT = Path(__file__).resolve().parents[3]
ROLES = sorted(path.parent.name for path in ROOT.glob("roles/*/meta"))
NAME = re.compile(r"\b__([a-z0-9]+(?:_[a-z0-9]+)*)\b")


def owner(name: str) -> str:
    """The role whose private variable this is; the longest prefix counts. Empty if it is no role's."""
    return max((role for role in ROLES if name == role or name.startswith(role + "_")), key=len, default="")


def files() -> Iterator[tuple[str, Path]]:
    for role in ROLES:
        for path in sorted((ROOT / "roles" / role).rglob("*.yml")):
            yield role, path
    for path in sorted(ROOT.glob("playbooks/**/*.yml")):
        yield "", path


def test_private_variables_stay_at_home() -> None:
    used = {(role, path.relative_to(ROOT), name) for role, path in files() for name in NAME.findall(path.read_text(encoding="utf-8"))}
    assert {(path, f"__{name}") for role, path, name in used if owner(name) not in ("", role)} == set(), "private variables of another role"


@each_row("role", ROLES)
def test_every_entry_point_has_an_argument_spec(role: str) -> None:
    used = {"main"}
    for _role, path in files():
        text = path.read_text(encoding="utf-8")
        used |= set(re.findall(rf"name: federated\.flower\.{role}\n\s+tasks_from: (\w+)", text))
    specs = yaml_file("roles", role, "meta", "argument_specs.yml")
    assert used == set(specs["argument_specs"])
