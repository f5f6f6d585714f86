# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a cluster has of Skupper's kinds, and the certificates of the hub's Site. Reads, and writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.secret_data import entries
from ..base.values import Object, text
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests import skupper
from . import rotation_plan, sites, state
from .ownership import is_ours


def listed(cluster: Cluster, kind: str, namespace: str) -> list[Object]:
    """All objects of one of Skupper's kinds; none where the kind is not served."""
    try:
        return cluster.list(skupper.API, kind, namespace)
    except NotServed:
        return []


def ca_name(site: Mapping[str, Any] | None) -> str:
    """Name of the Secret with the CA of a Site."""
    return text(state.status(site).get("defaultIssuer")) or skupper.SITE_CA


def read(cluster: Cluster, namespace: str) -> rotation_plan.Hub:
    """The certificates of the Site of a hub; empty where there is none."""
    found = sites.active(listed(cluster, "Site", namespace))
    if found is None:
        return rotation_plan.Hub()
    there = {one["metadata"]["name"]: one for one in cluster.list("v1", "Secret", namespace)}
    ca = entries(there.get(ca_name(found)))
    links = {}
    for one in listed(cluster, "Certificate", namespace):
        site = (one["metadata"].get("labels") or {}).get(skupper.SITE_LABEL)
        made = entries(there.get(one["metadata"]["name"])).get("tls.crt")
        if site and made and is_ours(one):
            links[site] = made
    return rotation_plan.Hub(ca.get("tls.crt", ""), entries(there.get(skupper.SITE_SERVER)), links)
