# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whose an object or a namespace is: the hub's, a site's, another deployment's; and why one of someone else is not changed. Pure.

The labels of objects name the federation, and two hubs may have federations of one name. So the record of the set C(supernode)
stores the hub, by the identity in its ledger, and the site, by its name in the inventory. A deployment that is older
than this has no such annotations, and gets them from the next run.

Both are refused, and the remedies differ: to delete an object that lost its labels loses what is in it, for example outputs of runs or keys.

Earlier releases changed an object of others that had the annotation C(proof.ADOPT), and never deleted it. The annotation has no effect on what
is changed any more, and what has it in a cluster is still not deleted. (C(proof) itself is a file that bundles have: each change of it gives
all their sites another version. So it still has its part of adoption.)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.labels import MANAGER
from . import proof
from .proof import Object, annotations_of, labels_of

PART_HUB, PART_SITE = "hub", "site"
# On rights (Roles, bindings and accounts), whose other labels are the same for both parts.
PART = "federated.flower/part"
BINDINGS = ("RoleBinding", "ClusterRoleBinding")
_NAME = "app.kubernetes.io/name"
_APPLICATIONS = {
    "superlink": PART_HUB,
    "superlink-metrics": PART_HUB,
    "serverapp": PART_HUB,
    "flower-ledger": PART_HUB,
    "flower-audit": PART_HUB,
    "flower-lease": PART_HUB,
    "flower-upgrade": PART_HUB,
    "flower-standby": PART_HUB,
    "flower-restore": PART_HUB,
    "flower-schedule": PART_HUB,
    "supernode": PART_SITE,
    "supernode-keys": PART_SITE,
    "clientapp": PART_SITE,
    "skupper": "",  # both may have them; a Link to the hub has a name like those rights below
}
# Names of objects without that label: records of ApplySets, and rights that were created before the label was introduced.
HUB_RECORD = "applyset-superlink"
_NAMES = {HUB_RECORD: PART_HUB, "applyset-supernode": PART_SITE, "applyset-schedules": PART_HUB}
_PREFIXES = {"flower-hub-": PART_HUB, "flower-site-": PART_SITE}

_PREFIX = "federated.flower/owner-"
FEDERATION, DEPLOYMENT_HUB, DEPLOYMENT_SITE = f"{_PREFIX}federation", f"{_PREFIX}hub", f"{_PREFIX}site"

_HELM = "meta.helm.sh/release-name"
_CLAIM = "-e flower_claim_sites=true takes the namespace over."
_OTHER_NAMESPACE = (
    "Choose another namespace (flower_namespace), or remove that deployment with the inventory that created it "
    f"(federated.flower.teardown). If its hub is lost: {_CLAIM}"
)
_DATA = ("PersistentVolume", "PersistentVolumeClaim")


def part_of(obj: Mapping[str, Any]) -> str:
    """C(PART_HUB), C(PART_SITE), or empty for what both parts may have (a Namespace, objects of Skupper)."""
    labels, name = labels_of(obj), obj["metadata"]["name"]
    if labels.get(PART):
        return labels[PART]
    if labels.get(_NAME) in _APPLICATIONS:
        return _APPLICATIONS[labels[_NAME]]
    return _NAMES.get(name) or next((part for prefix, part in _PREFIXES.items() if name.startswith(prefix)), "")


def is_of_network(obj: Mapping[str, Any]) -> bool:
    """Whether an object is of a Skupper network: the part that has it is not known from its labels."""
    return labels_of(obj).get(_NAME) == "skupper"


def needed_by_others(members: Sequence[dict[str, Any]], part: str, *, all_bindings: bool) -> list[dict[str, Any]]:
    """Those members of a set that the other part of the federation needs: its own objects, and the accounts that its bindings name.

    Args:
        members: live objects of the set.
        part: C(PART_HUB) or C(PART_SITE).
        all_bindings: whether all bindings of the set are among them; if not, accounts of no part are needed.
    """
    own = [one for one in members if part_of(one) not in ("", part)]
    named = {
        (subject.get("namespace"), subject.get("name"))
        for one in own
        for subject in (one.get("subjects") or () if one["kind"] in BINDINGS else ())
        if subject.get("kind") == "ServiceAccount"
    }

    def is_needed(one: Mapping[str, Any]) -> bool:
        if part_of(one) not in ("", part):
            return True
        meta = one["metadata"]
        unknown = not all_bindings and not part_of(one)
        return one["kind"] == "ServiceAccount" and (unknown or (meta.get("namespace"), meta["name"]) in named)

    return [one for one in members if is_needed(one)]


