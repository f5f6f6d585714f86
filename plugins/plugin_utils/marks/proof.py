# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Who created an object, as far as the object itself proves it. Pure.

- An object belongs to a federation when its labels C(app.kubernetes.io/managed-by) and C(app.kubernetes.io/instance) have its values.
  Only then is it changed.
- It is deleted only when its C(metadata.managedFields) name this collection as well. The API server writes them, so they are
  not copied when someone copies an object with all its labels.
- A Namespace is deleted only when this collection created it. Since that deletes everything in it, it needs more proof:
  the annotation that is set at creation only; or, for a Namespace created before the annotation was introduced, C(managedFields)
  that name no other creator. The API server sets on every Namespace the label C(kubernetes.io/metadata.name) when it is created,
  and records its creator as the manager of that field, unless it was created by server-side apply.

- OpenShift's projects: who may only request one may set nothing of its Namespace but a display name and a description, and these in the
  request. So a Namespace whose description is C(project_note) belongs to that federation and was created for it, if OpenShift recorded
  who requested it (openshift/api, project/v1: C(ProjectRequest), C(ProjectRequesterAnnotation)). It is not changed.

Source of the rules on managedFields: Kubernetes documentation, «Server-Side Apply», «Field management».
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ..base.labels import MANAGER

Object = Mapping[str, Any]

MANAGED_BY = "app.kubernetes.io/managed-by"
INSTANCE = "app.kubernetes.io/instance"
# On a Namespace, set when it is created and never later: the federation for which it was created.
CREATED_FOR = "federated.flower/created-for"
# Requested by a user in a patch of an object: an object of this name that someone else created is changed nevertheless. It stays on
# such an object, which does not get the label managed-by, so that nothing that deletes by labels ever finds it.
ADOPT = "federated.flower/adopt"
_APPLYSET_MEMBER = "applyset.kubernetes.io/part-of"
_HELM_RELEASE, _HELM_NAMESPACE = "meta.helm.sh/release-name", "meta.helm.sh/release-namespace"
_ISSUED = "cert-manager.io/certificate-name"
PROJECT_NOTE, PROJECT_REQUESTER = "openshift.io/description", "openshift.io/requester"
_PROJECT = re.compile(r"Created by federated\.flower for the federation (?P<federation>[a-z0-9-]+)\.")
_NAME_FIELD = "f:kubernetes.io/metadata.name"


def labels_of(obj: Object | None) -> Mapping[str, str]:
    """Labels of an object; none of an object that does not exist."""
    return ((obj or {}).get("metadata") or {}).get("labels") or {}


def annotations_of(obj: Object | None) -> Mapping[str, str]:
    """Annotations of an object; none of an object that does not exist."""
    return ((obj or {}).get("metadata") or {}).get("annotations") or {}


def project_note(federation: str) -> str:
    """The description of a project that is requested for a federation."""
    return f"Created by federated.flower for the federation {federation}."


def project_of(obj: Object | None) -> str:
    """The federation for which a Namespace was requested as a project; empty for every other object."""
    notes = annotations_of(obj)
    found = _PROJECT.fullmatch(notes.get(PROJECT_NOTE, ""))
    return found["federation"] if found and notes.get(PROJECT_REQUESTER) else ""


def federation_of(obj: Object | None) -> str:
    """The federation of an object that this collection manages."""
    return labels_of(obj).get(INSTANCE) or project_of(obj)


def is_managed(obj: Object | None) -> bool:
    """Whether this collection manages the object according to its marks, for any federation."""
    return labels_of(obj).get(MANAGED_BY) == MANAGER or bool(project_of(obj))


def belongs(obj: Object | None, federation: str) -> bool:
    """Whether the object is part of this federation according to its labels."""
    return is_managed(obj) and federation_of(obj) == federation


def pods_query(federation: str, *names: str) -> str:
    """A label selector of exactly the pods that belong (C(belongs)) to a federation.

    The names alone are those of other makers of SuperNodes, too, such as Flower's Helm charts, whose pods may be in the same namespace.

    Args:
        federation: its name.
        names: applications, of which there is at least one (C(app.kubernetes.io/name)).
    """
    return f"{MANAGED_BY}={MANAGER},{INSTANCE}={federation},app.kubernetes.io/name in ({','.join(names)})"


def is_adopted(obj: Object | None) -> bool:
    """Whether the object was created by someone else and is changed by this collection because a user requested it."""
    return annotations_of(obj).get(ADOPT) == "true"


def may_delete(obj: Object, federation: str) -> bool:
    """Whether an object that was found by its labels was created by this collection for this federation."""
    if not belongs(obj, federation) or is_adopted(obj):
        return False
    # cert-manager makes the Secret of a Certificate of ours, with the labels that the Certificate names.
    return has_written(obj) or _ISSUED in annotations_of(obj)


def has_written(obj: Object) -> bool:
    """Whether this collection ever wrote to the object, as the API server recorded it."""
    return any(entry.get("manager") == MANAGER for entry in obj["metadata"].get("managedFields") or [])


