# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The run config of one run: checked against the app, and written so that every value arrives as it is.

It is sent as a TOML file (C(flwr run --run-config FILE.toml)). On the command line Flower cuts it with a regular expression
that has no escapes, and silently drops what does not match (see M(federated.flower.node_config)).
"""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping
from typing import Any

import tomllib

from ...module_utils import flower_toml
from .app import flatten
from .cli import FlowerError

Value = bool | int | float | str

_BOOLEANS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}
_NUMBER = re.compile(r"[+-]?[0-9][0-9A-Fa-f_xob.+-]*|[+-]?(inf|nan)")  # what TOML reads as one, and dates
_SHOWN = 80


def check(wanted: Mapping[str, Any], defaults: Mapping[str, Any], app: str) -> dict[str, Value]:
    """Return the values for a run, nested tables flattened.

    A text where the app's own value is a number or a boolean is read as one: variables that come from C(-e name=value), a survey or a
    template are always text.

    Raises:
        FlowerError: a name that the app does not have, a value that a run config cannot have, or a text in place of a number or boolean.
    """
    flat = flatten(wanted)
    unknown = sorted(set(flat) - set(defaults))
    if unknown:
        raise FlowerError(
            f"the app {app} has no run config {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(sorted(defaults)) or 'none at all'}"
        )
    found: dict[str, Value] = {}
    for name, given in flat.items():
        value = found[name] = convert_text(name, given, defaults[name])
        why = ""
        if not isinstance(value, (bool, int, float, str)):
            why = f"a value must be a string, a number or a boolean, not {type(value).__name__}"
        elif isinstance(value, float) and not math.isfinite(value):
            why = f"{value} is not a finite number"
        elif isinstance(value, int) and not flower_toml.INT_MIN <= value <= flower_toml.INT_MAX:
            why = f"{value} does not fit into 64 bits"
        elif isinstance(value, str) and flower_toml.find_surrogate(value) >= 0:
            why = "the text contains half a character (a lone surrogate), which TOML cannot write"
        if why:
            raise FlowerError(f"run_config {name}: {why}")
    return found


def convert_text(name: str, value: Any, default: Any) -> Any:
    """Read a text as the type of the default, if that is a number or a boolean: for Python, every text is true.

    Raises:
        FlowerError: the text is none.
    """
    if not isinstance(value, str) or not isinstance(default, (bool, int, float)):
        return value
    given = value.strip()
    if isinstance(default, bool):
        if given.lower() in _BOOLEANS:
            return _BOOLEANS[given.lower()]
    elif _NUMBER.fullmatch(given):
        with contextlib.suppress(ValueError):  # such as 007, or one of thousands of digits
            number = tomllib.loads(f"number = {given}")["number"]
            if isinstance(number, (int, float)):  # no date
                return number
    kind = "a boolean (true or false)" if isinstance(default, bool) else "a number like 5, 0.5 or 1e-3"
    raise FlowerError(f"run_config {name}: {value[:_SHOWN]!r} is not {kind}, and the app's own value, {flower_toml.literal(default)}, is one")


def read(text: str) -> dict[str, Value]:
    """Read what C(write) wrote.

    Raises:
        ValueError: it is other text.
    """
    return tomllib.loads(text)


def write(config: Mapping[str, Value]) -> str:
    """Write values as a TOML file; every name is quoted, so a dot in it stays part of it and Flower finds the same."""
    return "".join(f"{flower_toml.literal(name)} = {flower_toml.literal(value)}\n" for name, value in config.items())
