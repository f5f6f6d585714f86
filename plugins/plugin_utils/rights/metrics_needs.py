# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Rights for the exporter of metrics. Those on its objects are in C(rendered.py): only where metrics are on. Pure.

To switch metrics off, they are still needed: remove them afterwards.
"""

from __future__ import annotations

from ..base.names import METRICS
from ..spec.deployed_spec import Spec
from ..spec.hub_spec import HubSpec
from .need import FEDERATION, Need
from .table import CONTROLLER


def needs(holder: str, spec: Spec) -> list[Need]:
    """What a holder needs for metrics; nothing where they are off."""
    if not isinstance(spec, HubSpec) or not spec.metrics.enabled or holder != CONTROLLER:
        return []
    return [
        # OpenShift grants no owner of an object to those who may not delete it (OwnerReferencesPermissionEnforcement).
        Need(FEDERATION, "secrets", "delete", "let the exporter's Secret go with its program", names=METRICS),
    ]
