# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a site publishes of its keys, and its reply in a file, as the control node reads them. C(public) and C(reply) also run at sites."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.names import PUBLIC_KEYS
from ..pki.unknown_kinds import explained
from . import public, reply


def read(there: Mapping[str, Any] | None) -> public.Public:
    """See C(public.read).

    Raises:
        ClusterError: someone else wrote it.
    """
    place = ((there or {}).get("metadata") or {}).get("namespace")
    with explained(f"ConfigMap {PUBLIC_KEYS} in namespace {place}", "delete it and run again: it is recreated from the Secrets."):
        return public.read(there)


def opened(there: Any) -> reply.Reply:
    """See C(reply.opened).

    Raises:
        ClusterError: it is not a reply of a site, or was changed.
    """
    remedy = f"let the site send the file again: kubectl get configmap {PUBLIC_KEYS} -n NAMESPACE -o json > reply.json"
    with explained("the reply", remedy):
        return reply.opened(there)
