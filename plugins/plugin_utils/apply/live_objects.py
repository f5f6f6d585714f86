# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ApplySet of one run: its record, its live members, and those that are no longer listed.

One LIST by the label of the set returns all members of one kind and namespace; the same answer shows what must be pruned. What a LIST does
not return (it may exist without the label), or where it is forbidden, as reading Secrets often is, is read by GET.

A kind that may not be listed, or that is not served now, may still have members. It must stay in the record, for a run
that can see them.
"""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..base import kinds
from ..base.errors import ClusterError
from ..base.kinds import group_of
from ..kube.api_errors import ApiError, Forbidden, NotServed
from ..kube.client import FIELD_MANAGER, Cluster, Resource
from ..marks import owners, proof
from . import applyset as sets
from . import results
from .compare import differs
from .order import Id, id_of

Object = dict[str, Any]

#: Objects that are deleted in one run because they are not listed any more, and characters of a name.
MOST = 5000
LONGEST = 253


@dataclass
class Unlisted:
    """What a set has besides the listed objects.

    Attributes:
        to_delete: members that this field manager created and that nothing needs.
        to_keep: those that the other part of the federation needs.
        unseen: kinds and namespaces of the record that could not be read, each as an C(Id) without a name.
        forbidden: those of them for which the right to list is missing -> a sentence that names it.
    """

    to_delete: list[Object] = field(default_factory=list)
    to_keep: list[Object] = field(default_factory=list)
    unseen: list[Id] = field(default_factory=list)
    forbidden: dict[Id, str] = field(default_factory=dict)


@dataclass
class Members:
    """The set C(name); for C(owner), C(part), C(named) and C(unrecorded) see C(engine.apply_objects).

    Attributes:
        parent: its record as it is live; None while there is none.
    """

    cluster: Cluster
    name: str
    namespace: str
    owner: Mapping[str, str]
    part: str | None
    named: Collection[sets.GroupKind]
    unrecorded: Collection[sets.GroupKind]
    check: bool
    parent: Object | None = None

    def __post_init__(self) -> None:
        self.id = sets.set_id(self.name, self.namespace)
        self.which = Id("", "ConfigMap", self.namespace, sets.parent_name(self.name))
        self._listed: dict[tuple[str, str, str], list[Object] | ApiError] = {}

    def forget(self) -> None:
        """The namespace of the record was deleted, with the record."""
        self.parent = None
        self._listed.clear()

    def read(self, *, claim: bool) -> None:
        """Read the record.

        Raises:
            ClusterError: another tool created it, or it is another deployment's and not to be claimed.
        """
        self.parent = self.cluster.get("v1", "ConfigMap", self.which.name, self.namespace)
        if tool := sets.foreign_tool(self.parent):
            raise ClusterError(f"{self.which} exists already and was created by {tool}: choose another applyset.")
        if stranger := "" if claim else owners.other_deployment_error(self.parent, self.owner):
            raise ClusterError(f"{self.cluster.name}: {stranger}")

    def find(self, obj: Object) -> Object | None:
        """The live counterpart of a listed object, if the set has a record, and a LIST returns it."""
        if self.parent is None or not sets.is_member_kind(group_of(obj["apiVersion"]), obj["kind"]):
            return None
        with contextlib.suppress(ApiError):
            members = self._members(obj["apiVersion"], obj["kind"], obj["metadata"].get("namespace") or "")
            return next((one for one in members if id_of(one) == id_of(obj)), None)
        return None

    def _members(self, api_version: str, kind: str, namespace: str) -> list[Object]:
        """Members of one kind in one namespace. Requested once; what the API server refused, it refuses every time."""
        key = (group_of(api_version), kind, namespace)
        if key not in self._listed:
            try:
                self._listed[key] = self.cluster.list(api_version, kind, namespace or None, labels=f"{sets.PART_OF}={self.id}")
            except ApiError as error:
                self._listed[key] = error
        found = self._listed[key]
        if isinstance(found, ApiError):
            raise found
        return found

    def widen(self, ids: Iterable[Id]) -> None:
        """Record these members besides those that are recorded; before they are created."""
        old_kinds, old_namespaces = sets.noted(self.parent)
        new_kinds, new_namespaces = sets.kinds_and_namespaces(ids, self.namespace)
        self._write(old_kinds | new_kinds, old_namespaces | new_namespaces)

    def narrow(self, ids: Iterable[Id]) -> None:
        """Record these members only; after others were deleted."""
        self._write(*sets.kinds_and_namespaces(ids, self.namespace))

    def _write(self, group_kinds: Iterable[sets.GroupKind], namespaces: Iterable[str]) -> None:
        """It counts as a change only together with a change of members. Its owner stays unless this run names one."""
        notes = {**owners.kept_notes(self.parent), **self.owner}
        wanted = sets.parent_object(self.name, self.namespace, group_kinds, namespaces, notes)
        if not self.check and (self.parent is None or differs(wanted, self.parent, FIELD_MANAGER)):
            self.parent = self.cluster.apply(wanted)

    def delete(self) -> None:
        """Delete the record, as long as it is the one that was read: another run may have added members since.

        Raises:
            Conflict: it is not.
        """
        if self.parent is not None:
            own = {"uid": self.parent["metadata"]["uid"], "version": self.parent["metadata"]["resourceVersion"]}
            self.cluster.delete("v1", "ConfigMap", self.which.name, self.namespace, propagation="Background", **own)

    def unlisted(self, listed: Mapping[Id, str]) -> Unlisted:
        """Find the members of the set that are not listed, in all kinds and namespaces of its record.

        Args:
            listed: the listed objects -> their apiVersion.

        Raises:
            ApiError: the API server refused a request for another reason than a missing right.
            ClusterError: it names more members than any part of a federation has, or none of Kubernetes.
        """
        found, strays = Unlisted(), []
        if self.parent is None:
            group_kinds, namespaces = set(self.unrecorded), [""]
        else:
            group_kinds, others = sets.noted(self.parent)
            namespaces = sorted({self.parent["metadata"]["namespace"], *others})
        versions = {(which.group, which.kind): api_version for which, api_version in listed.items()}
        for group, kind in sorted(group_kinds):
            if not sets.is_member_kind(group, kind):
                continue
            resource = _resource(self.cluster, group, kind, versions.get((group, kind)))
            if resource is None:
                found.unseen += [Id(group, kind, namespace, "") for namespace in namespaces]
                continue
            for namespace in namespaces if resource.namespaced else [""]:
                place = Id(group, kind, namespace, "")
                try:
                    members = self._members(resource.api_version, kind, namespace)
                except Forbidden as error:
                    if (group, kind) not in self.named:
                        found.unseen.append(place)
                        found.forbidden[place] = results.describe_error(error)[1]
                except NotServed:
                    found.unseen.append(place)
                else:
                    strays += [obj for obj in members if id_of(obj) not in listed and proof.has_written(obj)]
        if len(strays) > MOST or any(len(name) > LONGEST for obj in strays for name in id_of(obj)):
            raise ClusterError(
                f"{self.cluster.name} lists {len(strays)} objects that are no longer part of this federation, which is more than {MOST}, or one of them "
                f"has a name of more than {LONGEST} characters: nothing was deleted. Check them, and delete them manually: "
                f"kubectl get KIND --all-namespaces -l {sets.PART_OF}"
            )
        if self.part:
            all_bindings = not any(place.kind in owners.BINDINGS for place in found.unseen)
            found.to_keep = owners.needed_by_others(strays, self.part, all_bindings=all_bindings)
        found.to_delete = [obj for obj in strays if obj not in found.to_keep]
        return found


def _resource(cluster: Cluster, group: str, kind: str, api_version: str | None) -> Resource | None:
    """How objects of a kind are addressed, in any version of it; None where the API server does not serve it now."""
    known = api_version or kinds.version_of(group, kind)
    if not known:
        return cluster.served(group, kind) if group else None
    try:
        return cluster.resource(known, kind)
    except NotServed:
        return None
