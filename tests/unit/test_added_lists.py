# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Lists are joined so that the message of a filter that failed is shown.

ansible-core 2.19 keeps a failure as a value until it is used, and Python does not add that value to a list: LIST + FAILED says
C(can only concatenate list (not "CapturedExceptionMarker") to list), [LIST, FAILED] | flatten says what failed.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import jinja2
import pytest
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar
from jinja2 import nodes

from ansible_collections.federated.flower.tests.unit.read import ROOT, trusted, yaml_file

_PARSER = jinja2.Environment(autoescape=False)
_CONDITIONS = ("when", "that", "until", "failed_when", "changed_when")
# Filters that do not fail on what a registered result or groups contain; default gives what it is given instead of a failure.
_HARMLESS = {"default", "list"}
_NUMBERS = {"length", "int"}
FILES = sorted([*ROOT.glob("playbooks/**/*.yml"), *ROOT.glob("roles/**/*.yml")])


def templates(value: Any) -> Iterator[str]:
    """All templates of a file, conditions among them."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from templates(one)
    elif isinstance(value, dict):
        for key, one in value.items():
            yield from templates(one)
            if key in _CONDITIONS:
                yield from (f"{{{{ {text} }}}}" for text in (one if isinstance(one, list) else [one]) if isinstance(text, str) and "{{" not in text)


def variables(value: Any) -> Iterator[tuple[str, Any]]:
    """Names and values of all maps of a file: variables of plays, tasks and roles are among them."""
    if isinstance(value, list):
        for one in value:
            yield from variables(one)
    elif isinstance(value, dict):
        yield from value.items()
        for one in value.values():
            yield from variables(one)


def may_fail(node: nodes.Node, known: dict[str, Any]) -> bool:
    """Whether an expression calls a filter, itself or through the variables of its file."""
    if isinstance(node, nodes.Filter) and (node.name in _NUMBERS or node.name not in _HARMLESS):
        return node.name not in _NUMBERS
    if isinstance(node, nodes.Name):
        others = {key: value for key, value in known.items() if key != node.name}
        return any(may_fail(_PARSER.parse(text), others) for text in templates(known.get(node.name)) if "{" in text)
    return any(may_fail(one, known) for one in node.iter_child_nodes())


def added(content: Any, known: dict[str, Any]) -> list[str]:
    """Templates that add what may fail to a list."""
    return [
        text
        for text in templates(content)
        if "+" in text and "{" in text
        for one in _PARSER.parse(text).find_all(nodes.Add)
        if not isinstance(one.right, nodes.List) and may_fail(one.right, known)
    ]


def test_no_list_is_added_to_what_a_filter_returns() -> None:
    found = {}
    for path in FILES:
        parts = path.relative_to(ROOT).parts
        shared = ROOT / "roles" / parts[1] / "vars" / "main.yml"
        content = yaml_file(*parts)
        known = dict(variables(content)) | (yaml_file(*shared.relative_to(ROOT).parts) if parts[0] == "roles" and shared.exists() else {})
        found["/".join(parts)] = added(content, known)
    assert {name: texts for name, texts in found.items() if texts} == {}


def test_the_message_of_the_filter_is_shown() -> None:
    known = trusted({"a": "{{ [1] | map('int') | list }}", "bad": "{{ 'x' | from_json }}", "joined": "{{ [a, bad] | flatten(1) }}"})
    with pytest.raises(Exception, match="from_json"):
        Templar(loader=DataLoader(), variables=known).template(trusted("{{ joined | length }}"))
