# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A metric over the rounds of a run as a line, and in words. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

WIDTH, HEIGHT = 240, 60
_EDGE = 4  # so that the line is not cut off


def drawn(name: str, points: Sequence[Sequence[float]]) -> dict[str, Any]:
    """One curve.

    Args:
        name: of the metric, with the place where it was measured.
        points: round and value, by round; two or more.

    Returns:
        C(name), C(points) (of an SVG polyline in a box of C(WIDTH) and C(HEIGHT)), C(x) and C(y) of its last point, C(last) (its value) and
        C(words), which say the same.
    """
    rounds, values = [point[0] for point in points], [point[1] for point in points]
    low, high = min(values), max(values)
    places = [
        (
            round(_EDGE + (WIDTH - 2 * _EDGE) * _share(number, rounds[0], rounds[-1]), 1),
            round(HEIGHT - _EDGE - (HEIGHT - 2 * _EDGE) * _share(value, low, high), 1),
        )
        for number, value in zip(rounds, values)
    ]
    words = (
        f"from {values[0]:.4g} in round {rounds[0]:g} to {values[-1]:.4g} in round {rounds[-1]:g}, lowest {low:.4g}, highest {high:.4g}"
    )
    line = " ".join(f"{x:g},{y:g}" for x, y in places)
    return {"name": name, "points": line, "x": places[-1][0], "y": places[-1][1], "last": f"{values[-1]:.4g}", "words": words}


def _share(value: float, low: float, high: float) -> float:
    """Where a value is between two others; in the middle if they are the same. Halves, so that the distance of the largest numbers is finite."""
    span = high / 2 - low / 2
    return min((value / 2 - low / 2) / span, 1.0) if span else 0.5
