# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Reading the live objects with as few requests as the API allows.

One LIST by label returns all objects of one kind and namespace. With an ApplySet that label is the set's own, and the
same answer shows what must be pruned. What a LIST does not return (it may exist without the label) and single objects
are read by GET. A LIST that is forbidden, as reading Secrets often is, falls back to GET as well.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..base.kinds import group_of
from ..kube.api_errors import ApiError, Forbidden, NotServed
from ..kube.client import Cluster
from . import applyset
from .order import Id, id_of

_MANAGED_BY = "app.kubernetes.io/managed-by"
_LIST_FROM = 2  # objects of a kind; for one a GET is as cheap

Object = dict[str, Any]


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
