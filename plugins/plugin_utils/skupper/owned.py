# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose object is it? What this collection made carries its label; everything else is used as it is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..cluster import Cluster, NotServed
from ..manifests.common import MANAGER
from ..manifests.skupper import API

Object = Mapping[str, Any]


def is_ours(obj: Object | None) -> bool:
    """Whether this collection made an object."""
    return (((obj or {}).get("metadata") or {}).get("labels") or {}).get("app.kubernetes.io/managed-by") == MANAGER


def split(objects: Iterable[Object]) -> tuple[list[Object], list[Object]]:
    """Ours, and those of others."""
    found = list(objects)
    return [obj for obj in found if is_ours(obj)], [obj for obj in found if not is_ours(obj)]


def owners(obj: Object | None, kind: str) -> list[str]:
    """Uids of the owners of this kind."""
    listed = ((obj or {}).get("metadata") or {}).get("ownerReferences") or []
    return [str(one.get("uid")) for one in listed if one.get("kind") == kind]


def is_redeemed(secret: Object | None) -> bool:
    """Whether a Secret came of a token: Skupper makes its Site the owner of it."""
    return bool(owners(secret, "Site"))


# Kinds that people make; Skupper makes the others itself.
_KINDS = (
    "Site",
    "Link",
    "Listener",
    "Connector",
    "AccessGrant",
    "AccessToken",
    "MultiKeyListener",
    "AttachedConnector",
)


def of_others(cluster: Cluster, namespace: str) -> list[str]:
    """Objects of Skupper in a namespace that somebody else made, for people. Links that came of a token are its Site's."""
    found = []
    ours: set[str] = set()
    for kind in _KINDS:
        try:
            listed = cluster.list(API, kind, namespace)
        except NotServed:
            continue
        ours |= {str(one["metadata"]["uid"]) for one in listed if kind == "Site" and is_ours(one)}
        found += [
            f"{kind} {one['metadata']['name']}"
            for one in listed
            if not is_ours(one) and not ours & set(owners(one, "Site"))
        ]
    return found
