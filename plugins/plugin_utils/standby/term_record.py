# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The record of C(leadership) in a cluster: the ConfigMap C(flower-standby) in the namespace of the SuperLink."""

from __future__ import annotations

from ..base.errors import ClusterError
from ..base.object_names import STANDBY_CONFIG
from ..kube.client import Cluster
from ..kube.configmaps import config_map, retry_on_conflict, write
from . import leadership
from .leadership import Term

_COMPONENT = "standby"
_KEY = "standby.json"


def read(cluster: Cluster, namespace: str) -> Term | None:
    """The record of a hub; None where there is none.

    Raises:
        ClusterError: it cannot be read.
    """
    item = cluster.get("v1", "ConfigMap", STANDBY_CONFIG, namespace)
    if item is None:
        return None
    return leadership.parse((item.get("data") or {}).get(_KEY, ""), f"{cluster.name}: ConfigMap {namespace}/{STANDBY_CONFIG}")


def store(cluster: Cluster, namespace: str, federation: str, term: Term) -> bool:
    """Write the record of a hub; whether it differed.

    Raises:
        ClusterError: the ConfigMap is someone else's.
    """

    def attempt() -> bool:
        item = cluster.get("v1", "ConfigMap", STANDBY_CONFIG, namespace)
        data = {_KEY: term.text()}
        if item is None:
            item = config_map(federation, namespace, STANDBY_CONFIG, data, application=STANDBY_CONFIG, component=_COMPONENT)
        elif item.get("data") == data:
            return False
        write(cluster, {**item, "data": data})
        return True

    return retry_on_conflict(f"ConfigMap {namespace}/{STANDBY_CONFIG} on {cluster.name}", attempt)


def swap(cluster: Cluster, namespace: str, federation: str, former: Term | None, term: Term) -> None:
    """Write the record of a hub if it is still the one that was read: a failover may have begun since.

    Args:
        former: what C(read) returned.
        term: what is written instead.

    Raises:
        ClusterError: it is another one now, or the ConfigMap is someone else's.
    """

    def attempt() -> None:
        item = cluster.get("v1", "ConfigMap", STANDBY_CONFIG, namespace)
        where = f"{cluster.name}: ConfigMap {namespace}/{STANDBY_CONFIG}"
        found = leadership.parse((item.get("data") or {}).get(_KEY, ""), where) if item else None
        if found == term:
            return  # an attempt before, whose answer was lost
        if found != former:
            shown = f"{found.state} in term {found.number}" if found else "gone"
            raise ClusterError(f"{where} was changed while the hub was copied, and is {shown}: it is not replaced. Does a failover run?")
        item = item or config_map(federation, namespace, STANDBY_CONFIG, {}, application=STANDBY_CONFIG, component=_COMPONENT)
        write(cluster, {**item, "data": {_KEY: term.text()}})

    retry_on_conflict(f"ConfigMap {namespace}/{STANDBY_CONFIG} on {cluster.name}", attempt)
