# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What a host without a record has of a copy: one that was never completed, or whose removal was interrupted."""

from __future__ import annotations

from ..backup import volume_pod
from ..base.object_names import DATABASE_CLAIM, SUPERLINK
from ..marks import proof
from . import copying, fencing
from .copying import End


def is_copy(source: End, target: End) -> bool:
    """Whether the namespace of a host has a copy of the hub, or a part of one, and nothing that could be a hub of its own.

    Args:
        source: the hub.
        target: the host, which has no record.
    """
    cluster, spec = target.cluster, target.spec
    if not source.is_hub or fencing.serves(cluster, spec.namespace):
        return False  # what there is may be all that is left of the hub
    if identity := target.identity:
        return identity == source.identity
    # The volume comes before the ledger. No SuperLink was ever deployed where a copy was never complete.
    if cluster.get("apps/v1", "StatefulSet", SUPERLINK, spec.namespace) is not None:
        return False
    claim = cluster.get("v1", "PersistentVolumeClaim", DATABASE_CLAIM, spec.namespace)
    return proof.annotations_of(claim).get(volume_pod.RESTORED) == copying.origin(source)
