# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Results of several lists of objects as one. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from .engine import Result


def merged(results: Iterable[Result]) -> dict[str, Any]:
    """What became of all objects, in the format of C(apply), without C(msg)."""
    listed = list(results)
    return {
        "changed": any(one.changed for one in listed),
        "objects": [entry for one in listed for entry in one.objects],
        "diff": [entry for one in listed for entry in one.diff],
        "warnings": [word for one in listed for word in one.warnings],
        "requests": sum(one.requests for one in listed),
    }
