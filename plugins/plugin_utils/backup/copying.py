# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Copy a hub to its standby without an archive between, and recognize a copy that was not completed."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ..base.formats import readable
from ..base.object_names import DATABASE_CLAIM, FEDERATION_CONFIG, SUPERLINK, SUPERLINK_POD
from ..flower import known_releases
from ..kube.client import Cluster
from ..marks import proof
from ..programs import database_program
from ..spec.hub_spec import HubSpec
from ..state.ledger import NEW, Ledger
from . import database, hub_archive, leadership, restoring, volume_pod
from .database import Volume
from .leadership import Term

Object = dict[str, Any]
_USE = "standby"


@dataclass(frozen=True)
class End:
    """One of the two hubs.

    Attributes:
        host: its inventory name.
        cluster: a connection.
        spec: its specification.
        ca_namespace: namespace of its CA keys.
    """

    host: str
    cluster: Cluster
    spec: HubSpec
    ca_namespace: str

    def get(self, kind: str, name: str, version: str = "v1") -> Object | None:
        """An object in its namespace."""
        return self.cluster.get(version, kind, name, self.spec.namespace)

    @property
    def identity(self) -> str:
        """The hub's identity in the ledger; empty where there is none."""
        found = Ledger(self.cluster, self.spec.namespace, self.spec.federation).identity()
        return "" if found == NEW else found

    @property
    def published(self) -> Object | None:
        """What it has published."""
        return self.get("ConfigMap", FEDERATION_CONFIG)

    @property
    def is_hub(self) -> bool:
        """Whether there is a hub: it has a ledger and was published."""
        return bool(self.identity) and self.published is not None

    @property
    def serves(self) -> bool:
        """Whether there is a SuperLink that is not stopped."""
        item = self.get("StatefulSet", SUPERLINK, "apps/v1")
        return item is not None and item["spec"].get("replicas", 1) > 0

    @property
    def claim_uid(self) -> str:
        """The uid of the volume claim of its SuperLink; empty where there is none."""
        live = self.get("PersistentVolumeClaim", DATABASE_CLAIM)
        return str(live["metadata"]["uid"]) if live else ""

    @property
    def term(self) -> Term | None:
        """Its record, see C(leadership.read)."""
        return leadership.read(self.cluster, self.spec.namespace)

    def store(self, term: Term) -> bool:
        """Write its record; whether it differed."""
        return leadership.store(self.cluster, self.spec.namespace, self.spec.federation, term)

    def swap(self, former: Term | None, term: Term) -> None:
        """Write its record, which must be the one that was read: a failover that has begun meanwhile has written another one."""
        leadership.swap(self.cluster, self.spec.namespace, self.spec.federation, former, term)


@dataclass
class Done:
    """What a copy did.

    Attributes:
        copied: when it was started, in UTC.
        claim: uid of the volume claim with the database.
        size: bytes of the database.
        replaced: whether the database on the standby was another one.
        objects: what was written and deleted, for the result.
    """

    copied: str
    claim: str = ""
    size: int = 0
    replaced: bool = False
    objects: list[dict[str, str]] = field(default_factory=list)

    @property
    def words(self) -> str:
        """For people."""
        return f"a database of {readable(self.size)}, {len(self.objects)} objects that differed"


def origin(source: End) -> str:
    """What the volume claim of a standby says of the hub whose database it is for (C(volume_pod.RESTORED))."""
    return f"the hub {source.host}"


