# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names and records of an ApplySet: which objects were created together, so that objects that are no longer listed can be found. Pure.

Follows KEP-3659 (https://git.k8s.io/enhancements/keps/sig-cli/3659-kubectl-apply-prune). The parent is a ConfigMap
C(applyset-<name>); members carry its id as a label. The parent records the kinds and namespaces of its members; it is
widened before objects are created and narrowed after the others are deleted, so an interrupted run never loses one.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from .order import Id

PART_OF = "applyset.kubernetes.io/part-of"
ID_LABEL = "applyset.kubernetes.io/id"
TOOLING = "applyset.kubernetes.io/tooling"
GROUP_KINDS = "applyset.kubernetes.io/contains-group-kinds"
NAMESPACES = "applyset.kubernetes.io/additional-namespaces"
TOOL = "federated.flower"
#: The release that introduced this form of the record. It stays when the collection gets a new version, which therefore changes no record.
TOOL_VERSION = f"{TOOL}/v0.1.0"

#: Never pruned, and so never labelled as members: deleting one of these deletes data of others.
KEPT_KINDS = frozenset(
    (
        ("", "PersistentVolumeClaim"),
        ("", "PersistentVolume"),
        ("", "Namespace"),
        ("apiextensions.k8s.io", "CustomResourceDefinition"),
    )
)

GroupKind = tuple[str, str]


def parent_name(name: str) -> str:
    """The ConfigMap of the set C(name)."""
    return f"applyset-{name}"


def set_id(name: str, namespace: str) -> str:
    """C(applyset-<base64(sha256(name.namespace.kind.group))>-v1) of the parent, in URL-safe base64 without padding."""
    text = f"{parent_name(name)}.{namespace}.ConfigMap."
    digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
    return f"applyset-{digest}-v1"


def group_kind(text: str) -> GroupKind:
    """The group and kind that C(KIND.GROUP) means, or C(KIND) for a kind without a group."""
    kind, _dot, group = text.strip().partition(".")
    return group, kind


def is_member_kind(group: str, kind: str) -> bool:
    """May objects of this kind be members?"""
    return (group, kind) not in KEPT_KINDS


def kinds_and_namespaces(ids: Iterable[Id], parent_namespace: str) -> tuple[set[GroupKind], set[str]]:
    """What the parent must record for these members: kinds, and namespaces other than its own."""
    members = [one for one in ids if is_member_kind(one.group, one.kind)]
    kinds = {(one.group, one.kind) for one in members}
    return kinds, {one.namespace for one in members if one.namespace} - {parent_namespace}


def noted(parent: Mapping[str, Any] | None) -> tuple[set[GroupKind], set[str]]:
    """The kinds and further namespaces that a parent records."""
    if parent is None:
        return set(), set()
    annotations = parent["metadata"].get("annotations") or {}
    kinds = {group_kind(text) for text in filter(None, annotations.get(GROUP_KINDS, "").split(","))}
    return kinds, {text.strip() for text in annotations.get(NAMESPACES, "").split(",") if text.strip()}


def foreign_tool(parent: Mapping[str, Any] | None) -> str:
    """The tool that created the parent, if it is not ours: then the set must not be changed."""
    if parent is None:
        return ""
    tool = (parent["metadata"].get("annotations") or {}).get(TOOLING, "")
    labels = parent["metadata"].get("labels") or {}
    if tool.partition("/")[0] == TOOL:
        return ""
    return tool or ("something else" if ID_LABEL in labels or parent.get("data") else "")


def parent_object(
    name: str,
    namespace: str,
    kinds: Iterable[GroupKind],
    namespaces: Iterable[str],
    notes: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The parent as it should be. C(notes): additional annotations."""
    annotations = {
        **(notes or {}),
        TOOLING: TOOL_VERSION,
        GROUP_KINDS: ",".join(sorted(f"{kind}.{group}" if group else kind for group, kind in kinds)),
    }
    if namespaces:
        annotations[NAMESPACES] = ",".join(sorted(namespaces))
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": parent_name(name),
            "namespace": namespace,
            "labels": {ID_LABEL: set_id(name, namespace), "app.kubernetes.io/managed-by": TOOL},
            "annotations": annotations,
        },
    }


def with_label(obj: dict[str, Any], identity: str) -> dict[str, Any]:
    """The object as a member of the set."""
    meta = obj["metadata"]
    return {**obj, "metadata": {**meta, "labels": {**(meta.get("labels") or {}), PART_OF: identity}}}
