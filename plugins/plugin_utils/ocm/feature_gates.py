# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Features of a hub: which are missing, and whether its operator has applied the change. Pure.

Source: C(operator/v1) of open-cluster-management.io/api, ClusterManager: C(status.observedGeneration), and the conditions
C(Applied) and C(ValidFeatureGates).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from . import checks
from .work import condition

# Feature -> part of the ClusterManager's spec.
PARTS = {feature: part for part, feature in (checks.REPLICA_SETS_GATE,)}


def missing(manager: Mapping[str, Any], features: Iterable[str]) -> list[str]:
    """Those that are not enabled."""
    return [feature for feature in features if not checks.gate_is_on(manager, PARTS[feature], feature)]


def taken_over(manager: Mapping[str, Any], generation: int) -> tuple[bool, str]:
    """Whether the operator has applied this generation; and why not.

    A condition that is missing, or of an older generation, is not conclusive.
    """
    seen = (manager.get("status") or {}).get("observedGeneration") or 0
    if seen < generation:
        return False, "it has not processed it yet"
    for kind in ("ValidFeatureGates", "Applied"):
        reported = condition(manager, kind)
        if reported.get("status") == "False" and reported.get("observedGeneration", generation) >= generation:
            return False, f"{kind}: {reported.get('message') or reported.get('reason')}"
    return True, ""