def deployment_notes(federation: str, site: str = "", hub: str = "") -> dict[str, str]:
    """The annotations of a record. Of a hub only the federation; C(hub), a site's hub, may be empty while it is not known."""
    return {name: text for name, text in ((FEDERATION, federation), (DEPLOYMENT_HUB, hub), (DEPLOYMENT_SITE, site)) if text}


def kept_notes(live: Mapping[str, Any] | None) -> dict[str, str]:
    """The annotations of a live record."""
    return {name: text for name, text in annotations_of(live).items() if name.startswith(_PREFIX)}


def other_deployment_error(live: Mapping[str, Any] | None, wanted: Mapping[str, str]) -> str:
    """Why a namespace with this record is not to be used: a sentence; empty if it may be.

    Args:
        live: the ConfigMap that records the ApplySet; None when there is none.
        wanted: what C(deployment_notes) returned. Of a hub that is not known (no C(DEPLOYMENT_HUB) in it) nothing is compared.
    """
    there = kept_notes(live)
    if not there or live is None:
        return ""
    meta = live["metadata"]
    what = "SuperLink" if meta["name"].endswith("superlink") else "SuperNodes"
    holds = f"namespace {meta['namespace']} contains the {what} of"
    was, now = there.get(FEDERATION), wanted.get(FEDERATION)
    if now and was and was != now:
        return f"{holds} another federation, {was}. {_OTHER_NAMESPACE}"
    if wanted.get(DEPLOYMENT_HUB) and there.get(DEPLOYMENT_HUB) and there[DEPLOYMENT_HUB] != wanted[DEPLOYMENT_HUB]:
        return f"{holds} the federation {was} of another hub, as its site {there.get(DEPLOYMENT_SITE)}. {_OTHER_NAMESPACE}"
    if wanted.get(DEPLOYMENT_SITE) and there.get(DEPLOYMENT_SITE) and there[DEPLOYMENT_SITE] != wanted[DEPLOYMENT_SITE]:
        return (
            f"{holds} {there[DEPLOYMENT_SITE]}, another site of this federation. Two hosts of the inventory need two namespaces "
            "(supernode_namespace) where they are one cluster. If the host was renamed: federated.flower.site with --limit to the hub and "
            f"-e flower_forget_sites={there[DEPLOYMENT_SITE]} frees the old name, then {_CLAIM}"
        )
    return ""


def foreign_object_error(desired: Object, live: Object | None) -> str:
    """Why a live object is not to be changed into the desired one, whose it is, and the remedy; empty if it may be."""
    notes = {name: value for name, value in proof.annotations_of(desired).items() if name != proof.ADOPT}
    why = proof.fault({**desired, "metadata": {**desired["metadata"], "annotations": notes}}, live)
    if not why or live is None:
        return ""
    lost = describe_objects(live, proof.labels_of(desired).get(proof.INSTANCE, ""), desired["kind"])
    if lost:
        return f"it {lost}."
    if desired["kind"] == "Namespace":
        return why
    remark = f" The annotation {proof.ADOPT} has no effect any more: remove it from the patch." if proof.is_adopted(desired) else ""
    namespace = live["metadata"].get("namespace")
    which = f"{desired['kind'].lower()} {live['metadata']['name']}" + (f" -n {namespace}" if namespace else "")
    elsewhere = "Deploy into another namespace (flower_namespace), or delete it" if namespace else "Delete it"
    data = ", which deletes its data" if desired["kind"] in _DATA else ""
    return (
        f"it exists already and {proof.holder(live)}. Objects of others are not changed. {elsewhere}{data}: kubectl delete {which}. If it is "
        f"still needed, create it under another name before: kubectl get {which} -o yaml.{remark}"
    )


def describe_objects(live: Object, federation: str, kind: str) -> str:
    """That a live object is one of this federation without its labels, and the remedy, as the end of a sentence; empty for any other object."""
    labels, meta = proof.labels_of(live), live["metadata"]
    ours = {proof.MANAGED_BY: MANAGER, proof.INSTANCE: federation}
    lost = [name for name in ours if name not in labels]
    differs = [name for name in ours if name in labels and labels[name] != ours[name]]
    if not lost or differs or not proof.has_written(live) or proof.is_adopted(live) or _HELM in proof.annotations_of(live):
        return ""
    place = f" -n {meta['namespace']}" if meta.get("namespace") else ""
    command = " ".join([f"kubectl label {kind.lower()} {meta['name']}{place}", *(f"{name}={ours[name]}" for name in lost)])
    return f"was written by this collection, and someone has removed its label {', '.join(lost)}. Do not delete it. Give it back: {command}"
