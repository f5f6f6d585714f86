# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The text of C(flower-supernode --node-config): how to write a value, and how Flower reads the whole.

Flower (flwr.common.config.parse_config_args, the same from 1.23 to 1.42) cuts the text with one regular expression
and reads the pieces as the lines of a TOML document. Two things follow: the expression has no backslash, so an
inner C(") must be written C(\\u0022), and text it does not match is dropped without a word.
"""

from __future__ import annotations

import re
from typing import Any

try:
    import tomllib
except ImportError:  # Python < 3.11: the writer works, the reader reports what is missing
    tomllib = None  # type: ignore[assignment]

_PAIR = re.compile(r"(\S+?)=('[^']*'|\"[^\"]*\"|\S+)")

# A bare TOML key, or several joined by dots. A quoted key is TOML too, but Flower's expression cuts it at a space.
KEY = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")

# Flower keeps an integer as sint64 on the wire and in Python as TOML's type.
INT_MIN, INT_MAX = -(2**63), 2**63 - 1

# Control characters (TOML forbids most), line separators, and marks that change how a line is shown: written as
# escapes they have the same value, and are visible in the pod template.
_ESCAPED = re.compile(
    '[\\\\"\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ufffe\uffff]'
)


def string_content(text: str) -> str:
    """Return text as it stands between the quotes of a TOML basic string, for Flower's reader.

    The text must not contain lone surrogates: TOML cannot write them (see C(find_surrogate)).
    """
    return _ESCAPED.sub(lambda found: r"\\" if found[0] == "\\" else f"\\u{ord(found[0]):04x}", text)


def find_surrogate(text: str) -> int:
    """Return the index of the first lone surrogate, which no UTF-8 text can carry; -1 if there is none."""
    found = re.search("[\ud800-\udfff]", text)
    return found.start() if found else -1


def literal(value: bool | int | float | str) -> str:
    """Return a value as TOML. Floats must be finite, integers within 64 bits; subclasses are written as their base."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return int.__repr__(value)
    if isinstance(value, float):
        return float.__repr__(value)
    return f'"{string_content(value)}"'


def read(text: str | None) -> dict[str, bool | int | float | str]:
    """Return the node config that Flower reads from an argument, nested tables flattened with dots.

    Raises ValueError where flower-supernode would exit with "invalid format", RuntimeError before Python 3.11.
    The reading of a file (an argument that ends in C(.toml)) is omitted: a written config never ends like that.
    """
    if tomllib is None:
        raise RuntimeError("reading a node config needs Python 3.11 or newer (tomllib)")
    pairs = _PAIR.findall(text or "")
    return _flatten(tomllib.loads("\n".join(f"{key} = {value}" for key, value in pairs)))


def _flatten(table: dict[str, Any], parent: str = "") -> dict[str, bool | int | float | str]:
    flat: dict[str, bool | int | float | str] = {}
    for key, value in table.items():
        name = f"{parent}.{key}" if parent else key
        if isinstance(value, dict):
            flat.update(_flatten(value, name))
        elif isinstance(value, (bool, int, float, str)):
            flat[name] = value
        else:
            raise ValueError(f"the value of {name} is neither bool, int, float nor str")
    return flat
