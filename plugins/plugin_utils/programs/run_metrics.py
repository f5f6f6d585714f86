# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The metrics of a run, from what Flower's strategies log in each round. Pure.

Flower stores no metrics of a run; its strategies (C(flwr.serverapp.strategy)) log them::

    INFO :      [ROUND 2/3]
    INFO :      aggregate_train: Received 3 results and 0 failures
    INFO :          └──> Aggregated MetricRecord: {'loss': 0.62}
    INFO :      aggregate_evaluate: Received 3 results and 0 failures
    INFO :          └──> Aggregated MetricRecord: {'accuracy': 0.63}
    INFO :      Global evaluation
    INFO :          └──> MetricRecord: {'accuracy': 0.61}

The exporter of metrics runs a copy of this file: it imports nothing but the standard library.
"""

from __future__ import annotations

import ast
import math
import re
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

_ROUND = re.compile(r"\[ROUND (\d{1,9})(?:/\d+)?\]")
_PHASE = re.compile(r"\b(?:aggregate_(train|evaluate): Received|(Global evaluation)$)")
# An app may print the beginning of one again and again: each attempt to match ends at the next brace.
_METRICS = re.compile(r"(Aggregated )?MetricRecord: (\{[^{}]*\})$")
_INITIAL = re.compile(r"Initial global evaluation results: (\{[^{}]*\})$")
CURVES, POINTS = 8, 100
_OF_METRICS = (_ROUND, _PHASE, _METRICS, _INITIAL)
_KEPT = 1000  # lines with metrics, of a log that arrives in pieces
_LONGEST = 20_000  # characters of a line
_STYLE = re.compile(r"\x1b\[[0-9;]*m")
_LARGEST = 2**63  # integers from here on are no metrics: of some, Python cannot make a float
_NO_NUMBER = re.compile(r"(?<![\w'\"])(?:-?inf|nan)\b")


def last_metrics(lines: Iterable[str]) -> dict[str, Any]:
    """The last metrics in a log, by where they were measured.

    Args:
        lines: of the log, cleaned.

    Returns:
        C(round), and of C(train), C(evaluate) (both at the SuperNodes, aggregated) and C(server) (in the ServerApp) the last one of each
        that is there; empty for an app that logs none. A number that is not finite is None.
    """
    found: dict[str, Any] = {}
    for entry in _entries(lines):
        found |= entry
    return found


def curves(lines: Iterable[str]) -> dict[str, list[tuple[int, float]]]:
    """The metrics of all rounds.

    Args:
        lines: of the log, cleaned.

    Returns:
        Place and name of a metric, as in C(evaluate accuracy) -> round and value, of at most C(CURVES) metrics that are finite numbers in
        two rounds or more; of a long run C(POINTS) rounds, the first and the last one among them.
    """
    found: dict[str, dict[int, float]] = {}
    for entry in _entries(lines):
        number = entry.pop("round")
        for place, values in entry.items():
            for name, value in values.items():
                if isinstance(value, (int, float)) and math.isfinite(value):
                    found.setdefault(f"{place} {name}", {})[number] = float(value)
    drawn = {name: sorted(points.items()) for name, points in sorted(found.items()) if len(points) > 1}
    return {name: _thinned(points) for name, points in list(drawn.items())[:CURVES]}


class Progress:
    """The round that a run is at, and the last values of its metrics, from a log that arrives in pieces."""

    def __init__(self) -> None:
        self._rest = ""
        self._kept: deque[str] = deque(maxlen=_KEPT)

    def feed(self, text: str) -> None:
        """Take a piece of the log. Lines that say nothing of metrics are dropped."""
        *lines, self._rest = (self._rest + text).split("\n")
        self._rest = self._rest[-_LONGEST:]
        found = (_STYLE.sub("", line).rstrip() for line in lines if len(line) <= _LONGEST)
        self._kept.extend(line for line in found if any(one.search(line) for one in _OF_METRICS))

    def round(self) -> int:
        """The last round that began; 0 before the first."""
        return next((int(match[1]) for line in reversed(self._kept) if (match := _ROUND.search(line))), 0)

    def values(self) -> dict[str, float]:
        """Place and name of a metric, as in C(evaluate accuracy) -> its last value, of at most C(CURVES) that are finite numbers."""
        found = {
            f"{place} {name}": float(value)
            for entry in _entries(self._kept)
            for place, values in entry.items()
            if isinstance(values, dict)
            for name, value in values.items()
            if isinstance(value, (int, float)) and math.isfinite(value)
        }
        return dict(sorted(found.items())[:CURVES])


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    if len(points) <= POINTS:
        return points
    return [points[round(step * (len(points) - 1) / (POINTS - 1))] for step in range(POINTS)]


def _entries(lines: Iterable[str]) -> Iterator[dict[str, Any]]:
    """Round and values of each line with metrics, by where they were measured."""
    number, phase = 0, "train"
    for line in lines:
        entry: dict[str, Any] = {}
        if match := _ROUND.search(line):
            number, phase = int(match[1]), "train"
        elif match := _PHASE.search(line):
            phase = match[1] or "server"
        elif match := _INITIAL.search(line):
            entry = _entry("server", 0, match[1])
        elif match := _METRICS.search(line):
            entry = _entry(phase if match[1] else "server", number, match[2])
        if entry:
            yield entry


def _entry(phase: str, number: int, text: str) -> dict[str, Any]:
    try:
        value = ast.literal_eval(_NO_NUMBER.sub("None", text))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return {}  # an app may print anything
    if not isinstance(value, dict) or not all(map(_is_metric, value.values())):
        return {}
    shown = {name: one for name, one in value.items() if _is_name(name)}
    return {"round": number, phase: shown} if shown or not value else {}


def _is_name(name: Any) -> bool:
    """Whether it can be shown: half of a pair of surrogates, for one, cannot be encoded."""
    return isinstance(name, str) and name.isprintable()


def _is_metric(value: Any) -> bool:
    return all(map(_is_number, value)) if isinstance(value, list) else _is_number(value)


def _is_number(value: Any) -> bool:
    return value is None or isinstance(value, float) or (isinstance(value, int) and abs(value) < _LARGEST)
