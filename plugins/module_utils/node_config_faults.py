# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of a node_config, and their messages."""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

# How much of a value a message shows on each side of the fault.
_AROUND = 40


@dataclass(frozen=True)
class Fault:
    """One fault of one input.

    code is one of the codes documented for the module; key and value are those of the user, None for a fault of a parameter;
    position counts characters of the value (of the key for invalid-key) from 1; placeholder and nearest are written
    with braces.
    """

    code: str
    text: str
    key: str | None = None
    value: Any = None
    position: int | None = None
    placeholder: str | None = None
    nearest: str | None = None
    parameter: str | None = None

    def message(self, pool: Any, cluster: Any) -> str:
        """Return the fault as one line with the place and the remedy."""
        where = f"pool {shown(pool)}"
        if cluster:
            where += f" (cluster {shown(cluster)})"
        if self.parameter is not None:
            return f"{where}: {self.parameter}: {self.text}"
        at = self.position or 1
        # In an invalid key it is the key that the position counts in.
        key_at, value_at = (at, 1) if self.code == "invalid-key" else (1, at)
        where += f": node_config key {shown(self.key, key_at)}, value {shown(self.value, value_at)}"
        if self.position is not None:
            where += f", position {self.position}"
        return f"{where}: {self.text}"


class NodeConfigError(ValueError):
    """A node_config that is refused, with all of its faults.

    Attributes: faults (list of Fault), code (that of all faults, or of the first where they differ), errors (the
    faults as plain dicts for a result). str() gives one line for each fault.
    """

    def __init__(self, faults: Sequence[Fault], *, pool: Any, cluster: Any) -> None:
        self.faults = list(faults)
        self.code = self.faults[0].code
        self.errors = [
            {name: _plain(value) for name, value in vars(fault).items() if name != "text"} | {"message": fault.message(pool, cluster)}
            for fault in self.faults
        ]
        super().__init__("\n".join(error["message"] for error in self.errors))


def nearest(name: str, known: Iterable[str]) -> tuple[str | None, bool]:
    """Return the known name most similar to the given one, and whether they are similar enough for a typing error."""
    ratios = {candidate: difflib.SequenceMatcher(None, name.lower(), candidate).ratio() for candidate in sorted(known)}
    best = max(ratios, key=lambda candidate: ratios[candidate], default=None)
    return best, best is not None and ratios[best] >= 0.6


def shown(value: Any, position: int = 1) -> str:
    """Return a value as a message shows it: quoted, on one line, long ones cut around the position (from 1)."""
    if not isinstance(value, str):
        plain = _plain(value)
        text = plain if isinstance(plain, str) else repr(plain)
        return text if len(text) <= 2 * _AROUND else text[: 2 * _AROUND] + "…"
    if len(value) <= 2 * _AROUND:
        return repr(str(value))
    start, end = max(0, position - 1 - _AROUND), position - 1 + _AROUND
    return ("…" if start else "") + repr(str(value[start:end])) + ("…" if end < len(value) else "")


def _plain(value: Any) -> Any:
    """Return a value that any result can carry: JSON types as they are, everything else as its text."""
    if value is None or isinstance(value, (bool, str)):
        # A lone surrogate would break the printing of the result.
        return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
    if isinstance(value, int) and value.bit_length() > 64:  # Python refuses to print very many digits
        return str(value) if value.bit_length() <= 4096 else f"a number of {value.bit_length()} bits"
    if isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    if isinstance(value, dict):
        return {str(_plain(key)): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)
