# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The keys and values of a node_config: which are valid, and how they are written in the pod template."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from . import flower_toml, kubelet
from .node_config_faults import Fault, nearest, shown

INDEX_VARIABLE = "FLOWER_INDEX"
NODE_VARIABLE = "FLOWER_NODE_NAME"

# Placeholders and the parameter with their value; {node} and the per-pod number need none.
_PARAMETER = {
    "replicas": "replicas",
    "pool": "pool",
    "cluster": "cluster",
    "region": "region",
    "namespace": "namespace",
    "federation": "federation",
    "partition": "first_partition",
    "partitions": "partitions",
}
# Not for a DaemonSet, whose pods have no number.
_NUMBERS = frozenset({"index", "replicas", "partition", "partitions"})
POOL_COUNT = frozenset({"index", "replicas"})

# Braces around an identifier, or around "dataset:NAME". Blanks inside are treated as a mistake ("{ index }"), not for text.
# The lookbehind keeps it linear: a lazy repetition before blanks would be quadratic in their number.
BRACES = re.compile(r"\{\s*([^\W\d]\w*|(?i:dataset)\s*:[^{}]*(?<!\s))\s*\}")
DATASET = "dataset:"
_INTEGER = re.compile(r"[+-]?(?:0|[1-9][0-9]*)")


