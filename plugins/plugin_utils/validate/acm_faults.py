# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of what the policy with the security baseline of sites is made from (see ocm/acm.py)."""

from __future__ import annotations

from ..base.values import text
from ..ocm import acm
from ..spec.addon_spec import MANUAL
from .faults import Faults, Spec
from .ocm_faults import ocm_addon_faults


def policy_faults(spec: Spec) -> list[str]:
    """All faults of an add-on's spec from which a policy is to be made."""
    found = ocm_addon_faults(spec)
    faults = Faults(spec, "ocm_addon_")
    faults.choice("policy_remediation", spec.get("policy_remediation"), acm.REMEDIATIONS)
    names = ".".join([text(spec.get("namespace")), acm.policy_name(text(spec.get("federation")))])
    if len(names) - 1 > acm.MAX_NAMES:
        faults.sentence(
            f"ocm_addon_federation: the policy would have the name {names}, and ACM accepts {acm.MAX_NAMES} characters without the dot: "
            "shorten flower_federation or flower_namespace"
        )
    if spec.get("install") == MANUAL:
        faults.add(
            "install", spec["install"], "leaves the hub without a Placement, by which policies find their clusters"
        )
    return found + faults.found
