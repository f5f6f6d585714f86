# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The objects of a cluster as the file that a GitOps controller applies. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.defaults import completed
from ..marks import proof
from .text import manifest

Object = Mapping[str, Any]

HEADER = "# Written by federated.flower.render"
_WORDS = (
    HEADER + " for {host}: what federated.flower.site would apply there, without secrets,\n"
    "# data, and what playbooks change. Do not edit it: change the inventory, and render again.\n"
)
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
    """Those that a GitOps controller may have: no object that stays with the playbooks, and none that was adopted.

    With what the API server would add to them: otherwise the controller took fields that it shares with the playbooks.
    """
    return [completed(item) for item in objects if item["kind"] not in STAYS and not proof.is_adopted(item)]


def latest(objects: Iterable[Object]) -> list[Object]:
    """Each object once, as it was listed last, ordered by kind and name."""
    found = {_id(item): item for item in objects}
    return [found[which] for which in sorted(found)]


def text(host: str, objects: Iterable[Object]) -> str:
    """Content of the file of a host."""
    return _WORDS.format(host=host) + manifest(objects)


def _id(item: Object) -> tuple[str, str, str, str]:
    meta = item["metadata"]
    return item["kind"], meta["name"], meta.get("namespace") or "", item["apiVersion"]