def is_strange(obj: Object) -> bool:
    """Whether someone else created an object that this collection never wrote to, or only because a user requested adoption.

    An object without any field but its name has no managers: it is not known who created it.
    """
    entries = obj["metadata"].get("managedFields") or []
    others = any(entry.get("manager") != MANAGER and not entry.get("subresource") for entry in entries)
    return is_adopted(obj) or (others and not has_written(obj))


def created(namespace: Object, federation: str) -> bool:
    """Whether this collection created a Namespace, for this federation."""
    if not belongs(namespace, federation):
        return False
    if CREATED_FOR in annotations_of(namespace):
        return annotations_of(namespace)[CREATED_FOR] == federation
    if project_of(namespace):
        return True
    return created_alone(namespace)


def created_alone(namespace: Object) -> bool:
    """Whether this collection wrote to a Namespace, and no one else can have created it, as the API server recorded it."""
    return has_written(namespace) and not any(map(_may_have_created, namespace["metadata"]["managedFields"]))


def _may_have_created(entry: Mapping[str, Any]) -> bool:
    if entry.get("manager") == MANAGER or entry.get("subresource"):
        return False
    labels = ((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {}
    return entry.get("operation") == "Apply" or _NAME_FIELD in labels


def fault(desired: Object, live: Object | None) -> str:
    """Why a live object is not to be changed into the desired one: a sentence; empty if it may be.

    Only objects that are rendered as this collection's own are judged; a user's objects are the user's.
    """
    if live is None or not is_managed(desired) or is_adopted(desired):
        return ""
    if desired["kind"] == "ManagedClusterAddOn":
        return ""  # Open Cluster Management creates it from the ClusterManagementAddOn of that name, which is this collection's
    federation = labels_of(desired).get(INSTANCE)
    if is_managed(live) and federation_of(live) == federation:
        return ""
    return f"it exists already and {holder(live)}. {_way_out(desired, live)}"


_OWN = " (supernode_namespace or superlink_namespace, where that is set)"


def _way_out(desired: Object, live: Object) -> str:
    if desired["kind"] == "Namespace":
        if is_managed(live):
            return f"Two federations need two namespaces: set flower_namespace to another name{_OWN}."
        return (
            f"Set flower_namespace to another name{_OWN}; or set flower_create_namespace to false to deploy into it as it is: "
            "it is then not labelled, not isolated by a default-deny policy, and never deleted."
        )
    other = "Delete or rename it, or deploy into another namespace (flower_namespace)"
    if desired["kind"] == "Secret":
        return f"{other}."
    return (
        f"{other}; or allow the change, by a patch (superlink_patches, supernode_patches) that adds the annotation "
        f'{ADOPT}: "true". It is then never deleted.'
    )


def holder(live: Object) -> str:
    """Who manages a live object, as the end of a sentence that starts with the object."""
    labels, notes = labels_of(live), annotations_of(live)
    if is_managed(live):
        return f"belongs to the federation {federation_of(live) or '(without a name)'}"
    if notes.get(_HELM_RELEASE):
        place = "/".join(filter(None, (notes.get(_HELM_NAMESPACE), notes[_HELM_RELEASE])))
        return f"is managed by the Helm release {place}"
    if labels.get(MANAGED_BY):
        return f"is managed by {labels[MANAGED_BY]} (label {MANAGED_BY})"
    meta = live["metadata"]
    for owner in meta.get("ownerReferences") or []:
        return f"is owned by {owner.get('kind')} {owner.get('name')}"
    others = [entry.get("manager") for entry in meta.get("managedFields") or [] if not entry.get("subresource")]
    names = sorted({name for name in others if name and name != MANAGER})
    return f"was created by someone else (field manager {', '.join(names)})" if names else "was created by someone else"


def prepared(desired: Object, live: Object | None) -> dict[str, Any]:
    """What is applied for a desired object, given the live one: with the marks that fit. See C(fault), which comes first."""
    meta = dict(desired["metadata"])
    labels, notes = dict(labels_of(desired)), dict(annotations_of(desired))
    if not is_managed(desired):
        return dict(desired)
    if is_adopted(desired):
        if live is None or (is_managed(live) and labels_of(live).get(INSTANCE) == labels.get(INSTANCE)):
            del notes[ADOPT]  # there is no object to adopt
        else:
            labels.pop(MANAGED_BY)
            labels.pop(_APPLYSET_MEMBER, None)
    if desired["kind"] == "Namespace" and project_of(live) and labels_of(live).get(MANAGED_BY) != MANAGER:
        return {**desired, "metadata": {"name": meta["name"]}}
    if desired["kind"] == "Namespace" and desired["apiVersion"] == "v1":
        mark = labels.get(INSTANCE) if live is None else annotations_of(live).get(CREATED_FOR)
        if mark:
            notes[CREATED_FOR] = mark
    meta["labels"] = labels
    if notes or "annotations" in meta:
        meta["annotations"] = notes
    if not meta.get("annotations"):
        meta.pop("annotations", None)
    return {**desired, "metadata": meta}
