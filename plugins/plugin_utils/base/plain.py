# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Plain JSON data from Ansible's values."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any


def plain(value: Any) -> Any:
    """Plain JSON data from Ansible's values (tagged and lazy types, dates from unquoted YAML, …)."""
    return json.loads(json.dumps(value, default=_jsonable))


def _jsonable(value: Any) -> Any:
    if getattr(value, "__ENCRYPTED__", False):
        return str(value)  # an inline vault of ansible-core before 2.19
    if isinstance(value, Mapping):
        return dict(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if isinstance(value, (set, frozenset, tuple)) or hasattr(value, "__iter__") and not isinstance(value, (str, bytes)):
        return list(value)
    return str(value)
