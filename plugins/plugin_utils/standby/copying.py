# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Copying a hub to its standby: the database first, so that what a site registers meanwhile is missing in the copy, which site.yml corrects."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from ..apply.engine import apply_objects
from ..backup import database, database_program, hub_objects, volume_pod
from ..backup.database import Copy, Volume
from ..backup.volume_files import Place
from ..base.errors import ClusterError
from ..base.object_names import DATABASE_CLAIM, FEDERATION_CONFIG, SUPERLINK_POD
from ..base.sizes import readable
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..ledger.store import NEW, Ledger
from ..manifests import certificate, namespace, outputs
from ..marks import proof
from ..spec.hub_spec import HubSpec
from ..upgrade import releases
from . import fencing, outputs_copy
from .terms import Term

Object = dict[str, Any]
_CLAIM = "PersistentVolumeClaim"
_USE = "standby"
_CHANGES = ("created", "changed", "deleted")


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

    @property
    def identity(self) -> str:
        """The hub's identity in the ledger; empty where there is none."""
        found = Ledger(self.cluster, self.spec.namespace, self.spec.federation).identity()
        return "" if found == NEW else found

    @property
    def is_hub(self) -> bool:
        """Whether there is a hub: it has a ledger and was published."""
        return bool(self.identity) and self.published is not None

    @property
    def published(self) -> Object | None:
        """What it has published."""
        return self.cluster.get("v1", "ConfigMap", FEDERATION_CONFIG, self.spec.namespace)


@dataclass
class Done:
    """What a copy did.

    Attributes:
        copied: when it was started, in UTC.
        claim: uid of the volume claim with the database.
        size: bytes of the database.
        replaced: whether the database on the standby was another one.
        objects: what was written and deleted, for the result.
        outputs: what became of the outputs; None where there are none.
    """

    copied: str
    claim: str = ""
    size: int = 0
    replaced: bool = False
    objects: list[dict[str, str]] = field(default_factory=list)
    outputs: outputs_copy.Copied | None = None

    @property
    def words(self) -> str:
        """For people."""
        said = [f"a database of {readable(self.size)}"] if self.size else []
        said.append(f"{len(self.objects)} objects that differed")
        return ", ".join(said + ([self.outputs.words] if self.outputs else []))


def origin(source: End) -> str:
    """What the volume claim of a standby says of the hub whose database it is for (C(volume_pod.RESTORED))."""
    return f"the hub {source.host}"


def faults(source: End, target: End, there: Term | None) -> list[str]:
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
    if releases.is_older(target.spec.version, version):
        found.append(
            f"{target.host} is to have Flower {target.spec.version}, which cannot read the database of Flower {version} on {source.host}: set "
            f"flower_version to {version} or newer"
        )
    if source.spec.outputs_enabled and not target.spec.outputs_enabled:
        found.append(f"{target.host}: superlink_outputs_enabled is false, and {source.host} has outputs of runs: set it for both")
    claim = target.spec.outputs_claim
    if claim and target.cluster.get("v1", _CLAIM, claim, target.spec.namespace) is None:
        found.append(f"{target.host}: there is no volume claim {target.spec.namespace}/{claim} (superlink_outputs_claim): create it")
    for name in dict.fromkeys(theirs):
        live = target.cluster.get("v1", "Namespace", name)
        if live is not None and live["metadata"].get("deletionTimestamp"):
            found.append(f"{target.host}: namespace {name} is being deleted: run again when it is gone")
    if target.identity and target.identity != source.identity:
        found.append(
            f"{target.host}: namespace {target.spec.namespace} has another hub of a federation {target.spec.federation}, which is not replaced. "
            "Choose another cluster, or remove that hub"
        )
    elif there is None and fencing.serves(target.cluster, target.spec.namespace):
        found.append(
            f"{target.host} has a SuperLink that serves, and no record that it is a standby: it is not replaced. Choose another cluster, or "
            "remove it"
        )
    return found


def copy(
    source: End,
    target: End,
    *,
    stopped: bool,
    with_outputs: bool,
    seconds: float,
    say: Callable[[str], None],
    assure: Callable[[], None],
    has_database: str = "",
    since: str = "",
) -> Done:
    """Copy the hub. What an interrupted copy did is kept and completed; the former database stays whole until the new one is.

    Args:
        source: the hub.
        target: the standby, of which C(faults) has found none.
        stopped: whether the hub is stopped, so that its volumes are read through separate pods.
        with_outputs: whether the outputs of runs are copied.
        seconds: how long pods may take to start and to end.
        say: shows the progress.
        assure: called before anything is written that a hub would have to have for itself; raises if this run must not write it.
        has_database: uid of the volume claim that has all that the database must have, so that it is not copied once more.
        since: the time at which it was found so.
    """
    done = Done(since or moment())
    done.objects += _prepare(source, target)
    done.claim = target.cluster.get("v1", _CLAIM, DATABASE_CLAIM, target.spec.namespace)["metadata"]["uid"]  # type: ignore[index]
    if done.claim != has_database:
        holder = volume_pod.Holder(target.cluster, target.spec, seconds)
        with _volume(source, stopped, seconds) as there, holder as here, Copy(there, _USE) as data:
            facts = {"size": data.size, "sha256": data.sha256}
            done.size = data.size
            done.replaced = database.put(here, facts, data, replace=True, assure=assure)  # type: ignore[arg-type]  # it is read only
    assure()
    done.objects += _objects(source, target)
    if with_outputs and source.spec.outputs_enabled:
        body = volume_pod.outputs_pod(target.spec)
        with _outputs(source, stopped, seconds) as place, volume_pod.Holder(target.cluster, target.spec, seconds, body) as volume:
            assure()
            here_place = Place(volume.cluster, volume.namespace, volume.pod, volume.container)
            done.outputs = outputs_copy.copy(place, here_place, say, shared=bool(target.spec.outputs_claim))
    return done


