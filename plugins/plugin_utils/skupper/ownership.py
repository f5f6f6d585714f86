# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose an object of Skupper is, and which end of the network a namespace is.

Skupper serves one Site for a namespace, and both ends have ApplySets of the same names. So what one end creates or removes in the
namespace of the other deletes the other's Site, Connector and links. The records of the sets show whose they are: only the hub
has a Connector, and Certificates and AccessGrants for links; only a site has a Listener and a Link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..apply import applyset as sets
from ..base.labels import MANAGER
from ..base.object_names import SUPERLINK
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests import skupper
from ..manifests.skupper import API
from ..marks.owners import PART_HUB, PART_SITE

Object = Mapping[str, Any]

#: The sets whose records show the end, in the order in which they count.
RECORDS = (skupper.applyset(skupper.LISTENER), skupper.applyset(skupper.LINK), SUPERLINK)

_GROUP = API.partition("/")[0]
_OF_HUB = {(_GROUP, kind) for kind in ("Connector", "Certificate", "AccessGrant")}
_OF_SITE = {(_GROUP, kind) for kind in ("Listener", "Link", "AccessToken")}

# Kinds that users create; Skupper creates the others itself.
_KINDS = ("Site", "Link", "Listener", "Connector", "AccessGrant", "AccessToken", "MultiKeyListener", "AttachedConnector")


def is_ours(obj: Object | None) -> bool:
    """Whether this collection created an object."""
    return (((obj or {}).get("metadata") or {}).get("labels") or {}).get("app.kubernetes.io/managed-by") == MANAGER


def split(objects: Iterable[Object]) -> tuple[list[Object], list[Object]]:
    """Ours, and those of others."""
    found = list(objects)
    return [obj for obj in found if is_ours(obj)], [obj for obj in found if not is_ours(obj)]


def owners(obj: Object | None, kind: str) -> list[str]:
    """Uids of the owners of this kind."""
    listed = ((obj or {}).get("metadata") or {}).get("ownerReferences") or []
    return [str(one.get("uid")) for one in listed if one.get("kind") == kind]


def is_issued(secret: Object) -> bool:
    """Whether Skupper created a Secret for one of its Certificates. It recreates only what it created; what a user has put there it leaves alone
    (2.2, internal/kube/certificates/mgr.go; doc/tls/README.md, «Using user-provided CAs»)."""
    return "internal.skupper.io/controlled" in (secret["metadata"].get("annotations") or {}) or bool(owners(secret, "Certificate"))


def is_redeemed(secret: Object | None) -> bool:
    """Whether a Secret comes from a token: its owner is then its Site."""
    return bool(owners(secret, "Site"))


def end_of(records: Iterable[Mapping[str, Any] | None], *, own: bool = False) -> str:
    """Whose the namespace is: C(PART_HUB), C(PART_SITE), or empty while nothing shows it.

    Args:
        records: the live records of C(RECORDS), as far as they exist. The first one that shows something counts.
        own: whether the namespace has a Site of the one who asks. Then the SuperLink beside it, which may be a standby, shows nothing.
    """
    for record in records:
        kinds, _namespaces = sets.noted(record)
        if kinds & _OF_HUB:
            return PART_HUB
        if kinds & _OF_SITE:
            return PART_SITE
        if record is not None and not own and record["metadata"]["name"] == sets.parent_name(SUPERLINK):
            return PART_HUB
    return ""


def end_error(namespace: str, end: str, *, hub: bool, removing: bool = False) -> str:
    """Why one end must not touch a namespace, a sentence without its full stop; empty if it may.

    Args:
        end: whose it is, what C(end_of) returned.
        hub: whether the one who asks is the hub.
        removing: whether its parts of the network are to be removed.
    """
    if hub and end == PART_SITE:
        return (
            f"namespace {namespace} contains the Listener or the link of a site, and Skupper serves one Site for a namespace: the hub's "
            "would replace that of the site. Remove the site from the network first (federated.flower.skupper_leave), or select another "
            "namespace for the hub (flower_namespace)"
        )
    if hub or end != PART_HUB:
        return ""
    if removing:
        return (
            f"its namespace {namespace} is the hub's own: the Site, the Connector and the certificates of links there are the hub's, and "
            "all sites need them. Nothing was removed. With flower_connectivity: direct, this host has nothing to remove: the next run of "
            "federated.flower.site restores the hub's Site, should that of this host be in its place"
        )
    return (
        f"its namespace {namespace} is the hub's own, and Skupper serves one Site for a namespace: that of this host would replace the "
        "hub's, and all links would be lost. SuperNodes beside the hub need none: set flower_connectivity to direct for this host, or "
        "select another namespace for it (flower_namespace)"
    )


def objects_of_others(cluster: Cluster, namespace: str) -> list[str]:
    """Objects of Skupper in a namespace that someone else created, for people. Links from a token belong to its Site."""
    found = []
    ours: set[str] = set()
    for kind in _KINDS:
        try:
            listed = cluster.list(API, kind, namespace)
        except NotServed:
            continue
        ours |= {str(one["metadata"]["uid"]) for one in listed if kind == "Site" and is_ours(one)}
        found += [f"{kind} {one['metadata']['name']}" for one in listed if not is_ours(one) and not ours & set(owners(one, "Site"))]
    return found
