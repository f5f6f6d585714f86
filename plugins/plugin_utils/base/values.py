# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Values as Ansible hands them over, and as Kubernetes wants them. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

_INTEGER = re.compile(r"[+-]?[0-9]{1,19}")


def compact(mapping: Mapping[str, Any]) -> dict[str, Any]:
    """The mapping without empty entries (None, empty text, empty list, empty mapping); keeps 0 and False."""
    return {k: v for k, v in mapping.items() if v is not None and v != "" and v != [] and v != {}}


def integer(value: Any) -> int | None:
    """An int, or None for a value that means "not set".

    Ansible releases before 2.19 hand templated numbers over as text and a templated null as an empty string.

    Raises:
        ValueError: text of anything but an optional sign and ASCII digits, which are what YAML and Kubernetes read as
            an integer; Python itself takes "1_0" and the digits of other scripts.
    """
    if value is None or (isinstance(value, str) and value.strip().lower() in ("", "none", "null")):
        return None
    if isinstance(value, str) and not _INTEGER.fullmatch(value.strip()):
        raise ValueError(f"{value[:40]!r} is not an integer")
    try:
        return int(value)
    except OverflowError as error:  # infinity, which YAML writes as .inf
        raise ValueError(f"{value} is not an integer") from error


def boolean(value: Any) -> bool:
    """A bool, also from the text of a templated one."""
    if isinstance(value, str):
        return value.strip().lower() in ("true", "yes", "on", "1", "y", "t")
    return bool(value)


def text(value: Any) -> str:
    """Text for a label, annotation or environment value: true/false as Kubernetes users write them."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def natural(name: str) -> tuple[int, int, str]:
    """Sort key that puts 2 before 10 and numbers before names."""
    return (0, int(name), "") if name.isdecimal() else (1, 0, name)
