# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Role variables of many hosts in one process. Independent of Ansible, except for a function that templates.

Ansible templates the variables of a role in every task, and every process that it forks compiles each expression again: 70 ms of
CPU for the role supernode and one host. The defaults of a role are pure expressions of a few variables, and most hosts of a fleet
give these the same values. So a default is evaluated once for each set of values of the variables that it uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

import jinja2
import jinja2.nodes

from ..base.plain_data import to_json_data

Templater = Callable[[Any], Any]

# What depends on more than the values of variables.
_IMPURE = frozenset(["lookup", "query", "q", "now", "vars", "omit"])
# Each value in them is templated when it is read.
_OF_ALL = frozenset(["hostvars", "vars"])
# The same for all hosts of an inventory, as long as a task runs; undef only fails, with a message of its own.
_CONSTANT = frozenset(["groups", "hostvars", "undef"])
_MARKS = ("{{", "{%", "{#")
_MISSING = ["undefined"]


@cache
def names_in(text: str) -> frozenset[str]:
    """Variables that a template uses.

    Raises:
        jinja2.TemplateSyntaxError: it is not a template.
    """
    parsed = jinja2.Environment().parse(text)
    return frozenset(node.name for node in parsed.find_all(jinja2.nodes.Name))


def strings_in(value: Any) -> Iterator[str]:
    """All strings in a value, keys of mappings included."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for key, entry in value.items():
            yield from strings_in(key)
            yield from strings_in(entry)
    elif isinstance(value, (list, tuple)):
        for entry in value:
            yield from strings_in(entry)


def is_template(value: Any) -> bool:
    """Whether a string in a value may be a template."""
    return any(mark in text for text in strings_in(value) for mark in _MARKS)


class Defaults:
    """The defaults of a role, and their values that were found so far, in one task.

    Args:
        values: defaults, not templated.
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.values = values
        self._templates = {name: value for name, value in values.items() if is_template(value)}
        self._names: dict[str, list[str] | None] = {}
        self._found: dict[tuple[str, str], Any] = {}

    def names(self, name: str, value: Any) -> list[str] | None:
        """The variables on which a value depends; None if it is not a default of this role, or depends on more."""
        if name not in self._templates or self._templates[name] != value:
            return None
        if name not in self._names:
            found = frozenset[str]().union(*map(names_in, strings_in(value)))
            self._names[name] = None if found & _IMPURE else sorted(found - _CONSTANT)
        return self._names[name]

    def shared(self, name: str, inputs: Mapping[str, Any], evaluate: Callable[[], Any]) -> Any:
        """The value of a default for these values of the variables that it uses."""
        key = (name, repr(inputs))
        if key not in self._found:
            self._found[key] = evaluate()
        found = self._found[key]
        return json.loads(json.dumps(found)) if isinstance(found, (dict, list)) else found


class HostVariables(Mapping[str, Any]):
    """The variables of one host, templated when they are read: plain data.

    Args:
        raw: its variables as a task of this host sees them, and the defaults, not templated.
        template: templates a value with the variables of this host.
        defaults: of the role whose variables are read.
    """

    def __init__(self, raw: Mapping[str, Any], template: Templater, defaults: Defaults) -> None:
        self._raw, self._template, self._defaults = raw, template, defaults
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        """The value of a variable.

        Raises:
            KeyError: there is no such variable.
        """
        if name not in self._known:
            value = self._raw[name]
            self._known[name] = self._evaluated(name, value) if is_template(value) else to_json_data(value)
        return self._known[name]

    def _evaluated(self, name: str, value: Any) -> Any:
        named = self._defaults.names(name, value)
        if named is None:
            return to_json_data(self._template(value))
        inputs = {one: [self[one]] if one in self else _MISSING for one in named}
        return self._defaults.shared(name, inputs, lambda: to_json_data(self._template(value)))

    def raw(self) -> Iterator[Any]:
        """The values of this host, not templated; without the variables that contain those of all hosts."""
        return (value for name, value in self._raw.items() if name not in _OF_ALL)

    def __iter__(self) -> Iterator[str]:
        return iter(self._raw)

    def __len__(self) -> int:
        return len(self._raw)

    def __contains__(self, name: object) -> bool:
        return name in self._raw
