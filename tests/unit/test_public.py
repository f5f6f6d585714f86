# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The documentation of every module and filter states whether it is public or a step of a role or playbook."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
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


def options(path: Path) -> set[str]:
    """Names of the options in a module's documentation and in its fragments of this collection."""
    found = documentation(path)
    names = set(found.get("options") or {})
    for fragment in found.get("extends_documentation_fragment") or []:
        if fragment.startswith("federated.flower."):
            file, _dot, part = fragment.removeprefix("federated.flower.").partition(".")
            module = import_module(f"ansible_collections.federated.flower.plugins.doc_fragments.{file}")
            text = getattr(module.ModuleDocFragment, part.upper() or "DOCUMENTATION")
            names |= set(yaml.load(text, Loader=yaml.CSafeLoader).get("options") or {})
    return names


ACTIONS = [path for path in FILES if (ROOT / "plugins" / "action" / path.name).is_file()]


@each_row("path", ACTIONS)
def test_documents_the_options_that_its_action_takes(path: Path) -> None:
    module = import_module(f"ansible_collections.federated.flower.plugins.action.{path.stem}")
    taken = getattr(module.ActionModule, "ARGS", None) or getattr(module, "ARGS", None)
    if taken is not None:  # else it takes them from the documentation
        assert set(taken) == options(path)
