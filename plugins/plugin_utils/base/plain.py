# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain JSON data from Ansible's values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

#: Texts of single values that a vault protects, as far as they were read in this process.
VAULTED: set[str] = set()
_SHORTEST = 4  # characters of a text that is hidden; shorter ones are part of many words


def plain(value: Any) -> Any:
    """Plain JSON data from Ansible's values (tagged and lazy types, values of a vault, dates from unquoted YAML, …)."""
    return json.loads(json.dumps(value, default=_jsonable))


def without_vaulted(value: Any) -> Any:
    """Data for people, without the texts that a vault protects."""
    if isinstance(value, str):
        for text in sorted(VAULTED, key=len, reverse=True):
            if len(text) >= _SHORTEST:
                value = value.replace(text, "(a value of the vault)")
        return value
    if isinstance(value, Mapping):
        return {key: without_vaulted(entry) for key, entry in value.items()}
    return [without_vaulted(entry) for entry in value] if isinstance(value, (list, tuple)) else value


def read_vaulted(value: Any) -> None:
    """Read the values of a vault at any depth, so that C(without_vaulted) knows them."""
    if _is_vaulted(value):
        plain(value)
    elif isinstance(value, (Mapping, list)):
        for entry in value.values() if isinstance(value, Mapping) else value:
            read_vaulted(entry)


def _is_vaulted(value: Any) -> bool:
    """Whether ansible-vault encrypted it by itself: it has the methods of text and is none, in any ansible-core."""
    return not isinstance(value, str) and hasattr(value, "casefold")


def _jsonable(value: Any) -> Any:
    if _is_vaulted(value):
        text = str(value)
        VAULTED.add(text)
        return text
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)) or hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        return list(value)
    return str(value)