def errors(source: End, target: End, there: Term | None) -> list[str]:
    """Why a hub is not copied to a standby: sentences. Nothing is changed.

    Args:
        source: the hub.
        target: the standby.
        there: the record of the standby.
    """
    found = []
    if not source.is_hub:
        return [
            f"{source.host}: there is no hub of the federation {source.spec.federation} in namespace {source.spec.namespace}: its ledger or "
            "its publication is missing. Run site.yml first"
        ]
    if (source.cluster.server, source.spec.namespace) == (target.cluster.server, target.spec.namespace):
        found.append(f"{source.host} and {target.host} are the same namespace of the same cluster: a standby is in another cluster")
    mine, theirs = (source.spec.namespace, source.ca_namespace), (target.spec.namespace, target.ca_namespace)
    if mine != theirs:
        found.append(
            f"{target.host} has the namespaces {' and '.join(theirs)}, and {source.host} has {' and '.join(mine)}: a standby has the same. Set "
            "flower_namespace and flower_ca_namespace for both"
        )
    if source.spec.federation != target.spec.federation:
        found.append(
            f"{target.host}: its federation is {target.spec.federation}, that of {source.host} is {source.spec.federation}: set flower_federation "
            "for both"
        )
    version = str(((source.published or {}).get("data") or {}).get("version", ""))
    if known_releases.is_older(target.spec.version, version):
        found.append(
            f"{target.host} is to have Flower {target.spec.version}, which cannot read the database of Flower {version} on {source.host}: set "
            f"flower_version to {version} or newer"
        )
    for name in dict.fromkeys(theirs):
        live = target.cluster.get("v1", "Namespace", name)
        if live is not None and live["metadata"].get("deletionTimestamp"):
            found.append(f"{target.host}: namespace {name} is being deleted: run again when it is gone")
    if target.identity and target.identity != source.identity:
        found.append(
            f"{target.host}: namespace {target.spec.namespace} has another hub of a federation {target.spec.federation}, which is not replaced. "
            "Choose another cluster, or remove that hub"
        )
    elif there is None and target.serves:
        found.append(
            f"{target.host} has a SuperLink that serves, and no record that it is a standby: it is not replaced. Choose another cluster, or "
            "remove it"
        )
    return found


def copy(source: End, target: End, *, stopped: bool, seconds: float, assure: Callable[[], None]) -> Done:
    """Copy the hub. What an interrupted copy did is kept and completed; the former database stays whole until the new one is.

    Args:
        source: the hub.
        target: the standby, of which C(errors) has found none.
        stopped: whether the hub is stopped, so that its volume is read through a separate pod.
        seconds: how long pods may take to start and to end.
        assure: called before anything is written that a hub would have to have for itself; raises if this run must not write it.
    """
    done = Done(moment())
    reading: AbstractContextManager[Volume] = nullcontext(Volume(source.cluster, source.spec.namespace, SUPERLINK_POD))
    if stopped:
        reading = volume_pod.running(source.cluster, source.spec, seconds)
    with reading as volume, hub_archive.snapshot(volume, source.ca_namespace, source.spec.federation, _USE) as (objects, data):
        done.size = data.size
        facts = {"size": data.size, "sha256": data.sha256}
        assure()
        restored = restoring.restore(
            target.cluster, target.spec, target.ca_namespace, objects,
            lambda there: database.put(there, facts, data, replace=True, assure=assure),  # type: ignore[arg-type]  # it is read only
            source=origin(source), seconds=seconds, is_standby=True,
        )  # fmt: skip
    done.claim, done.replaced, done.objects = target.claim_uid, restored.database, restored.objects
    return done


def room_error(hub: str, measured: Mapping[str, Any]) -> str:
    """Why the database cannot be copied for lack of room on the hub's volume: a sentence; empty if it can. Pure.

    Args:
        hub: inventory name of the hub.
        measured: bytes of its database, and those that are free there (C(database_program.measure)).
    """
    needed = int(measured["size"]) + database_program.SPARE
    if measured["free"] >= needed:
        return ""
    return (
        f"{hub}: a copy of its database needs {readable(needed)} on the SuperLink's volume, and {readable(measured['free'])} are free: enlarge the claim "
        f"{DATABASE_CLAIM}, and set superlink_storage_size"
    )


def moment() -> str:
    """Now, as a record has it."""
    return datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def is_copy(source: End, target: End) -> bool:
    """Whether the namespace of a host has a copy of the hub, or a part of one, and nothing that could be a hub of its own.

    Args:
        source: the hub.
        target: the host, which has no record.
    """
    if not source.is_hub or target.serves:
        return False  # what there is may be all that is left of the hub
    if identity := target.identity:
        return identity == source.identity
    # The volume comes before the ledger. No SuperLink was ever deployed where a copy was never complete.
    if target.get("StatefulSet", SUPERLINK, "apps/v1") is not None:
        return False
    return proof.annotations_of(target.get("PersistentVolumeClaim", DATABASE_CLAIM)).get(volume_pod.RESTORED) == origin(source)
