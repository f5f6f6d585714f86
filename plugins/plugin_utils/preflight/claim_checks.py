# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Volume claims of the hub that someone has deleted: Kubernetes keeps them as long as a pod has them, so all looks well until it restarts. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any


def warnings(claims: Iterable[Mapping[str, Any] | None]) -> list[str]:
    """A warning for each of these live claims that goes away with its pod.

    Args:
        claims: as they are in the cluster; None for one that is not there.
    """
    return [
        f"PersistentVolumeClaim {one['metadata']['namespace']}/{one['metadata']['name']} was deleted at {one['metadata']['deletionTimestamp']}. It and "
        "its data are lost as soon as the pod that has it restarts, and nothing can undo that. Before anything else, back up with "
        "federated.flower.backup and fetch the outputs of runs with federated.flower.outputs, then restore that backup (guide_backup)"
        for one in claims
        if one and one["metadata"].get("deletionTimestamp")
    ]
