# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""An object as it was once applied, found out from the live one: to change one value of it and nothing else. Pure.

C(metadata.managedFields) record which fields we own. An apply of just these,
with one value changed, leaves labels, set membership and everything of other managers as it is, and a later apply of the
whole object has nothing to change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .compare import owned_fields


def as_applied(live: Mapping[str, Any], manager: str) -> dict[str, Any] | None:
    """The fields of a live object that C(manager) applied, with its resourceVersion; None if it applied none.

    For objects with maps and scalars only (ConfigMap, Secret). The resourceVersion makes an apply fail with a conflict
    when someone changes the object in between.
    """
    owned = owned_fields(live, manager, live["apiVersion"])
    if owned is None:
        return None
    meta = {key: live["metadata"][key] for key in ("name", "namespace", "resourceVersion")}
    chosen = _chosen(live, owned)
    return {
        "apiVersion": live["apiVersion"],
        "kind": live["kind"],
        **chosen,
        "metadata": {**chosen.get("metadata", {}), **meta},
    }


def _chosen(value: Any, fields: Mapping[str, Any]) -> Any:
    names = [field[2:] for field in fields if field.startswith("f:")]
    if not names or not isinstance(value, Mapping):
        return value
    return {name: _chosen(value[name], fields[f"f:{name}"]) for name in names if name in value}
