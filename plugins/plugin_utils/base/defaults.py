# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the API server adds to lists and maps that are one field to it: two managers share such a field only where it is the same as
a whole. Pure.

Source: Kubernetes' API reference (defaults), and Kubernetes documentation, «Server-Side Apply», «Merge strategy».
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Path = tuple[str, ...]

#: Kind, or "" for all; end of the path; value.
_DEFAULTS: tuple[tuple[str, Path, Any], ...] = (
    ("NetworkPolicy", ("ports", "protocol"), "TCP"),
    ("StatefulSet", ("volumeClaimTemplates", "apiVersion"), "v1"),
    ("StatefulSet", ("volumeClaimTemplates", "kind"), "PersistentVolumeClaim"),
    ("StatefulSet", ("volumeClaimTemplates", "status"), {"phase": "Pending"}),
    ("StatefulSet", ("volumeClaimTemplates", "spec", "volumeMode"), "Filesystem"),
    ("", ("fieldRef", "apiVersion"), "v1"),
    ("", ("serviceAccountToken", "expirationSeconds"), 3600),
    ("ValidatingWebhookConfiguration", ("rules", "scope"), "*"),
    ("MutatingWebhookConfiguration", ("rules", "scope"), "*"),
)
#: Added as well, but not always.
_POSSIBLE: tuple[tuple[str, Path, Any], ...] = (
    ("StatefulSet", ("volumeClaimTemplates", "metadata", "creationTimestamp"), None),
    ("RoleBinding", ("subjects", "apiGroup"), "rbac.authorization.k8s.io"),
    ("ClusterRoleBinding", ("subjects", "apiGroup"), "rbac.authorization.k8s.io"),
    ("RoleBinding", ("subjects", "apiGroup"), ""),
    ("ClusterRoleBinding", ("subjects", "apiGroup"), ""),
)


def _of(kind: str, path: Path, entry: tuple[str, Path, Any]) -> bool:
    return entry[0] in ("", kind) and path[-len(entry[1]) :] == entry[1]


def is_default(kind: str, path: Path, value: Any) -> bool:
    """Whether the API server sets this value where an object does not.

    Args:
        kind: of the object.
        path: names of the fields from its top, without places in lists.
    """
    return any(_of(kind, path, entry) and value == entry[2] for entry in (*_DEFAULTS, *_POSSIBLE))


def completed(item: Mapping[str, Any]) -> dict[str, Any]:
    """The object with these defaults."""
    return {key: _completed(str(item["kind"]), value, (key,)) for key, value in item.items()}


def _completed(kind: str, value: Any, path: Path) -> Any:
    if isinstance(value, list):
        return [_completed(kind, one, path) for one in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: _completed(kind, one, (*path, key)) for key, one in value.items()}
    for entry in _DEFAULTS:
        name = entry[1][-1]
        if name not in found and _of(kind, (*path, name), entry):
            found[name] = entry[2]
    return found
