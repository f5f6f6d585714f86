# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Objects that must not be changed, and the remedy: those that others made, and those of this collection that lost its labels. Pure.

Both are refused, and the remedies differ: to delete an object that lost its labels loses what is in it, for example outputs of runs or keys.

Earlier releases changed an object of others that had the annotation C(proof.ADOPT), and never deleted it. The annotation has no effect on what
is changed any more, and what has it in a cluster is still not deleted. (C(proof) itself is a file that bundles have: each change of it gives
all their sites another version. So it still has its part of adoption.)
"""

from __future__ import annotations

from ..base.labels import MANAGER
from . import proof
from .proof import Object

_HELM = "meta.helm.sh/release-name"
_DATA = ("PersistentVolume", "PersistentVolumeClaim")


def fault(desired: Object, live: Object | None) -> str:
    """Why a live object is not to be changed into the desired one, whose it is, and the remedy; empty if it may be."""
    notes = {name: value for name, value in proof.annotations_of(desired).items() if name != proof.ADOPT}
    why = proof.fault({**desired, "metadata": {**desired["metadata"], "annotations": notes}}, live)
    if not why or live is None:
        return ""
    lost = words(live, proof.labels_of(desired).get(proof.INSTANCE, ""), desired["kind"])
    if lost:
        return f"it {lost}."
    if desired["kind"] == "Namespace":
        return why
    remark = f" The annotation {proof.ADOPT} has no effect any more: remove it from the patch." if proof.is_adopted(desired) else ""
    return f"it exists already and {proof.holder(live)}. {_remedy(live, desired['kind'])}{remark}"


def _remedy(live: Object, kind: str) -> str:
    namespace = live["metadata"].get("namespace")
    which = f"{kind.lower()} {live['metadata']['name']}" + (f" -n {namespace}" if namespace else "")
    elsewhere = "Deploy into another namespace (flower_namespace), or delete it" if namespace else "Delete it"
    data = ", which deletes its data" if kind in _DATA else ""
    return (
        f"Objects of others are not changed. {elsewhere}{data}: kubectl delete {which}. If it is still needed, create it under another name "
        f"before: kubectl get {which} -o yaml."
    )


def words(live: Object, federation: str, kind: str) -> str:
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
