# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Ansible's values as plain JSON data, the one way to write them, their hashes, and the programs that are sent as they are."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import Any

#: Texts of single values that a vault protects, as far as they were read in this process.
VAULTED: set[str] = set()
_SHORTEST = 4  # characters of a text that is hidden; shorter ones are part of many words

_FOLDER = Path(__file__).resolve().parents[1] / "programs"


def to_json_data(value: Any) -> Any:
    """Plain JSON data from Ansible's values (tagged and lazy types, values of a vault, dates from unquoted YAML, …)."""
    return json.loads(json.dumps(value, default=_jsonable))


def without_vaulted(value: Any) -> Any:
    """Data for people, without the texts that a vault protects."""
    hidden = sorted((text for text in VAULTED if len(text) >= _SHORTEST), key=len, reverse=True)
    return map_texts(value, lambda text: reduce(lambda shown, one: shown.replace(one, "(a value of the vault)"), hidden, text))


def map_texts(value: Any, change: Callable[[str], str]) -> Any:
    """Plain data with each of its texts changed; keys stay."""
    if isinstance(value, Mapping):
        return {key: map_texts(entry, change) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [map_texts(entry, change) for entry in value]
    return change(value) if isinstance(value, str) else value


def read_vaulted(value: Any) -> None:
    """Read the values of a vault at any depth, so that C(without_vaulted) knows them."""
    if is_vaulted(value):
        to_json_data(value)
    elif isinstance(value, (Mapping, list)):
        for entry in value.values() if isinstance(value, Mapping) else value:
            read_vaulted(entry)


def is_vaulted(value: Any) -> bool:
    """Whether ansible-vault encrypted it by itself: it has the methods of text and is none, in any ansible-core."""
    return not isinstance(value, str) and hasattr(value, "casefold")


def _jsonable(value: Any) -> Any:
    if is_vaulted(value):
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


def canonical(value: Any) -> str:
    """The one way to write a value as JSON: sorted keys, no blanks, ASCII."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True)


def digest(value: Any) -> str:
    """SHA-256 of the canonical JSON, as hex."""
    return hashlib.sha256(canonical(value).encode("ascii")).hexdigest()


def program_text(name: str) -> str:
    """The text of a program. C(name): of its file."""
    return (_FOLDER / name).read_text(encoding="utf-8")