class Reader:
    """Turns the values of one node_config into template text and collects what is wrong with them."""

    def __init__(self, mode: str, given: Mapping[str, Any]) -> None:
        self.daemonset = mode == "DaemonSet"
        self.given = given
        self.faults: list[Fault] = []
        self.used: set[str] = set()
        # Where each way of counting was met first: (placeholder, key, value, position).
        self._first: dict[str, tuple[str, str, Any, int]] = {}
        self.known = {"node"} | {name for name, by in _PARAMETER.items() if given[by] not in (None, "")}
        datasets = given.get("datasets")
        self.datasets = dict(datasets) if isinstance(datasets, Mapping) else {}
        self.known |= {f"{DATASET}{name}" for name in self.datasets}
        # Without replicas there is a separate fault, not one of the placeholder.
        self.known = self.known - _NUMBERS if self.daemonset else self.known | POOL_COUNT

    def read(self, node_config: Mapping[Any, Any]) -> list[tuple[str, str]]:
        """Return (key, template text of the value) in the order of the keys' bytes."""
        pairs: list[tuple[str, str]] = []
        seen: dict[str, Any] = {}
        for key, value in sorted(node_config.items(), key=lambda item: _key_text(item[0])):
            name = _key_text(key)
            if self._key_fits(key, name, value, seen):
                seen[name] = value
            rendered = self._value(name, value)
            if rendered is not None:
                pairs.append((name, rendered))
        self._mixed()
        return pairs

    def _fault(self, code: str, text: str, key: str, value: Any, position: int | None = None, **more: Any) -> None:
        self.faults.append(Fault(code, text, key=key, value=value, position=position, **more))

    def _key_fits(self, key: Any, name: str, value: Any, seen: Mapping[str, Any]) -> bool:
        rule = "a key is letters, digits, '_' and '-' of ASCII, parts joined by single dots"
        if not isinstance(key, (str, int)) or isinstance(key, bool):
            self._fault("invalid-key", f"a key must be a string: put it in quotes; {rule}", name, value)
            return False
        if not flower_toml.KEY.fullmatch(name):
            good = re.match(r"(?:[A-Za-z0-9_-]+\.)*[A-Za-z0-9_-]*", name)
            end = good.end() if good else 0
            if not name:
                reason = "the key is empty"
            elif end == len(name):
                reason = "the key ends with a dot"
            elif name[end] == ".":
                reason = "a dot with nothing before it"
            elif BRACES.search(name):
                reason = f"{name[end]!r} cannot be in a key: placeholders are for values"
            else:
                reason = f"{name[end]!r} cannot be in a key"
            self._fault("invalid-key", f"{reason}; {rule}", name, value, min(end, max(len(name) - 1, 0)) + 1)
            return False
        if name in seen:
            self._fault("key-conflict", f"the key {name!r} is set twice", name, value)
            return False
        parts = name.split(".")
        for end in range(1, len(parts)):
            table = ".".join(parts[:end])
            if table in seen:
                reason = f"{table!r} has the value {shown(seen[table])}, so it cannot be the table of {name!r} as well; rename one of the two"
                self._fault("key-conflict", reason, name, value)
                break
        return True

    def _value(self, key: str, value: Any) -> str | None:
        """Return the template text of one value, None after a fault."""
        forced = isinstance(value, Mapping)
        text: Any = value
        if forced:
            if len(value) != 1 or "string" not in value:
                reason = "a dictionary; {string: TEXT} is the only one allowed, and nested keys are joined with dots"
                self._unsupported(key, value, reason)
                return None
            text = value["string"]
            if isinstance(text, int) and not isinstance(text, bool) and text.bit_length() <= 64:
                text = str(int(text))
            if not isinstance(text, str):
                self._unsupported(key, value, "'string' must be text: put it in quotes")
                return None
        if isinstance(text, str):
            return self._text(key, value, text, forced)
        if isinstance(text, int):  # bool too
            if not flower_toml.INT_MIN <= text <= flower_toml.INT_MAX:
                self._unsupported(key, value, "an integer beyond 64 bits; write it as {string: '…'}")
                return None
        elif isinstance(text, float):
            if not math.isfinite(text):
                self._unsupported(key, value, "a number that JSON cannot represent; write it as a string")
                return None
        else:
            kind = "no value" if text is None else f"a value of type {type(text).__name__}"
            self._unsupported(key, value, f"{kind}; Flower accepts strings, integers, floats and booleans")
            return None
        return flower_toml.literal(text)

    def _unsupported(self, key: str, value: Any, reason: str) -> None:
        self._fault("unsupported-value", reason, key, value)

    def _text(self, key: str, value: Any, text: str, forced: bool) -> str | None:
        surrogate = flower_toml.find_surrogate(text)
        if surrogate >= 0:
            reason = "half of a surrogate pair, which is not valid in UTF-8 text"
            self._fault("unsupported-value", reason, key, value, surrogate + 1)
            return None
        found = list(BRACES.finditer(text))
        good = [self._placeholder(key, value, match) for match in found]
        if not all(good):
            return None
        if not forced and len(found) == 1 and found[0][0] == text and found[0][1] in _NUMBERS:
            return self._substitute(found[0][1])
        if not forced and not found:
            typed = _typed(text)
            if typed is not None:
                return flower_toml.literal(typed)
        pieces: list[str] = []
        end = 0
        for match in found:
            pieces.append(_quoted_part(text[end : match.start()]))
            pieces.append(self._substitute(match[1]))
            end = match.end()
        pieces.append(_quoted_part(text[end:]))
        return '"' + "".join(pieces) + '"'

    def _substitute(self, name: str) -> str:
        if name in ("index", "partition"):
            return kubelet.reference(INDEX_VARIABLE)
        if name == "node":
            return kubelet.reference(NODE_VARIABLE)
        if name.startswith(DATASET):
            return _quoted_part(self.datasets[name[len(DATASET) :]])
        return _quoted_part(str(self.given[_PARAMETER[name]]))

    def _placeholder(self, key: str, value: Any, match: re.Match[str]) -> bool:
        """Record the use of one placeholder; return False after a fault."""
        name, written, position = match[1], match[0], match.start() + 1
        if name in _NUMBERS and written == f"{{{name}}}":
            family = "pool" if name in POOL_COUNT else "fleet"
            self._first.setdefault(family, (name, key, value, position))
        if written == f"{{{name}}}" and name in self.known:
            self.used.add(name)
            return True
        listed = ", ".join(f"{{{known}}}" for known in sorted(self.known))
        if self.daemonset and name in _NUMBERS and written == f"{{{name}}}":
            reason = f"{written} is not for a DaemonSet, whose pods have no number; use {{node}} to distinguish them. Known here: {listed}"
            self._fault("placeholder-not-allowed-in-daemonset", reason, key, value, position, placeholder=written, nearest="{node}")
            return False
        best, close = nearest(name, self.known)
        if name.startswith(DATASET) and self.datasets:
            best, close = nearest(name[len(DATASET) :], self.datasets)
            best = f"{DATASET}{best}"
        suggestion = f"{{{best}}}"
        hint = f"did you mean {suggestion}?" if close else f"the nearest known one is {suggestion}."
        if name in _PARAMETER and written == f"{{{name}}}":
            hint = f"{_PARAMETER[name]} was not set; {hint}"
        if name.startswith(DATASET) and written == f"{{{name}}}":
            hint = f"there is no dataset {shown(name[len(DATASET) :])} here; {hint}"
        reason = f"unknown placeholder {written if written.isprintable() else repr(written)}; {hint} Known here: {listed}"
        self._fault("unknown-placeholder", reason, key, value, position, placeholder=written, nearest=suggestion)
        return False

    def _mixed(self) -> None:
        """Refuse a pool that counts inside itself and across the fleet: its pods have one number, not two."""
        if self.daemonset or len(self._first) < 2:
            return
        name, key, value, position = self._first["fleet"]
        other, other_key, other_value, other_position = self._first["pool"]
        text = (
            f"{{{name}}} counts across the fleet, but {{{other}}} in key {other_key!r}, value {shown(other_value)}, "
            f"position {other_position}, counts inside the pool; a pool counts one way: use {{index}} and "
            "{replicas}, or {partition} and {partitions}"
        )
        twin = {"partition": "{index}", "partitions": "{replicas}"}[name]
        # First, because it is more helpful than other faults of the same values.
        self.faults.insert(0, Fault("mixed-counting", text, key, value, position, placeholder=f"{{{name}}}", nearest=twin))


def _key_text(key: Any) -> str:
    return str(key).lower() if isinstance(key, bool) else str(key)


def _quoted_part(text: str) -> str:
    """Return text for between quotes in the argument of the pod template."""
    return kubelet.escape(flower_toml.string_content(text))


def _typed(text: str) -> bool | int | None:
    """Return the replacement of a string without placeholders, None when it is not replaced."""
    if text in ("true", "false"):
        return text == "true"
    # No int64 has more than 19 digits and a sign, and Python refuses to read thousands of them.
    if len(text) <= 20 and _INTEGER.fullmatch(text):
        number = int(text)
        if flower_toml.INT_MIN <= number <= flower_toml.INT_MAX:
            return number
    return None
