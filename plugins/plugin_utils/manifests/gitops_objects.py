# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The objects that a GitOps controller applies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.kinds import completed

Object = Mapping[str, Any]

# What stays with the playbooks.
STAYS = frozenset((
    # secrets do not belong in a repository
    "Secret",
    # addresses, certificates and lists, which rotation, joining and revocation change between two renderings
    "ConfigMap", "ManifestWork",
    # deleting one deletes what is in it
    "Namespace", "PersistentVolume", "PersistentVolumeClaim",
    # Open Cluster Management creates it
    "ManagedClusterAddOn",
))  # fmt: skip


def chosen(objects: Iterable[Object]) -> list[Object]:
    """Those that a GitOps controller may have: no object that stays with the playbooks.

    With what the API server would add to them: otherwise the controller took fields that it shares with the playbooks.
    """
    return [completed(item) for item in objects if item["kind"] not in STAYS]


def latest(objects: Iterable[Object]) -> list[Object]:
    """Each object once, as it was listed last, ordered by kind and name."""
    found = {_id(item): item for item in objects}
    return [found[which] for which in sorted(found)]


def _id(item: Object) -> tuple[str, str, str, str]:
    meta = item["metadata"]
    return item["kind"], meta["name"], meta.get("namespace") or "", item["apiVersion"]
