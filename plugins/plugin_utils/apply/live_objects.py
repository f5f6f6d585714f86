# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Read the live objects of a list with few requests, and find members of an ApplySet that are no longer listed.

One LIST by label returns all objects of one kind and namespace. With an ApplySet that label is the set's own, and the
same answer shows what must be pruned. What a LIST does not return (it may exist without the label) and single objects
are read by GET. A LIST that is forbidden, as reading Secrets often is, falls back to GET as well.

A kind that may not be listed, or that is not served now, may still have members. It must stay in the record, for a run
that can see them.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..base import kinds
from ..base.errors import ClusterError
from ..base.kinds import group_of
from ..kube.api_errors import ApiError, Forbidden, NotFound, NotServed
from ..kube.client import FIELD_MANAGER, Cluster, Resource
from . import applyset, results
from . import applyset as sets
from .compare import has_manager
from .order import Id, id_of

_MANAGED_BY = "app.kubernetes.io/managed-by"
_LIST_FROM = 2  # objects of a kind; for one a GET is as cheap

Object = dict[str, Any]

#: Objects that are deleted in one run because they are not listed any more, and characters of a name.
MOST = 5000
LONGEST = 253


class Live:
    """Live objects of one cluster, read once."""

    def __init__(self, cluster: Cluster, set_id: str | None) -> None:
        self.cluster = cluster
        self._set_id = set_id
        self._members: dict[tuple[str, str, str], list[Object] | ApiError] = {}

    def read(self, objects: Sequence[Object], *, by_set: bool) -> dict[Id, Object | None]:
        """The live counterparts of desired objects. C(by_set): the set exists, so its label leads to its members."""
        groups: dict[tuple[str, str, str], list[Object]] = {}
        for obj in objects:
            key = (obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace") or "")
            groups.setdefault(key, []).append(obj)
        found: dict[Id, Object | None] = {}
        for (api_version, kind, namespace), wanted in groups.items():
            listed = self._list(api_version, kind, namespace, wanted, by_set=by_set)
            for obj in wanted:
                which = id_of(obj)
                found[which] = listed.get(which) or self.get(obj)
        return found

    def get(self, obj: Object) -> Object | None:
        """One live object."""
        meta = obj["metadata"]
        return self.cluster.get(obj["apiVersion"], obj["kind"], meta["name"], meta.get("namespace"))

    def _list(
        self, api_version: str, kind: str, namespace: str, wanted: Sequence[Object], *, by_set: bool
    ) -> dict[Id, Object]:
        if by_set and self._set_id and applyset.is_member_kind(group_of(api_version), kind):
            try:
                return {id_of(obj): obj for obj in self.members(api_version, kind, namespace)}
            except (Forbidden, NotServed):
                return {}
        if len(wanted) < _LIST_FROM or self._set_id is not None and not by_set:
            return {}
        labels = {(obj["metadata"].get("labels") or {}).get(_MANAGED_BY) for obj in wanted}
        if len(labels) != 1 or None in labels:
            return {}
        try:
            answer = self.cluster.list(api_version, kind, namespace or None, labels=f"{_MANAGED_BY}={labels.pop()}")
        except Forbidden:
            return {}
        return {id_of(obj): obj for obj in answer}

    def members(self, api_version: str, kind: str, namespace: str) -> list[Object]:
        """Members of the set of one kind in one namespace. Requested once.

        Raises C(Forbidden) or C(NotServed) when they cannot be looked at, every time.
        """
        key = (group_of(api_version), kind, namespace)
        if key not in self._members:
            try:
                self._members[key] = self.cluster.list(
                    api_version, kind, namespace or None, labels=f"{applyset.PART_OF}={self._set_id}"
                )
            except (Forbidden, NotServed) as error:
                self._members[key] = error
        found = self._members[key]
        if isinstance(found, ApiError):
            raise found
        return found


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


def unlisted_members(
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
                    found.forbidden[place] = results.describe_error(error)[1]
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
