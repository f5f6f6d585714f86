# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Types of the fields of a specification, each with the function that converts Ansible's values.

A specification is a frozen dataclass, read once by its C(parse); what is behind it reads attributes and converts nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Annotated, Any, TypeVar, get_type_hints

from ..base.values import Object, boolean, compact, integer, text
from ..pki import certificates

Kind = TypeVar("Kind", bound="Parsed")


def _amounts(value: Any) -> Object:
    given = value or {}
    return compact(
        {part: {k: text(v) for k, v in sorted((given.get(part) or {}).items())} for part in ("limits", "requests")}
    )


def merge_env(*lists: Iterable[Mapping[str, Any]]) -> list[Object]:
    """Lists of EnvVar merged by name; a later entry replaces an earlier one in its place."""
    merged: dict[str, Object] = {}
    for entries in lists:
        for entry in entries:
            item = {"name": entry["name"]}
            if entry.get("valueFrom") is not None:
                item["valueFrom"] = entry["valueFrom"]
            else:
                item["value"] = text(entry.get("value"))
            merged[entry["name"]] = item
    return list(merged.values())


def _ordered(value: Any) -> list[Any]:
    """Entries of which the order has no meaning, in one that depends on nothing but them."""
    return sorted(value or [], key=lambda entry: json.dumps(entry, sort_keys=True, default=text))


Text = Annotated[str, text]
Certificates = Annotated[str, lambda value: "".join(certificates.split(text(value)))]  # PEM as every program reads it
Flag = Annotated[bool, boolean]
Number = Annotated[int, integer]
MaybeNumber = Annotated[int | None, integer]
Limit = Annotated[int | None, lambda value: integer(value) or None]  # 0: none
Texts = Annotated[list[str], lambda value: [text(entry) for entry in value or []]]
Labels = Annotated[dict[str, str], lambda value: {key: text(entry) for key, entry in (value or {}).items()}]
Listed = Annotated[list[Any], lambda value: list(value or [])]
Unordered = Annotated[list[Any], _ordered]  # peers of policies, networks: what they allow adds up
UnorderedTexts = Annotated[list[str], lambda value: sorted(text(entry) for entry in value or [])]
Mapped = Annotated[Object, lambda value: dict(value or {})]
Amounts = Annotated[Object, _amounts]  # ResourceRequirements with every quantity as text: the API server stores text
Env = Annotated[list[Object], lambda value: merge_env(value or [])]


class Parsed:
    """Base of the dataclasses."""

    @classmethod
    @cache
    def _readers(cls) -> dict[str, Callable[[Any], Any]]:
        hints = get_type_hints(cls, include_extras=True)
        return {name: hint.__metadata__[0] for name, hint in hints.items() if hasattr(hint, "__metadata__")}

    @classmethod
    def parse(cls: type[Kind], given: Mapping[str, Any], **more: Any) -> Kind:
        """Read variables without faults. A field that is not set, or empty, has its default.

        Args:
            given: name of a field -> value, from Ansible. Other names are ignored.
            more: fields that are read already.

        Raises:
            ValueError: a number is not one.
        """
        made = {
            name: value
            for name, read in cls._readers().items()
            if name in given and name not in more and (value := read(given[name])) not in (None, "")
        }
        return cls(**made, **more)
