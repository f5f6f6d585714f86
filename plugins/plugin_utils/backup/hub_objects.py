# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets and ConfigMaps of a hub, as an archive has them, and how they are put into a cluster with its database: an emptied hub, or a standby.

So are Services with node ports: a cluster gives a new Service other ports, and sites would not find the hub.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from typing import Any

from ..apply.applyset import ID_LABEL
from ..apply.engine import apply_objects
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.object_names import (
    AUDIT_COMPONENT,
    AUDIT_CONFIG,
    CA_SECRETS,
    RESTORE_CONFIG,
    STANDBY_CONFIG,
)
from ..kube.api_errors import NotServed
from ..kube.client import FIELD_MANAGER, Cluster
from ..manifests import certificate, common_objects, superlink
from ..marks import owners, proof
from ..spec.hub_spec import HubSpec
from . import restore_mark, volume_pod
from .database import Volume

Object = dict[str, Any]
Change = dict[str, str]
KINDS = ("ConfigMap", "Secret", "Service")
# The record that says whether a hub serves (C(backup/leadership.py)). Each hub has its own, so it is in no copy.
TERM = STANDBY_CONFIG
# The record that says that a restore of a hub is not complete (C(restore_mark.py)).
RESTORE = RESTORE_CONFIG
_SERVICE = ("type", "selector", "ports")
_CLAIM = "PersistentVolumeClaim"
_CONTENT = ("data", "binaryData", "type", "immutable")


def stored(item: Mapping[str, Any]) -> Object:
    """What an archive has of an object: nothing that an API server adds."""
    meta = item["metadata"]
    kept = {key: meta[key] for key in ("name", "namespace", "labels", "annotations") if meta.get(key)}
    content = {key: item[key] for key in _CONTENT if item.get(key) is not None}
    if item["kind"] == "Service":
        content = {"spec": {key: item["spec"][key] for key in _SERVICE if key in item["spec"]}}
    return {"apiVersion": "v1", "kind": item["kind"], "metadata": kept, **content}


def is_applied(item: Mapping[str, Any]) -> bool:
    """Whether this collection wrote the object by server-side apply: so it is written again, or fields would have two owners.

    Not a Service: its ports are the API server's, and an apply without them would remove them if they were applied.
    """
    if item["kind"] == "Service":
        return False
    entries = item["metadata"].get("managedFields") or []
    return any((one.get("manager"), one.get("operation")) == (FIELD_MANAGER, "Apply") for one in entries)


def of_hub(item: Mapping[str, Any], federation: str) -> bool:
    """Whether an object is the hub's and goes with it. Records of ApplySets are not: the next run writes them. Nor is what is of one cluster, such
    as the link of a site that the cluster of a standby may have as well.

    By its labels, as for every change: a CA key that someone has put back by hand is used, and nothing else would have a copy of it.
    """
    is_record = ID_LABEL in proof.labels_of(item) or item["metadata"]["name"] in (TERM, RESTORE)
    if item["kind"] == "Service" and not any(port.get("nodePort") for port in item["spec"].get("ports") or []):
        return False
    return not is_record and proof.belongs(item, federation) and owners.part_of(item) != owners.PART_SITE and not owners.is_of_network(item)


def collect(hub: Cluster, namespace: str, ca_namespace: str, federation: str) -> list[dict[str, Any]]:
    """The hub's objects, dicts with C(object) and C(applied), the audit trail first: what a restore does is appended to it.

    The namespace of the CA keys has nothing but Secrets of ours, and the rendered rights allow to read nothing else there.
    """
    labels = f"{proof.MANAGED_BY}={MANAGER},{proof.INSTANCE}={federation}"
    found = [
        {"object": stored(item), "applied": is_applied(item)}
        for place, kinds in {ca_namespace: ("Secret",), namespace: KINDS}.items()
        for kind in kinds
        for item in hub.list("v1", kind, place, labels=labels)
        if of_hub(item, federation)
    ]
    return sorted(found, key=lambda one: (not is_trail(one["object"]), one["object"]["metadata"]["name"] == AUDIT_CONFIG))


def is_trail(item: Mapping[str, Any]) -> bool:
    """Whether an object is part of the audit trail."""
    return proof.labels_of(item).get("app.kubernetes.io/component") == AUDIT_COMPONENT


def continues(live: Mapping[str, Any], item: Mapping[str, Any]) -> bool:
    """Whether a live object has the content of a stored one. Texts of the audit trail may have more lines, which an interrupted
    restore appended; its head, which names the last one, is proven by them."""
    if is_trail(item) and item["metadata"]["name"] == AUDIT_CONFIG:
        return True
    if is_trail(item):
        there = live.get("data") or {}
        return all(str(there.get(key, "")).startswith(text) for key, text in (item.get("data") or {}).items())
    return all(live.get(key) == item.get(key) for key in ("data", "binaryData"))


def fault(entries: Any, namespaces: Iterable[str], federation: str) -> str:
    """Why a list of an archive is not one of C(collect): a sentence; empty if it is."""
    places = set(namespaces)
    for one in entries if isinstance(entries, list) else [None]:
        item = one.get("object") if isinstance(one, Mapping) else None
        if not isinstance(item, Mapping) or item.get("kind") not in KINDS or not isinstance(item.get("metadata"), Mapping):
            return "it contains something besides Secrets, ConfigMaps and Services"
        if item["metadata"].get("namespace") not in places:
            return f"it contains objects of other namespaces than {', '.join(sorted(places))}"
        if not proof.belongs(item, federation):
            return f"it contains objects that are not of the federation {federation}"
    return ""


