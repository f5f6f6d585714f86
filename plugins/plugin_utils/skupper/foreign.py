# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Skupper's objects of someone else in a namespace."""

from __future__ import annotations

from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests.skupper import API
from .ownership import is_ours, owners

# Kinds that users create; Skupper creates the others itself.
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
    """Objects of Skupper in a namespace that someone else created, for people. Links from a token belong to its Site."""
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
