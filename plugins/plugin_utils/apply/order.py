# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Prepare the user's objects: expand lists, drop fields of the API server, sort. Pure."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ..base.errors import ClusterError
from ..base.kinds import group_of

#: Written by the API server; in a desired object they could only be stale copies.
_SERVER_OWNED = (
    "creationTimestamp",
    "deletionTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
)


class Id(NamedTuple):
    """Identity of an object. C(namespace) is empty for objects of the whole cluster."""

    group: str
    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


def id_of(obj: Mapping[str, Any]) -> Id:
    """The C(Id) of an object."""
    meta = obj["metadata"]
    return Id(group_of(obj["apiVersion"]), obj["kind"], meta.get("namespace") or "", meta["name"])


def is_crd(obj: Mapping[str, Any]) -> bool:
    """Is it a CustomResourceDefinition?"""
    return obj["kind"] == "CustomResourceDefinition" and group_of(obj["apiVersion"]) == "apiextensions.k8s.io"


def kind_of_crd(obj: Mapping[str, Any]) -> tuple[str, str] | None:
    """Group and kind that a CustomResourceDefinition defines; None for one without them, and for any other object."""
    spec = obj.get("spec")
    names = spec.get("names") if is_crd(obj) and isinstance(spec, Mapping) else None
    return (spec["group"], names["kind"]) if isinstance(names, Mapping) and spec and "group" in spec and "kind" in names else None


def is_namespace(obj: Mapping[str, Any]) -> bool:
    """Is it a Namespace?"""
    return obj["kind"] == "Namespace" and obj["apiVersion"] == "v1"


def prepare(objects: Sequence[Any]) -> list[dict[str, Any]]:
    """Desired objects in the order in which they are applied: Namespaces, then CRDs, then the rest in the user's order.

    C(kind: List) is expanded, C(stringData) becomes C(data), null values, status and server-owned metadata go.
    Raises C(ClusterError) that names every entry that is not an object, or is listed twice.
    """
    faults: list[str] = []
    ready: list[dict[str, Any]] = []
    for place, entry in _unfold(objects, ""):
        fault = _fault(entry)
        if fault:
            faults.append(f"objects{place}: {fault}")
            continue
        try:
            ready.append(_normalised(entry))
        except ValueError as error:
            faults.append(f"objects{place} ({entry['kind']} {entry['metadata']['name']}): {error}")
    seen: set[Id] = set()
    for obj in ready:
        which = id_of(obj)
        if which in seen:
            faults.append(f"{which} is listed twice")
        seen.add(which)
    if faults:
        raise ClusterError("The list of objects is invalid: " + "; ".join(faults))
    return sorted(ready, key=_rank)


def _rank(obj: Mapping[str, Any]) -> int:
    return 0 if is_namespace(obj) else 1 if is_crd(obj) else 2


def _unfold(entries: Iterable[Any], prefix: str) -> Iterable[tuple[str, Any]]:
    for number, entry in enumerate(entries):
        place = f"{prefix}[{number}]"
        if isinstance(entry, Mapping) and entry.get("kind") == "List" and isinstance(entry.get("items"), list):
            yield from _unfold(entry["items"], f"{place}.items")
        elif entry is not None:  # an empty document between two '---'
            yield place, entry


def _fault(entry: Any) -> str:
    if not isinstance(entry, Mapping):
        return f"not an object but {type(entry).__name__}"
    for key in ("apiVersion", "kind"):
        if not isinstance(entry.get(key), str) or not entry[key]:
            return f"{key} is missing"
    meta = entry.get("metadata")
    if not isinstance(meta, Mapping) or not isinstance(meta.get("name"), str) or not meta["name"]:
        return f"{entry['kind']}: metadata.name is missing (generateName cannot be applied)"
    if meta.get("namespace") is not None and not isinstance(meta["namespace"], str):
        return f"{entry['kind']} {meta['name']}: metadata.namespace is not a string"
    return ""


def _normalised(entry: Mapping[str, Any]) -> dict[str, Any]:
    obj = _without_nulls(entry)
    obj.pop("status", None)
    meta = obj["metadata"]
    for key in _SERVER_OWNED:
        meta.pop(key, None)
    if obj["kind"] == "Secret" and obj["apiVersion"] == "v1":
        # stringData is write-only: the API server moves it to data and drops who owns which field
        data = dict(obj.get("data") or {})
        for key, text in (obj.pop("stringData", None) or {}).items():
            data[key] = base64.b64encode(str(text).encode()).decode()
        for key, text in data.items():
            try:
                base64.b64decode(str(text), validate=False)
            except binascii.Error:
                raise ValueError(f"data.{key} is not base64 (use stringData for plain text)") from None
        if data:
            obj["data"] = data
    return obj


def _without_nulls(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    if isinstance(value, list):
        return [_without_nulls(item) for item in value]
    return value
