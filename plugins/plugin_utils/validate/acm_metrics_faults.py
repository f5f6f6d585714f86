# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of what the policy for the metrics of a hub is made from (see ocm/acm_metrics.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.values import boolean, text
from ..ocm import acm, acm_metrics
from .faults import Faults, Spec


def metrics_policy_faults(spec: Spec, settings: Mapping[str, Any]) -> list[str]:
    """All faults of a hub's spec, and of the settings, from which the policy for metrics is to be made, beside those of the spec itself."""
    faults = Faults(spec, "flower_acm_")
    faults.choice("remediation", settings.get("remediation"), acm.REMEDIATIONS)
    if not settings.get("labels"):
        faults.add("hub_labels", settings.get("labels"), "selects no ManagedCluster: set the labels of the one that has the hub")
    faults.labels("hub_labels", settings.get("labels"), own=True)
    if not boolean((spec.get("metrics") or {}).get("monitor")):
        faults.sentence("superlink_metrics: there is nothing for a policy: set enabled, monitor and, for the list of metrics, acm to true")
    names = ".".join([text(spec.get("namespace")), acm_metrics.policy_name(text(spec.get("federation")))])
    if len(names) - 1 > acm.MAX_NAMES:
        faults.sentence(
            f"flower_federation: the policy would have the name {names}, and ACM accepts {acm.MAX_NAMES} characters without the dot: shorten "
            "flower_federation or flower_namespace"
        )
    return faults.found