def room_fault(hub: str, measured: Mapping[str, Any]) -> str:
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


def outputs_of(source: End) -> Place:
    """The container with the outputs of a hub that runs.

    Raises:
        ClusterError: its SuperLink names none.
    """
    live = source.cluster.get("v1", "Pod", SUPERLINK_POD, source.spec.namespace)
    pod = proof.annotations_of(live).get(outputs.PLACE)
    if not pod:
        raise ClusterError(
            f"{source.host}: its SuperLink does not say where the outputs of runs are, as superlink_outputs_enabled promises: run site.yml"
        )
    return Place(source.cluster, source.spec.namespace, pod, outputs.READER)


def objects_of(end: End) -> list[dict[str, Any]]:
    """The objects of a hub that its standby has as well, see C(hub_objects.collect). Services are each cluster's own."""
    found = hub_objects.collect(end.cluster, end.spec.namespace, end.ca_namespace, end.spec.federation)
    return [one for one in found if one["object"]["kind"] != "Service"]


@contextmanager
def _volume(source: End, stopped: bool, seconds: float) -> Iterator[Volume]:
    if stopped:
        with volume_pod.Holder(source.cluster, source.spec, seconds) as volume:
            yield volume
    else:
        yield Volume(source.cluster, source.spec.namespace, SUPERLINK_POD)


@contextmanager
def _outputs(source: End, stopped: bool, seconds: float) -> Iterator[Place]:
    if stopped:
        body = volume_pod.outputs_pod(source.spec)
        with volume_pod.Holder(source.cluster, source.spec, seconds, body) as volume:
            yield Place(volume.cluster, volume.namespace, volume.pod, volume.container)
    else:
        yield outputs_of(source)


def _prepare(source: End, target: End) -> list[dict[str, str]]:
    """Namespaces and volume claims of the standby."""
    spec, cluster = target.spec, target.cluster
    made = namespace.objects(spec)
    if target.ca_namespace != spec.namespace:
        made += namespace.objects(spec.beside(target.ca_namespace))
    made += outputs.objects(spec)
    applied = apply_objects(cluster, made).objects if made else []
    done = [_entry({"kind": one["kind"], "metadata": one}, one["change"]) for one in applied if one["change"] in _CHANGES]
    if cluster.get("v1", _CLAIM, DATABASE_CLAIM, spec.namespace) is None:
        cluster.create(volume_pod.claim(spec, origin(source)))
        done.append({"kind": _CLAIM, "namespace": spec.namespace, "name": DATABASE_CLAIM, "change": "created"})
    return done


def _objects(source: End, target: End) -> list[dict[str, str]]:
    """Write what differs, and delete what the hub does not have, but no key of a CA, which the hub may have lost. What cert-manager issues for the
    standby stays: it is for its own address."""
    spec = source.spec
    entries = objects_of(source)
    known = {_key(one["object"]) for one in entries}
    done = []
    if _is_issued(target):
        issued = ("Secret", target.spec.namespace, certificate.SECRET)
        known.add(issued)
        entries = [one for one in entries if _key(one["object"]) != issued]
    for one in entries:
        change = _write(target.cluster, one, spec.federation)
        if change:
            done.append(_entry(one["object"], change))
    for one in objects_of(target):
        item = one["object"]
        if _key(item) in known or item["metadata"]["name"] in hub_objects.AUTHORITIES:
            continue
        meta = item["metadata"]
        live = target.cluster.get("v1", item["kind"], meta["name"], meta["namespace"])
        if live is not None and proof.may_delete(live, spec.federation):
            target.cluster.delete("v1", item["kind"], meta["name"], meta["namespace"], uid=live["metadata"]["uid"], propagation="Background")
            done.append(_entry(item, "deleted"))
    return done


def _is_issued(target: End) -> bool:
    """Whether the standby has served before, with a certificate that cert-manager in its cluster keeps."""
    if target.cluster.get("v1", "Secret", certificate.SECRET, target.spec.namespace) is None:
        return False
    try:
        return target.cluster.get(certificate.API, certificate.KIND, certificate.NAME, target.spec.namespace) is not None
    except NotServed:
        return False


def _write(cluster: Cluster, one: Mapping[str, Any], federation_name: str) -> str:
    """Write an object if it differs; what was done."""
    item = one["object"]
    meta = item["metadata"]
    live = cluster.get("v1", item["kind"], meta["name"], meta["namespace"])
    if live is None:
        hub_objects.restore(cluster, one)
        return "created"
    live = {**live, "kind": item["kind"]}
    if hub_objects.stored(live) == item:
        return ""
    if not proof.may_delete(live, federation_name):
        raise ClusterError(
            f"{cluster.name}: {item['kind']} {meta['namespace']}/{meta['name']} {proof.holder(live)}: it is not replaced. Delete or rename it"
        )
    if live.get("immutable"):
        cluster.delete("v1", item["kind"], meta["name"], meta["namespace"], uid=live["metadata"]["uid"], propagation="Background")
        hub_objects.restore(cluster, one)
    elif one["applied"]:
        cluster.apply(item)
    else:
        cluster.replace({**item, "metadata": {**meta, "resourceVersion": live["metadata"]["resourceVersion"]}})
    return "changed"


def _key(item: Mapping[str, Any]) -> tuple[str, str, str]:
    return item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]


def _entry(item: Mapping[str, Any], change: str) -> dict[str, str]:
    meta = item["metadata"]
    return {"kind": item["kind"], "namespace": meta.get("namespace", ""), "name": meta["name"], "change": change}
