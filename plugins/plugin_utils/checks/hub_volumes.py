# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The hub's volumes: that of the SuperLink's database, and that of the outputs of runs. Pure.

Kubernetes changes no claim template of a StatefulSet that exists, and a claim only gets larger. So the template keeps the size with which it was
made, and C(superlink_storage_size) is for claims that are made later: of a restored hub, or of a standby.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ..apply.compare import quantity
from ..base.object_names import DATABASE_CLAIM
from ..base.problems import Problem, warning
from ..spec.hub_spec import HubSpec
from ..spec.pods_spec import ONE_NODE, ONE_POD, WRITE_MANY

Live = Mapping[str, Any]
_FIXED = {"storageClassName": "superlink_storage_class", "accessModes": "superlink_storage_access_mode"}


def _template(stateful_set: Live | None) -> Live:
    listed = ((stateful_set or {}).get("spec") or {}).get("volumeClaimTemplates") or []
    return next((one["spec"] for one in listed if one["metadata"]["name"] == "data"), {})


def _requested(claim: Live) -> str:
    return str(((claim.get("resources") or {}).get("requests") or {}).get("storage") or "")


def created_size(live: Live | None) -> str:
    """The size in the claim template of the live StatefulSet; empty where there is none."""
    return _requested(_template(live))


def deleted(claims: Iterable[Live | None]) -> Iterator[Problem]:
    """Live claims that someone has deleted: Kubernetes keeps them as long as a pod has them, so all looks well until it restarts."""
    for meta in (one["metadata"] for one in claims if one):
        if meta.get("deletionTimestamp"):
            yield Problem(
                f"PersistentVolumeClaim {meta['namespace']}/{meta['name']} was deleted at {meta['deletionTimestamp']}. It and its data are lost as soon as "
                "the pod that has it restarts, and nothing can undo that, so nothing is deployed. Back up with federated.flower.backup and fetch the "
                "outputs of runs with federated.flower.outputs, then restore that backup (guide_backup)"
            )


def database(spec: HubSpec, rendered: Live, live: Live | None, claim: Live | None) -> Iterator[Problem]:
    """What of the database's volume cannot be, or is not yet, what the variables say.

    Args:
        spec: the hub.
        rendered: the StatefulSet, with the size that was made.
        live: the same, live.
        claim: the live claim.
    """

    def words(value: Any) -> str:
        return ", ".join(value) if isinstance(value, list) else str(value or "no StorageClass named (the cluster's default then)")

    wanted, live_template = _template(rendered), _template(live)
    for key, variable in _FIXED.items():
        if live_template and wanted.get(key) != live_template.get(key):
            yield Problem(
                f"{variable}: the volume with the SuperLink's database was created with {words(live_template.get(key))}, which cannot be changed to "
                f"{words(wanted.get(key))}. Restore the former value. To move the database, back up the hub, remove it, and restore it with the new value"
            )
    has = _requested((claim or {}).get("spec") or {})
    now, then = quantity(has), quantity(spec.storage_size)
    if now is not None and then is not None and now < then:
        patch = json.dumps({"spec": {"resources": {"requests": {"storage": spec.storage_size}}}})
        yield warning(
            f"superlink_storage_size: {spec.storage_size} is for new volumes; the volume with the SuperLink's database has {has}. To enlarge it, if its "
            f"StorageClass permits that: kubectl patch pvc {DATABASE_CLAIM} -n {spec.namespace} -p '{patch}'"
        )


def storage_classes(spec: HubSpec, known: Mapping[str, bool] | None) -> Iterator[Problem]:
    """StorageClasses of the volumes of a new hub that are not there. Someone may have made a PersistentVolume for them.

    A cluster may have no default one, as those of Amazon EKS since Kubernetes 1.30. Claims then wait until the time of the run is over.

    Args:
        spec: the hub.
        known: all StorageClasses of its cluster, and whether each is the default; None where they may not be listed.
    """
    wanted = {"superlink_storage_class": spec.storage_class}
    if spec.outputs_enabled and not spec.outputs_claim:
        wanted["superlink_outputs_storage_class"] = spec.outputs_storage_class
    for variable, name in wanted.items():
        if known is None or name in known or (not name and any(known.values())):
            continue
        lacks = f"the cluster has no StorageClass {name}" if name else "it is empty, and the cluster has no default StorageClass"
        yield warning(
            f"{variable}: {lacks}, so the claim stays Pending until a PersistentVolume is created for it. Set it to a "
            f"StorageClass of the cluster: {', '.join(sorted(known)) or 'there are none'}"
        )


def outputs(spec: HubSpec, live: Live | None) -> Iterator[Problem]:
    """Why the claim that variables name for outputs of runs cannot be used; C(live): the claim of its name in the cluster, or None."""
    if not spec.outputs_claim:
        return
    what = f"superlink_outputs_claim: PersistentVolumeClaim {spec.namespace}/{spec.outputs_claim}"
    if live is None:
        yield Problem(f"{what} does not exist: create it, or leave superlink_outputs_claim empty to have one created")
        return
    modes = (live.get("spec") or {}).get("accessModes") or []
    if live["metadata"].get("deletionTimestamp"):
        yield Problem(f"{what} is being deleted: wait until the deletion is complete, or use another claim")
    elif (live.get("status") or {}).get("phase") == "Lost":
        yield Problem(f"{what} has lost its volume: restore the PersistentVolume, or create the claim again")
    elif not {ONE_NODE, ONE_POD, WRITE_MANY} & {*modes}:
        yield Problem(f"{what} has the access mode {', '.join(modes) or '(none)'}, and ServerApps write to it: use a claim with {ONE_NODE}")
