# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Conditions take what ``-e option=true`` gives: a string, which ansible-core 2.19 and later refuse as a condition.

``-e option=false`` is worse: the string is not empty, so it counts as true wherever it is not refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import nodes

from ansible_collections.federated.flower.tests.unit.read import yaml_file

ROOT = Path(__file__).parents[3]
CONDITIONS = ("when", "until", "failed_when", "changed_when", "that")
FILES = sorted([*ROOT.glob("roles/*/tasks/*.yml"), *ROOT.glob("roles/*/vars/*.yml"), *ROOT.glob("roles/*/defaults/*.yml"),
                *ROOT.glob("playbooks/*.yml"), *ROOT.glob("playbooks/parts/*.yml")])  # fmt: skip


def switches() -> set[str]:
    """Names of all options of roles that are true or false."""
    found = set()
    for path in ROOT.glob("roles/*/meta/argument_specs.yml"):
        for entry in yaml_file(*path.relative_to(ROOT).parts)["argument_specs"].values():
            found |= {name for name, option in (entry.get("options") or {}).items() if option.get("type") == "bool"}
    return found


SWITCHES = switches()


def expressions(value: Any, key: str = "") -> Iterator[tuple[str, bool]]:
    """Templates of a YAML document, and whether each is a whole condition."""
    if isinstance(value, dict):
        for name, one in value.items():
            yield from expressions(one, str(name))
    elif isinstance(value, list):
        for one in value:
            yield from expressions(one, key)
    elif isinstance(value, str):
        if key in CONDITIONS and "{{" not in value:
            yield "{{ " + value + " }}", True
        elif "{{" in value:
            yield value, False


def operands(tree: nodes.Template, whole: bool) -> Iterator[nodes.Node]:
    """What is taken for true or false."""
    if whole:
        for output in tree.find_all(nodes.Output):
            yield from output.nodes
    for one in tree.find_all((nodes.And, nodes.Or)):
        yield from (one.left, one.right)
    for one in tree.find_all(nodes.Not):
        yield one.node
    for one in tree.find_all(nodes.CondExpr):
        yield one.test


def fault(node: nodes.Node) -> str:
    """The name of a switch that is used as it is; empty for none."""
    while isinstance(node, nodes.Filter) and node.name in ("default", "d"):
        given = node.args[0] if node.args else None
        node = node.node
        if isinstance(given, nodes.Const) and isinstance(given.value, bool):
            return getattr(node, "name", None) or getattr(node, "attr", "")
    return node.name if isinstance(node, nodes.Name) and node.name in SWITCHES else ""


def test_a_switch_in_a_condition_is_made_boolean():
    environment = jinja2.Environment(extensions=["jinja2.ext.do"])
    bare = set()
    for path in FILES:
        for template, whole in expressions(yaml_file(*path.relative_to(ROOT).parts)):
            bare |= {(str(path.relative_to(ROOT)), name) for name in map(fault, operands(environment.parse(template), whole)) if name}
    assert bare == set(), "without | bool"
