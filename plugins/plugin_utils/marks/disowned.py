# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Objects that this collection created, and of which someone removed the labels that say so. Pure.

They are not changed, like those of someone else (C(proof)). But the remedy is another one: to delete them loses what is in them, for example
outputs of runs or keys. (C(proof) itself is a file that bundles have: each change of it gives all their sites another version.)
"""

from __future__ import annotations

from ..base.labels import MANAGER
from . import proof
from .proof import Object

_HELM = "meta.helm.sh/release-name"


def fault(desired: Object, live: Object | None) -> str:
    """C(proof.fault), with the remedy for an object that has lost its labels."""
    why = proof.fault(desired, live)
    lost = words(live, proof.labels_of(desired).get(proof.INSTANCE, ""), desired["kind"]) if why and live is not None else ""
    return f"it {lost}." if lost else why


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