def missing(hub: Cluster, entries: Iterable[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Those that are not in the cluster yet.

    Raises:
        ClusterError: some are there with another content.
    """
    absent, other = [], []
    for one in entries:
        kind, namespace, name = _key(one["object"])
        live = hub.get("v1", kind, name, namespace)
        if live is None:
            absent.append(one)
        elif not continues(live, one["object"]):
            other.append(f"{kind} {namespace}/{name}")
    if other:
        raise ClusterError(
            f"{hub.name}: {', '.join(other)} differ from the backup, and are not replaced. A backup is restored into an emptied hub: "
            "delete the hub's namespaces first"
        )
    return absent


def _create(hub: Cluster, one: Mapping[str, Any]) -> Change:
    """Write an object that is not there."""
    if one["applied"]:
        hub.apply(one["object"])
    else:
        hub.create(one["object"])
    return _entry(one["object"], "created")


@dataclass
class Restored:
    """What a restore changed.

    Attributes:
        objects: the objects, with C(kind), C(namespace), C(name) and C(change).
        database: whether the database was written. It is not where the same one already exists.
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
) -> Restored:
    """Write namespaces, objects and the database. A restore that was interrupted is completed by the next one of the same source.

    In an emptied hub only what is missing is created, under the mark of C(restore_mark). On a standby, whose record says that it does not serve,
    objects that differ are replaced, and those that the hub does not have are deleted.

    Args:
        entries: its objects, as C(collect) returns them.
        put: writes the database to a volume; returns whether it was not there already.
        source: name of the backup's file, or of the hub, for the mark and the volume claim.
        seconds: how long the pod that writes the database may take to start and to end.

    Raises:
        ClusterError: something is in the way. What was written stays.
    """
    done = Restored()

    wanted = common_objects.namespace_objects(spec) + (common_objects.namespace_objects(spec.beside(ca_namespace)) if ca_namespace != spec.namespace else [])
    if wanted:
        done.objects += [one for one in apply_objects(cluster, wanted).objects if one["change"] != "unchanged"]
    with nullcontext() if is_standby else restore_mark.marked(cluster, spec.namespace, spec.federation, source):
        if cluster.get("v1", _CLAIM, superlink.CLAIM, spec.namespace) is None:
            cluster.create(volume_pod.claim(spec, source))
            done.objects.append({"kind": _CLAIM, "namespace": spec.namespace, "name": superlink.CLAIM, "change": "created"})
        if is_standby:
            _replace(cluster, spec, ca_namespace, entries, done.objects.append)
        else:
            for one in missing(cluster, entries):
                done.objects.append(_create(cluster, one))
        with volume_pod.running(cluster, spec, seconds) as volume:
            done.database = put(volume)
    return done


def _replace(
    cluster: Cluster, spec: HubSpec, ca_namespace: str, entries: Iterable[Mapping[str, Any]], add: Callable[[Change], None]
) -> None:
    """Write the objects that differ, and delete those that the hub does not have, but no key of a CA, which the hub may have lost. What cert-manager
    issued for the standby stays: it is for its own address. So do Services, which are each cluster's own."""
    keys: set[tuple[str, str, str]] = set()
    if cluster.get("v1", "Secret", certificate.SECRET, spec.namespace) is not None:
        with suppress(NotServed):
            if cluster.get(certificate.API, certificate.KIND, certificate.NAME, spec.namespace) is not None:
                keys.add(("Secret", spec.namespace, certificate.SECRET))
    for one in entries:
        item = one["object"]
        if item["kind"] == "Service" or _key(item) in keys:
            continue
        keys.add(_key(item))
        live = _live(cluster, item)
        if live is not None and stored(live) == item:
            continue
        if live is None:
            add(_create(cluster, one))
            continue
        if not proof.may_delete(live, spec.federation):
            kind, namespace, name = _key(item)
            raise ClusterError(f"{cluster.name}: {kind} {namespace}/{name} {proof.holder(live)}: it is not replaced. Delete or rename it")
        if live.get("immutable"):
            _delete(cluster, live)
            _create(cluster, one)
        elif one["applied"]:
            cluster.apply(item)
        else:
            cluster.replace({**item, "metadata": {**item["metadata"], "resourceVersion": live["metadata"]["resourceVersion"]}})
        add(_entry(item, "changed"))
    for one in collect(cluster, spec.namespace, ca_namespace, spec.federation):
        item = one["object"]
        if item["kind"] == "Service" or _key(item) in keys or item["metadata"]["name"] in CA_SECRETS:
            continue
        live = _live(cluster, item)
        if live is not None and proof.may_delete(live, spec.federation):
            _delete(cluster, live)
            add(_entry(item, "deleted"))


def _live(cluster: Cluster, item: Mapping[str, Any]) -> Object | None:
    kind, namespace, name = _key(item)
    live = cluster.get("v1", kind, name, namespace)
    return None if live is None else {**live, "kind": kind}


def _delete(cluster: Cluster, live: Mapping[str, Any]) -> None:
    kind, namespace, name = _key(live)
    cluster.delete("v1", kind, name, namespace, uid=live["metadata"]["uid"], propagation="Background")


def _key(item: Mapping[str, Any]) -> tuple[str, str, str]:
    return item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]


def _entry(item: Mapping[str, Any], change: str) -> Change:
    kind, namespace, name = _key(item)
    return {"kind": kind, "namespace": namespace, "name": name, "change": change}
