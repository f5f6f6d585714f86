# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Objects as the text of a YAML file, and as the file that a GitOps controller applies. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import yaml

Object = Mapping[str, Any]

HEADER = "# Written by federated.flower.render"
_WORDS = (
    HEADER + " for {host} of the federation {federation}, namespace {namespace}.\n"
    "# It is what federated.flower.site would apply there, without secrets, data, and what playbooks change.\n"
    "# Do not edit it: change the inventory, and render again.\n"
)
_WHOSE = re.compile(re.escape(HEADER) + r" for .+ of the federation (?P<federation>\S+), namespace (?P<namespace>\S+)\.")

# Text that Go's readers of YAML take for a number, a date or a boolean where it has no quotes, and PyYAML does not: 1e3, 0089, 0o17, 2026-1-2, y.
_NO_TEXT = re.compile(
    r"[-+]?((\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|0[oO][0-7]+|0[bB][01]+|0[xX][0-9a-fA-F]+)|[0-9]{4}-[0-9]{1,2}-[0-9]{1,2}([Tt ][0-9:.+Z-]*)?|[yYnN]"
)


def manifest(objects: Iterable[Mapping[str, Any]]) -> str:
    """One document for each object: text of several lines as a block, nothing by reference."""
    return yaml.dump_all(objects, Dumper=_Dumper, sort_keys=False, explicit_start=True, width=110)


class _Dumper(yaml.SafeDumper):
    def ignore_aliases(self, data: Any) -> bool:
        return True

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        return super().increase_indent(flow, False)


def _text(dumper: yaml.SafeDumper, value: str) -> yaml.ScalarNode:
    style = "|" if "\n" in value else "'" if _NO_TEXT.fullmatch(value.replace("_", "")) else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)


_Dumper.add_representer(str, _text)


def text(host: str, federation: str, namespace: str, objects: Iterable[Object]) -> str:
    """Content of the file of a host.

    Args:
        federation: its name, and
        namespace: that of its hub, which tell whose file it is.
    """
    return _WORDS.format(host=host, federation=federation, namespace=namespace) + manifest(objects)


def fault(found: str, host: str, federation: str, namespace: str) -> str:
    """Why a file is not to be overwritten: the end of a sentence that starts with its path; empty if it may be.

    Two federations may have hosts of the same name. What one of them has in the cluster would leave the file, and its controller
    would delete it.

    Args:
        found: content of the file.
        host: whose file it would be, in this federation.
        federation: its name.
        namespace: that of its hub.
    """
    named = _WHOSE.match(found)
    if not named:
        return "was not written by federated.flower.render, and is not overwritten. Move it, or choose another directory."
    if (named["federation"], named["namespace"]) == (federation, namespace):
        return ""
    return (
        f"has the objects of the federation {named['federation']} in namespace {named['namespace']}, and is not overwritten with those of {federation} in "
        f"namespace {namespace}: a GitOps controller would delete what the other one has at {host}. Render each federation into a directory of "
        "its own (flower_render_directory), or delete the file if that federation is no longer there."
    )
