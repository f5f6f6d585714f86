# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The volume with the SuperLink's database, after it was made. Pure.

Kubernetes changes no claim template of a StatefulSet that exists, and a claim only gets larger. So the template keeps the size with which it was
made, and C(superlink_storage_size) is for claims that are made later: of a restored hub, or of a standby.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..apply.compare import quantity
from ..base.object_names import DATABASE_CLAIM
from ..spec.hub_spec import HubSpec

_FIXED = {"storageClassName": "superlink_storage_class", "accessModes": "superlink_storage_access_mode"}


def made_size(live: Mapping[str, Any] | None) -> str:
    """The size in the claim template of the live StatefulSet; empty where there is none."""
    return _requested(_template(live))


def fault(rendered: Mapping[str, Any], live: Mapping[str, Any] | None) -> str:
    """What of the claim template cannot be what the variables say, with the remedy; empty if it is that.

    Args:
        rendered: the StatefulSet, with the size that was made.
        live: the same, live.
    """
    wanted, made = _template(rendered), _template(live)
    for key, variable in _FIXED.items():
        if made and wanted.get(key) != made.get(key):
            return (
                f"{variable}: the volume with the SuperLink's database was made with {_words(made.get(key))}, which cannot change to "
                f"{_words(wanted.get(key))}. Set it to what it was. To move the database, back up the hub, remove it, and restore it with the new value"
            )
    return ""


def warning(spec: HubSpec, claim: Mapping[str, Any] | None) -> str:
    """A claim that is smaller than the variable says, and how to enlarge it; empty if it is not."""
    there = _requested((claim or {}).get("spec") or {})
    now, wanted = quantity(there), quantity(spec.storage_size)
    if now is None or wanted is None or now >= wanted:
        return ""
    patch = json.dumps({"spec": {"resources": {"requests": {"storage": spec.storage_size}}}})
    return (
        f"superlink_storage_size: {spec.storage_size} is for new volumes; the volume with the SuperLink's database has {there}. To enlarge it, if its "
        f"StorageClass permits that: kubectl patch pvc {DATABASE_CLAIM} -n {spec.namespace} -p '{patch}'"
    )


def _template(stateful_set: Mapping[str, Any] | None) -> Mapping[str, Any]:
    listed = ((stateful_set or {}).get("spec") or {}).get("volumeClaimTemplates") or []
    return next((one["spec"] for one in listed if one["metadata"]["name"] == "data"), {})


def _requested(claim: Mapping[str, Any]) -> str:
    return str(((claim.get("resources") or {}).get("requests") or {}).get("storage") or "")


def _words(value: Any) -> str:
    return ", ".join(value) if isinstance(value, list) else str(value or "no StorageClass named (the cluster's default then)")
