# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Secrets and ConfigMaps of a hub, as an archive has them. Pure, apart from C(collect), C(missing) and C(restore).

So are Services with node ports: a cluster gives a new Service other ports, and sites would not find the hub.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..apply.applyset import ID_LABEL
from ..base.errors import ClusterError
from ..base.labels import MANAGER
from ..base.object_names import (
    AUDIT_COMPONENT,
    AUDIT_CONFIG,
    CA_SECRET,
    CLIENT_CA_SECRET,
    INTERNAL_CA_SECRET,
    RESTORE_CONFIG,
    STANDBY_CONFIG,
)
from ..kube.client import FIELD_MANAGER, Cluster
from ..marks import owners, proof

Object = dict[str, Any]
KINDS = ("ConfigMap", "Secret", "Service")
# The record that says whether a hub serves (C(backup/leadership.py)). Each hub has its own, so it is in no copy.
TERM = STANDBY_CONFIG
# The record that says that a restore of a hub is not complete (C(restore_mark.py)).
RESTORE = RESTORE_CONFIG
#: Secrets with keys of certificate authorities. Without one, all that trust it would be cut off, so a copy of it outlives it.
AUTHORITIES = {CA_SECRET, CLIENT_CA_SECRET, INTERNAL_CA_SECRET}
_SERVICE = ("type", "selector", "ports")
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
    """Whether an object is the hub's and goes with it. Records of ApplySets are not: the next run writes them. Nor is what is of one cluster.

    By its labels, as for every change: a CA key that someone has put back by hand is used, and nothing else would have a copy of it.
    """
    is_record = ID_LABEL in proof.labels_of(item) or item["metadata"]["name"] in (TERM, RESTORE)
    if item["kind"] == "Service" and not any(port.get("nodePort") for port in item["spec"].get("ports") or []):
        return False
    return not is_record and proof.belongs(item, federation) and owners.part_of(item) != owners.PART_SITE


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
        item = one["object"]
        meta = item["metadata"]
        live = hub.get("v1", item["kind"], meta["name"], meta["namespace"])
        if live is None:
            absent.append(one)
        elif not continues(live, item):
            other.append(f"{item['kind']} {meta['namespace']}/{meta['name']}")
    if other:
        raise ClusterError(
            f"{hub.name}: {', '.join(other)} differ from the backup, and are not replaced. A backup is restored into an emptied hub: "
            "delete the hub's namespaces first"
        )
    return absent


def restore(hub: Cluster, one: Mapping[str, Any]) -> dict[str, Any]:
    """Write an object that is not there; its entry for the result."""
    item = one["object"]
    meta = item["metadata"]
    if one["applied"]:
        hub.apply(item)
    else:
        hub.create(item)
    return {"kind": item["kind"], "namespace": meta["namespace"], "name": meta["name"], "change": "created"}
