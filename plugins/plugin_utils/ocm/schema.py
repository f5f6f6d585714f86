# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What the served API of a hub supports, by its schema and never by a version string. Pure.

Source: the OpenAPI v3 documents that an API server publishes of each CustomResourceDefinition under C(/openapi/v3/apis/GROUP/VERSION),
which every authenticated user may read (ClusterRole C(system:discovery)). A field that the schema does not have is dropped by
the API server silently: a Placement with an unknown C(celSelector) selects every cluster.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Paths of fields that not every release has.
_OPTION = ("spec", "manifestConfigs", "[]")
_SELECTOR = ("spec", "predicates", "[]", "requiredClusterSelector")


def _kind(document: Mapping[str, Any], kind: str) -> Mapping[str, Any]:
    for schema in ((document.get("components") or {}).get("schemas") or {}).values():
        names = schema.get("x-kubernetes-group-version-kind") or []
        if any(one.get("kind") == kind for one in names):
            return schema
    return {}


def field(document: Mapping[str, Any], kind: str, path: tuple[str, ...]) -> Mapping[str, Any] | None:
    """The schema of a field, or None where it is not known.

    Args:
        document: the OpenAPI document.
        kind: of the object.
        path: names of fields; C([]) is an entry of a list.
    """
    found: Any = _kind(document, kind)
    for name in path:
        found = found.get("items") if name == "[]" else (found.get("properties") or {}).get(name)
        if not isinstance(found, Mapping):
            return None
    return found


def supports_read_only(document: Mapping[str, Any]) -> bool:
    """Whether a ManifestWork can read objects without writing them (update strategy ReadOnly)."""
    kind = field(document, "ManifestWork", (*_OPTION, "updateStrategy", "type"))
    return kind is not None and "ReadOnly" in (kind.get("enum") or [])


def _supports_watch(document: Mapping[str, Any], kind: str, option: tuple[str, ...]) -> bool:
    found = field(document, kind, (*option, "feedbackScrapeType"))
    return found is not None and "Watch" in (found.get("enum") or [])


def supports_watch(document: Mapping[str, Any]) -> bool:
    """Whether a ManifestWork can have values reported as soon as they change."""
    return _supports_watch(document, "ManifestWork", _OPTION)


def supports_replica_set_watch(document: Mapping[str, Any]) -> bool:
    """The same of a ManifestWorkReplicaSet."""
    return _supports_watch(document, "ManifestWorkReplicaSet", ("spec", "manifestWorkTemplate", *_OPTION[1:]))


def supports_replica_set_rules(document: Mapping[str, Any]) -> bool:
    """The same of a ManifestWorkReplicaSet, whose rollouts wait for these rules."""
    path = ("spec", "manifestWorkTemplate", *_OPTION[1:], "conditionRules")
    return field(document, "ManifestWorkReplicaSet", path) is not None


def unknown_selectors(document: Mapping[str, Any], predicates: list[Mapping[str, Any]]) -> list[str]:
    """Selectors of predicates that the hub would drop."""
    found = set()
    for one in predicates:
        for part in one.get("requiredClusterSelector") or {}:
            if field(document, "Placement", (*_SELECTOR, part)) is None:
                found.add(part)
    return sorted(found)
