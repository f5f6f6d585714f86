# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Text of a node config whose type is another one than it seems to have. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ..spec.pool_spec import PoolSpec

_TYPED = re.compile(r"[+-]?(0|[1-9][0-9]*)|true|false")  # what becomes an integer or a boolean
_SEEMS = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")  # a number that stays text, such as 1e-4, which YAML reads as text


def warnings(pools: Iterable[PoolSpec]) -> list[str]:
    """A sentence for each pool with such text, with the form that forces the type; never a value."""
    said = []
    for pool in pools:
        texts = {str(key): value.strip() for key, value in pool.node_config.items() if isinstance(value, str)}
        typed = [key for key, value in texts.items() if _TYPED.fullmatch(value)]
        kept = [key for key, value in texts.items() if _SEEMS.fullmatch(value) and key not in typed]
        parts = [f"the text of {', '.join(typed)} becomes a number or a boolean (to keep text: {{string: TEXT}})"] if typed else []
        parts += [f"{', '.join(kept)} stays text, though it looks like a number (for a number: without quotes, with a point, as 1.0e-4)"] if kept else []
        said += [f"node_config of pool {pool.name}: {'; '.join(parts)}"] if parts else []
    return said
