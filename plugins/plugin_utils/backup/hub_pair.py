# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub and its standby: copy the one to the other without an archive between, and stop the one that does not serve any more."""

from __future__ import annotations

import datetime
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from ..apply import field_conflicts
from ..base.errors import ClusterError
from ..base.formats import readable
from ..base.labels import MANAGER
from ..base.object_names import DATABASE_CLAIM, FEDERATION_CONFIG, SUPERLINK, SUPERLINK_POD
from ..flower import known_releases
from ..kube import pod_health
from ..kube.client import Cluster
from ..marks import owners, proof
from ..programs import database_program
from ..rotation import restart_conditions
from ..spec.hub_spec import HubSpec
from ..state.ledger import Ledger
from . import database, hub_archive, hub_objects, leadership, volume_pod
from .database import Volume
from .leadership import Term

Object = dict[str, Any]
_WORKLOADS = ("StatefulSet", "Deployment")
_PAUSE = 0.5  # seconds between two looks


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
        return str(Ledger(self.cluster, self.spec.namespace, self.spec.federation).read_book().get("id", ""))

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
class CopyResult:
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


def errors(source: End, target: End, there: Term | None) -> list[str]:
    """Why a hub is not copied to a standby: sentences. Nothing is changed."""
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


def copy(source: End, target: End, *, stopped: bool, seconds: float, assure: Callable[[], None]) -> CopyResult:
    """Copy the hub. What an interrupted copy did is kept and completed; the former database stays whole until the new one is.

    Args:
        target: the standby, of which C(errors) has found none.
        stopped: whether the hub is stopped, so that its volume is read through a separate pod.
        seconds: how long pods may take to start and to end.
        assure: called before anything is written that a hub would have to have for itself; raises if this run must not write it.
    """
    done = CopyResult(moment())
    reading: AbstractContextManager[Volume] = nullcontext(Volume(source.cluster, source.spec.namespace, SUPERLINK_POD))
    if stopped:
        reading = volume_pod.running(source.cluster, source.spec, seconds)
    with reading as volume, hub_archive.snapshot(volume, source.ca_namespace, source.spec.federation, "standby") as (objects, data):
        done.size = data.size
        facts = {"size": data.size, "sha256": data.sha256}
        assure()
        restored = hub_objects.restore(
            target.cluster, target.spec, target.ca_namespace, objects,
            lambda there: database.put(there, facts, data, replace=True, assure=assure),  # type: ignore[arg-type]  # it is read only
            source=f"the hub {source.host}", seconds=seconds, is_standby=True,
        )  # fmt: skip
    done.claim, done.replaced, done.objects = target.claim_uid, restored.database, restored.objects
    return done


def room_error(hub: str, measured: Mapping[str, Any]) -> str:
    """Why the database cannot be copied for lack of room on the hub's volume: a sentence; empty if it can. Pure.

    Args:
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


def runs_error(hub: str, found: Sequence[Mapping[str, Any]] | str, *, abandon: bool) -> tuple[str, str]:
    """Why a hub whose SuperLink runs is not stopped, for its runs: a sentence, empty if it may be; and what that does to runs, for the plan.

    Args:
        found: its runs, as C(flwr list) has them; or why they cannot be listed.
        abandon: whether active runs may fail.
    """
    if isinstance(found, str):
        if abandon:
            return "", f"abandon the active runs of {hub}, which cannot be listed ({found})"
        return (
            f"cannot determine whether {hub} has active runs, which would fail ({found}): repair the connection, add -e flower_failover_abandon_runs=true, "
            "or, if the hub is lost, -e flower_failover_hub_lost=true"
        ), ""
    active = [str(run["run-id"]) for run in restart_conditions.active_runs(found)]
    if not active:
        return "", ""
    if abandon:
        return "", f"abandon {len(active)} active runs ({', '.join(active)}), which fail"
    return f"{hub} serves, and has active runs ({', '.join(active)}), which would fail: wait for their end, or add -e flower_failover_abandon_runs=true", ""


def workloads(end: End) -> list[Object]:
    """The hub's workloads: SuperLink, ServerApp and exporter; the SuperLink first, so that nothing is written to a database that is copied."""
    federation = end.spec.federation
    labels = f"{proof.MANAGED_BY}={MANAGER},{proof.INSTANCE}={federation}"
    found = [item for kind in _WORKLOADS for item in end.cluster.list("apps/v1", kind, end.spec.namespace, labels=labels)]
    ours = [item for item in found if owners.part_of(item) == owners.PART_HUB and proof.may_delete(item, federation)]
    return sorted(ours, key=lambda item: item["metadata"]["name"] != SUPERLINK)


def is_stopped(end: End) -> bool:
    """Whether none of its workloads is to have a pod."""
    return not any(item["spec"].get("replicas", 1) for item in workloads(end))


def restarters(end: End) -> list[str]:
    """Why a hub would not stay stopped: a sentence for each workload that a GitOps controller applies as well."""
    namespace = end.spec.namespace
    return [
        f"{end.cluster.name}: {' and '.join(names)} applies {item['kind']} {namespace}/{item['metadata']['name']} as well, and would start it again "
        f"after it was stopped. Suspend it for this hub, and then run: kubectl annotate {item['kind'].lower()} {item['metadata']['name']} -n {namespace} "
        f"{field_conflicts.TAKE_FROM}={','.join(names)}"
        for item in workloads(end)
        if (names := field_conflicts.reconcilers(item))
    ]


def stop(end: End) -> list[str]:
    """Scale the workloads of a hub to no pods; those that had some."""
    running = [item for item in workloads(end) if item["spec"].get("replicas", 1)]
    for item in running:
        end.cluster.patch("apps/v1", item["kind"], item["metadata"]["name"], end.spec.namespace, {"spec": {"replicas": 0}})
    return [f"{item['kind']} {item['metadata']['name']}" for item in running]


def await_stopped(end: End, seconds: float, say: Callable[[str], None]) -> None:
    """Wait until the pods are gone. A pod on a node that does not answer may still run, so it counts.

    Raises:
        ClusterError: some are there after C(seconds).
    """
    name, namespace = end.cluster.name, end.spec.namespace
    begun = shown = time.monotonic()
    while True:
        applications = {item["metadata"]["name"] for item in workloads(end)}
        pods = end.cluster.list("v1", "Pod", namespace, labels=f"{proof.INSTANCE}={end.spec.federation}")
        left = [pod for pod in pods if proof.labels_of(pod).get("app.kubernetes.io/name") in applications]
        if not left:
            return
        now = time.monotonic()
        names = ", ".join(pod["metadata"]["name"] for pod in left)
        if now >= begun + seconds:
            raise ClusterError(
                f"{name}: {names} in namespace {namespace} did not stop within {seconds:g} s; last seen: "
                f"{pod_health.describe(left[0])}. Check that the node is Ready. If the hub is permanently lost: -e flower_failover_hub_lost=true"
            )
        if now >= shown + 10:
            shown = now
            say(f"{name}: waiting for the end of {names}")
        time.sleep(_PAUSE)
