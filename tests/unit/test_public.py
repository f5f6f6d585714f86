# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of every module and filter states whether it is public or a step of a role or playbook."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from ansible_collections.federated.flower.tests.unit.rows import each_row

ROOT = Path(__file__).parents[2]
MARK = re.compile(
    r"This (module|filter) is (public\. Changes of its options follow semantic versioning\.|"
    r"a step of [^.]*(\.flower\.\w+[^.]*|this collection)+\. Its options may change in any release\.)"
)
FIRST_WORDS = {"a", "an", "the", "what", "whether", "which", "when", "where", "how", "who"}


@cache
def documentation(path: Path) -> dict[str, Any]:
    """What a module or filter says about itself, without its fragments."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".yml":
        found: dict[str, Any] = yaml.load(text, Loader=yaml.CSafeLoader)["DOCUMENTATION"]
        return found
    for node in ast.parse(text).body:
        if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "DOCUMENTATION":
            loaded: dict[str, Any] = yaml.load(ast.literal_eval(node.value), Loader=yaml.CSafeLoader)
            return loaded
    raise AssertionError(f"{path.name} has no DOCUMENTATION")


FILES = sorted([*ROOT.glob("plugins/modules/[!_]*.py"), *ROOT.glob("plugins/filter/*.yml")])


@each_row("path", FILES)
def test_says_whether_it_is_public(path: Path) -> None:
    found = documentation(path)
    marks = [sentence for sentence in found["description"] if MARK.fullmatch(sentence)]
    assert len(marks) == 1, f"{path.name}: one entry of its description has to match {MARK.pattern}"
    assert found["short_description"].split()[0].lower() not in FIRST_WORDS, "a short description starts with a verb"


def test_each_module_is_an_action_that_takes_its_options_from_the_documentation() -> None:
    assert {path.stem for path in FILES if path.suffix == ".py"} == {path.stem for path in ROOT.glob("plugins/action/[!_]*.py")}
