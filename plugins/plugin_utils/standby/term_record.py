# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of C(terms) in a cluster: the ConfigMap C(flower-standby) in the namespace of the SuperLink."""

from __future__ import annotations

from ..backup.hub_objects import TERM
from ..kube.client import Cluster
from ..kube.configmaps import config_map, retry_on_conflict, write
from . import terms
from .terms import Term

_COMPONENT = "standby"
_KEY = "standby.json"


def read(cluster: Cluster, namespace: str) -> Term | None:
    """The record of a hub; None where there is none.

    Raises:
        ClusterError: it cannot be read.
    """
    item = cluster.get("v1", "ConfigMap", TERM, namespace)
    if item is None:
        return None
    return terms.parse((item.get("data") or {}).get(_KEY, ""), f"{cluster.name}: ConfigMap {namespace}/{TERM}")


def store(cluster: Cluster, namespace: str, federation: str, term: Term) -> bool:
    """Write the record of a hub; whether it differed.

    Raises:
        ClusterError: the ConfigMap is someone else's.
    """

    def attempt() -> bool:
        item = cluster.get("v1", "ConfigMap", TERM, namespace)
        data = {_KEY: term.text()}
        if item is None:
            item = config_map(federation, namespace, TERM, data, application=TERM, component=_COMPONENT)
        elif item.get("data") == data:
            return False
        write(cluster, {**item, "data": data})
        return True

    return retry_on_conflict(f"ConfigMap {namespace}/{TERM} on {cluster.name}", attempt)
