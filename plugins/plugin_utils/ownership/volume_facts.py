# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What became of the volume claims of a site that was removed: for the audit trail and its leaving record."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..kube.client import Cluster

KEPT, DELETED = "kept", "deleted"
_CLAIM, _VOLUME = "PersistentVolumeClaim", "PersistentVolume"
UNKNOWN = "unknown"


def claims(cluster: Cluster, namespace: str) -> dict[str, str]:
    """Claims of a namespace -> reclaim policy of the volume that each is bound to; nothing where the right to list them is missing."""
    asked = [{"verb": "list", "resource": "persistentvolumeclaims", "namespace": namespace}, {"verb": "list", "resource": "persistentvolumes"}]
    may_claims, may_volumes = cluster.access_review(asked)
    found = cluster.list("v1", _CLAIM, namespace) if may_claims else []
    return policies(found, cluster.list("v1", _VOLUME) if found and may_volumes else [])


def policies(found: Iterable[Mapping[str, Any]], volumes: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """As C(claims). Pure."""
    known = {one["metadata"]["name"]: str(one["spec"].get("persistentVolumeReclaimPolicy") or UNKNOWN) for one in volumes}
    return {one["metadata"]["name"]: known.get(str(one["spec"].get("volumeName") or ""), UNKNOWN) for one in found}


def facts(namespace: str, before: Mapping[str, str], after: Collection[str], *, wanted: bool) -> list[dict[str, str]]:
    """The facts of each claim. Pure.

    Args:
        namespace: of the claims.
        before: those that were there, as C(claims) returns them.
        after: names of those that are there now.
        wanted: whether volumes were to be deleted (C(flower_delete_volumes)).
    """
    choice = "flower_delete_volumes is set" if wanted else "flower_delete_volumes is not set"
    return [
        {"change": KEPT if name in after else DELETED, "claim": f"{namespace}/{name}", "storage": policy, "choice": choice}
        for name, policy in sorted(before.items())
    ]
