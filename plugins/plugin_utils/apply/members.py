# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Find the members of an ApplySet that are no longer listed, by what its record names.

A kind that may not be listed, or that is not served now, may still have members. It must stay in the record, for a run
that can see them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base import kinds
from ..base.errors import ClusterError
from ..kube.api_errors import Forbidden, NotFound, NotServed
from ..kube.client import FIELD_MANAGER, Cluster, Resource
from . import applyset as sets
from . import messages
from .compare import has_manager
from .live import Live
from .order import Id, id_of

Object = dict[str, Any]

#: Objects that are deleted in one run because they are not listed any more, and characters of a name.
MOST = 5000
LONGEST = 253


@dataclass
class Unlisted:
    """What a set has besides the listed objects.

    Attributes:
        strays: members that are not listed and that this field manager created.
        unseen: kinds and namespaces of the record that could not be looked at, each as an C(Id) without a name.
        forbidden: those of them for which the right to list is missing -> a sentence that names it.
    """

    strays: list[Object] = field(default_factory=list)
    unseen: list[Id] = field(default_factory=list)
    forbidden: dict[Id, str] = field(default_factory=dict)


def unlisted(
    cluster: Cluster,
    live: Live,
    parent: Mapping[str, Any] | None,
    listed: Mapping[Id, str],
    named: Collection[sets.GroupKind] = (),
    unrecorded: Collection[sets.GroupKind] = (),
) -> Unlisted:
    """Look at all kinds and namespaces that the record of a set names.

    Args:
        cluster: a connection.
        live: reads the members of the set.
        parent: the record; None when there is none yet.
        listed: the listed objects -> their apiVersion.
        named: kinds of which the caller names all members itself: those that it may not list are not missed.
        unrecorded: kinds to look at in the whole cluster where there is no record.

    Raises:
        ApiError: the API server refused a request for another reason than a missing right.
        ClusterError: it names more members than any part of a federation has, or none of Kubernetes.
    """
    found = Unlisted()
    if parent is None:
        group_kinds, namespaces = set(unrecorded), [""]
    else:
        group_kinds, others = sets.noted(parent)
        namespaces = sorted({parent["metadata"]["namespace"], *others})
    versions = {(which.group, which.kind): api_version for which, api_version in listed.items()}
    for group, kind in sorted(group_kinds):
        if not sets.is_member_kind(group, kind):
            continue
        resource = _resource(cluster, group, kind, versions.get((group, kind)))
        if resource is None:
            found.unseen += [Id(group, kind, namespace, "") for namespace in namespaces]
            continue
        for namespace in namespaces if resource.namespaced else [""]:
            place = Id(group, kind, namespace, "")
            try:
                members = live.members(resource.api_version, kind, namespace)
            except Forbidden as error:
                if (group, kind) not in named:
                    found.unseen.append(place)
                    found.forbidden[place] = messages.describe(error)[1]
            except NotServed:
                found.unseen.append(place)
            else:
                found.strays += [obj for obj in members if id_of(obj) not in listed and has_manager(obj, FIELD_MANAGER)]
    if len(found.strays) > MOST or any(len(name) > LONGEST for obj in found.strays for name in id_of(obj)):
        raise ClusterError(
            f"{cluster.name} lists {len(found.strays)} objects that this federation has no use for any more, which is more than {MOST}, or one of them has a "
            f"name of more than {LONGEST} characters: nothing is deleted. Check them, and delete them by hand: "
            f"kubectl get KIND --all-namespaces -l {sets.PART_OF}"
        )
    return found


def _resource(cluster: Cluster, group: str, kind: str, api_version: str | None) -> Resource | None:
    """How objects of a kind are addressed; None where the API server does not serve it now."""
    for version in [api_version] if api_version else _versions(cluster, group, kind):
        try:
            return cluster.resource(version, kind)
        except NotServed:
            continue
    return None


def _versions(cluster: Cluster, group: str, kind: str) -> list[str]:
    """Versions of a group, the preferred one first (any version of a kind has the same objects)."""
    known = kinds.version_of(group, kind)
    if known is not None:
        return [known]
    try:
        answer = cluster.request("GET", f"/apis/{group}") if group else {}
    except NotFound:
        return []
    versions = [answer.get("preferredVersion") or {}, *(answer.get("versions") or [])]
    return list(dict.fromkeys(version["groupVersion"] for version in versions if "groupVersion" in version))
