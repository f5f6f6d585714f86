# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether the claim for outputs of runs can be used, before anything is changed. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..apply.compare import quantity
from ..spec.dataset_spec import ONE_NODE, ONE_POD, WRITE_MANY
from ..spec.hub_spec import HubSpec

_WRITABLE = (ONE_NODE, ONE_POD, WRITE_MANY)


def fault(spec: HubSpec, live: Mapping[str, Any] | None) -> str:
    """What is wrong with a claim, with the remedy; an empty text if it can be used.

    Args:
        spec: the hub.
        live: the claim of its name in the cluster, or None.
    """
    if spec.outputs_claim:
        return _existing(spec, live)
    if live is None:
        return ""
    requested = (((live.get("spec") or {}).get("resources") or {}).get("requests") or {}).get("storage", "")
    now, then = quantity(spec.outputs_size), quantity(str(requested))
    if now is not None and then is not None and now < then:
        return (
            f"superlink_outputs_size: {spec.outputs_size} is less than the {requested} that {_name(spec, live)} has; a claim cannot shrink. "
            f"Set the size to {requested}, or more"
        )
    there = (live.get("spec") or {}).get("storageClassName")
    if spec.outputs_storage_class and there != spec.outputs_storage_class:
        return (
            f"superlink_outputs_storage_class: {_name(spec, live)} has the StorageClass {there or '(none)'}, which cannot change to "
            f"{spec.outputs_storage_class}. Set it to {there or 'an empty text'}, or create a claim with another name and set "
            "superlink_outputs_claim"
        )
    return ""


def _existing(spec: HubSpec, live: Mapping[str, Any] | None) -> str:
    what = f"superlink_outputs_claim: PersistentVolumeClaim {spec.namespace}/{spec.outputs_claim}"
    if live is None:
        return f"{what} does not exist: create it, or leave superlink_outputs_claim empty to have one created"
    if live["metadata"].get("deletionTimestamp"):
        return f"{what} is being deleted: wait until it is gone, or use another claim"
    if (live.get("status") or {}).get("phase") == "Lost":
        return f"{what} has lost its volume: restore the PersistentVolume, or create the claim again"
    modes = (live.get("spec") or {}).get("accessModes") or []
    if not any(mode in _WRITABLE for mode in modes):
        return f"{what} has the access mode {', '.join(modes) or '(none)'}, and ServerApps write to it: use a claim with {ONE_NODE}"
    return ""


def _name(spec: HubSpec, live: Mapping[str, Any]) -> str:
    return f"PersistentVolumeClaim {spec.namespace}/{live['metadata']['name']}"
