# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which of two hubs serves: the record that each has in its cluster.

Each failover begins a new term, a number that only grows. In a term one hub serves. The record with the higher term is right, so a hub that was
out of reach during a failover is recognised when it comes back. The records of both hubs have the uid of the volume claim with the database, so
that a copy of an empty database, by whatever playbook, is refused.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

from ..base import foreign_data
from ..base.errors import ClusterError
from ..base.object_names import STANDBY_CONFIG
from ..kube.client import Cluster
from ..kube.configmaps import config_map, retry_on_conflict, write

ACTIVE, STANDBY, FENCED = "active", "standby", "fenced"
_STATES = (ACTIVE, STANDBY, FENCED)

_KEY = "standby.json"


@dataclasses.dataclass(frozen=True)
class Term:
    """The record of a hub.

    Attributes:
        state: C(ACTIVE), the hub serves; C(STANDBY), it has a copy of the one that serves; C(FENCED), another one took over from it.
        number: the term.
        serves: inventory name of the hub that serves in this term.
        standby: inventory name of its standby.
        copied: when the newest copy that is complete was started, in UTC, as C(2026-11-24T20:15:00Z); empty for none.
        claim: uid of the volume claim that has this copy.
        hub_claim: uid of the volume claim with the database of the hub that serves, as it was at the newest copy that is complete, or when the
            hub began to serve; empty where it is not known, as in records of earlier releases.
        hub_outputs: in records of earlier releases, the same of its volume claim with the outputs of runs.
    """

    state: str
    number: int
    serves: str
    standby: str = ""
    copied: str = ""
    claim: str = ""
    hub_claim: str = ""
    hub_outputs: str = ""

    def text(self) -> str:
        """For the record."""
        return json.dumps(dataclasses.asdict(self), sort_keys=True, indent=1)


def parse(text: str, where: str) -> Term:
    """Read a record.

    Raises:
        ClusterError: it is none.
    """
    try:
        data: Any = foreign_data.read_json(text)
        found = Term(**data)
    except (ValueError, TypeError) as error:
        raise ClusterError(_damaged(where)) from error
    fields = dataclasses.asdict(found)
    number = fields.pop("number")
    good = isinstance(number, int) and number > 0 and all(isinstance(value, str) for value in fields.values())
    if not good or found.state not in _STATES:
        raise ClusterError(_damaged(where))
    return found


def _damaged(where: str) -> str:
    return (
        f"{where}, which says whether this hub serves, cannot be read. Find out which hub serves, and delete the ConfigMap "
        "on the other one"
    )


def refusal(host: str, own: Term | None) -> str:
    """Why a hub is not to be changed, by its own record: a sentence; empty if it may be."""
    if own is None or own.state == ACTIVE:
        return ""
    if own.state == FENCED and own.serves != host:
        return (
            f"{host} is fenced: {own.serves} took over from it in term {own.number}. Exchange the hosts of the groups flower_hub and "
            "flower_standby in the inventory; federated.flower.failover brings it back"
        )
    return (
        f"{host} is the standby of {own.serves}, and serves only after federated.flower.failover: exchange the hosts of the groups flower_hub "
        "and flower_standby in the inventory"
    )


def refusal_by_peer(host: str, own: Term | None, peer: str, other: Term | None) -> str:
    """Why a hub is not to be changed, by the record of its standby: a sentence; empty if it may be."""
    if other is None or other.state != ACTIVE or other.number < (own.number if own else 0):
        return ""
    if own is not None and own.number == other.number:
        return contradiction(host, peer, own.number)
    return (
        f"{host} does not serve any more: {peer} took over from it in term {other.number}. Exchange the hosts of the groups flower_hub and "
        f"flower_standby in the inventory, and run federated.flower.standby, which fences {host}"
    )


def contradiction(one: str, other: str, number: int) -> str:
    """That two hubs say that they serve in one term."""
    return (
        f"{one} and {other} both claim to serve in term {number}, which no playbook does. Find out which of them has the sites, and "
        "delete the ConfigMap flower-standby of the other one"
    )


def read(cluster: Cluster, namespace: str) -> Term | None:
    """The record of a hub; None where there is none.

    Raises:
        ClusterError: it cannot be read.
    """
    item = cluster.get("v1", "ConfigMap", STANDBY_CONFIG, namespace)
    if item is None:
        return None
    return parse((item.get("data") or {}).get(_KEY, ""), f"{cluster.name}: ConfigMap {namespace}/{STANDBY_CONFIG}")


def store(cluster: Cluster, namespace: str, federation: str, term: Term) -> bool:
    """Write the record of a hub; whether it differed.

    Raises:
        ClusterError: the ConfigMap is someone else's.
    """
    return _write(cluster, namespace, federation, term, lambda _found: None)


def swap(cluster: Cluster, namespace: str, federation: str, former: Term | None, term: Term) -> None:
    """Write the record of a hub if it is still the one that was read: a failover may have begun since.

    Args:
        former: what C(read) returned.

    Raises:
        ClusterError: it is another one now, or the ConfigMap is someone else's.
    """

    def require_former(text: str | None) -> None:
        where = f"{cluster.name}: ConfigMap {namespace}/{STANDBY_CONFIG}"
        found = None if text is None else parse(text, where)
        if found != former:
            shown = f"{found.state} in term {found.number}" if found else "gone"
            raise ClusterError(f"{where} was changed while the hub was copied, and is {shown}: it was not replaced. A failover may be running")

    _write(cluster, namespace, federation, term, require_former)


def _write(cluster: Cluster, namespace: str, federation: str, term: Term, require: Callable[[str | None], None]) -> bool:
    def attempt() -> bool:
        item = cluster.get("v1", "ConfigMap", STANDBY_CONFIG, namespace)
        if item is not None and item.get("data") == {_KEY: term.text()}:
            return False  # also after an attempt whose answer was lost
        require(None if item is None else (item.get("data") or {}).get(_KEY, ""))
        item = item or config_map(federation, namespace, STANDBY_CONFIG, {}, application=STANDBY_CONFIG, component="standby")
        write(cluster, {**item, "data": {_KEY: term.text()}})
        return True

    return retry_on_conflict(f"ConfigMap {namespace}/{STANDBY_CONFIG} on {cluster.name}", attempt)
