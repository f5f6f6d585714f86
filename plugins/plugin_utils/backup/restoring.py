# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Put the objects and the database of a hub into a cluster where its SuperLink does not run: an emptied hub, or a standby."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

from ..apply.engine import apply_objects
from ..base.errors import ClusterError
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests import certificate, common_objects, superlink
from ..marks import proof
from ..spec.hub_spec import HubSpec
from . import hub_objects, restore_mark, volume_pod
from .database import Volume

Object = dict[str, Any]
Change = dict[str, str]
_CLAIM = "PersistentVolumeClaim"


@dataclass
class Restored:
    """What a restore changed.

    Attributes:
        objects: the objects, with C(kind), C(common_objects), C(name) and C(change).
        database: whether the database was written. It is not where the same one is there already.
    """

    objects: list[Change] = field(default_factory=list)
    database: bool = False


def restore(
    cluster: Cluster,
    spec: HubSpec,
    ca_namespace: str,
    entries: Iterable[Mapping[str, Any]],
    put: Callable[[Volume], bool],
    *,
    source: str,
    seconds: float,
    is_standby: bool = False,
    on_change: Callable[[list[Change]], None] = lambda changes: None,
) -> Restored:
    """Write namespaces, objects and the database. A restore that was interrupted is completed by the next one of the same source.

    In an emptied hub only what is missing is created, under the mark of C(restore_mark). On a standby, whose record says that it does not serve,
    objects that differ are replaced, and those that the hub does not have are deleted.

    Args:
        cluster: a connection.
        spec: of the hub.
        ca_namespace: of its CA keys.
        entries: its objects, as C(hub_objects.collect) returns them.
        put: writes the database to a volume; returns whether it was not there already.
        source: name of the backup's file, or of the hub, for the mark and the volume claim.
        seconds: how long the pod that writes the database may take to start and to end.
        is_standby: see above.
        on_change: called with the changes as they are made.

    Raises:
        ClusterError: something is in the way. What was written stays.
    """
    done = Restored()

    def add(*changes: Change) -> None:
        done.objects.extend(changes)
        on_change(list(changes))

    wanted = common_objects.namespace_objects(spec) + (common_objects.namespace_objects(spec.beside(ca_namespace)) if ca_namespace != spec.namespace else [])
    if wanted:
        add(*(one for one in apply_objects(cluster, wanted).objects if one["change"] != "unchanged"))
    with nullcontext() if is_standby else restore_mark.marked(cluster, spec.namespace, spec.federation, source):
        if cluster.get("v1", _CLAIM, superlink.CLAIM, spec.namespace) is None:
            cluster.create(volume_pod.claim(spec, source))
            add({"kind": _CLAIM, "namespace": spec.namespace, "name": superlink.CLAIM, "change": "created"})
        if is_standby:
            _replace(cluster, spec, ca_namespace, entries, add)
        else:
            for one in hub_objects.missing(cluster, entries):
                add(hub_objects.restore(cluster, one))
        with volume_pod.running(cluster, spec, seconds) as volume:
            done.database = put(volume)
    return done


def _replace(
    cluster: Cluster, spec: HubSpec, ca_namespace: str, entries: Iterable[Mapping[str, Any]], add: Callable[[Change], None]
) -> None:
    """Write the objects that differ, and delete those that the hub does not have, but no key of a CA, which the hub may have lost. What cert-manager
    issued for the standby stays: it is for its own address. So do Services, which are each cluster's own."""
    issued = ("Secret", spec.namespace, certificate.SECRET) if _is_issued(cluster, spec.namespace) else None
    wanted = [one for one in entries if one["object"]["kind"] != "Service" and _key(one["object"]) != issued]
    keys = {_key(one["object"]) for one in wanted} | {issued}
    for one in wanted:
        if change := _write(cluster, one, spec.federation):
            add(_entry(one["object"], change))
    for one in hub_objects.collect(cluster, spec.namespace, ca_namespace, spec.federation):
        item, meta = one["object"], one["object"]["metadata"]
        if item["kind"] == "Service" or _key(item) in keys or meta["name"] in hub_objects.AUTHORITIES:
            continue
        live = cluster.get("v1", item["kind"], meta["name"], meta["namespace"])
        if live is not None and proof.may_delete(live, spec.federation):
            cluster.delete("v1", item["kind"], meta["name"], meta["namespace"], uid=live["metadata"]["uid"], propagation="Background")
            add(_entry(item, "deleted"))


def _is_issued(cluster: Cluster, space: str) -> bool:
    """Whether the standby has served before, with a certificate that cert-manager in its cluster keeps."""
    if cluster.get("v1", "Secret", certificate.SECRET, space) is None:
        return False
    try:
        return cluster.get(certificate.API, certificate.KIND, certificate.NAME, space) is not None
    except NotServed:
        return False


def _write(cluster: Cluster, one: Mapping[str, Any], federation: str) -> str:
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
    if not proof.may_delete(live, federation):
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


def _entry(item: Mapping[str, Any], change: str) -> Change:
    meta = item["metadata"]
    return {"kind": item["kind"], "namespace": meta["namespace"], "name": meta["name"], "change": change}
