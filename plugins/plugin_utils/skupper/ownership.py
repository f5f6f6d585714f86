# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whose object is it? What this collection created has its label; everything else is used as it is. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.labels import MANAGER

Object = Mapping[str, Any]

_CONTROLLED = "internal.skupper.io/controlled"


def is_ours(obj: Object | None) -> bool:
    """Whether this collection created an object."""
    return (((obj or {}).get("metadata") or {}).get("labels") or {}).get("app.kubernetes.io/managed-by") == MANAGER


def split(objects: Iterable[Object]) -> tuple[list[Object], list[Object]]:
    """Ours, and those of others."""
    found = list(objects)
    return [obj for obj in found if is_ours(obj)], [obj for obj in found if not is_ours(obj)]


def owners(obj: Object | None, kind: str) -> list[str]:
    """Uids of the owners of this kind."""
    listed = ((obj or {}).get("metadata") or {}).get("ownerReferences") or []
    return [str(one.get("uid")) for one in listed if one.get("kind") == kind]


def is_made(secret: Object) -> bool:
    """Whether Skupper created a Secret for one of its Certificates. It recreates only what it created; what a user has put there it leaves alone
    (2.2, internal/kube/certificates/mgr.go; doc/tls/README.md, «Using user-provided CAs»)."""
    return _CONTROLLED in (secret["metadata"].get("annotations") or {}) or bool(owners(secret, "Certificate"))


def is_redeemed(secret: Object | None) -> bool:
    """Whether a Secret comes from a token: its owner is then its Site."""
    return bool(owners(secret, "Site"))
