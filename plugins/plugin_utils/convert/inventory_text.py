# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Converted variables as the text of a file in group_vars, and the report as text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import yaml

HEADER = "# Written by federated.flower.convert."
_TEMPLATE = re.compile(r"\{\{|\{%|\{#")


class _Unsafe(str):
    """Text that Ansible must not treat as a template."""


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        """Each value stands where it is used."""
        return True


_Dumper.add_representer(_Unsafe, lambda dumper, value: dumper.represent_scalar("!unsafe", str(value), style="'"))


def _marked(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _marked(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_marked(inner) for inner in value]
    return _Unsafe(value) if isinstance(value, str) and _TEMPLATE.search(value) else value


def _one_line(name: str) -> str:
    """A name of the source, which may have any characters: after a line break, the rest would be a variable and no comment."""
    return "".join(one if one.isprintable() else " " for one in name)


def with_texts(converted: Mapping[str, Any]) -> dict[str, Any]:
    """The result of a conversion with what is written of it: C(text), the file of variables, and C(summary), the report for people."""
    return {**converted, "text": converted_text(converted), "summary": converted_report(converted)}


def converted_text(converted: Mapping[str, Any]) -> str:
    """A file of variables out of the result of a conversion, each under a comment with the parameters that it comes from."""
    parts = [f"---\n{HEADER}\n# It is written again by the next conversion: put your own variables into another file of this folder.\n"]
    for name, value in sorted(converted["variables"].items()):
        text = yaml.dump({name: _marked(value)}, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=150)
        parts.append("".join(f"# {_one_line(one)}\n" for one in dict.fromkeys(converted["sources"][name])) + text)
    return "\n".join(parts)


def converted_report(converted: Mapping[str, Any]) -> str:
    """The report for people: what was refused first. It has names and reasons, never a value."""
    rows = converted["report"]
    lines = [f"{converted['group']}: {len(rows)} parameters given"]
    for result in ("refused", "mapped", "met", "default"):
        found = [row for row in rows if row["result"] == result]
        if found:
            lines += ["", f"{result} ({len(found)}):"]
            lines += [f"  {_one_line(row['parameter'])}" + (f": {row['to'] or row['why']}" if row["to"] or row["why"] else "") for row in found]
    return "\n".join(lines) + "\n"
