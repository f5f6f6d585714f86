# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is refused of the variables from which policies of ACM are made (see ocm/acm_policies.py, ocm/acm_policies.py)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.problems import Problem
from ..base.values import boolean, text
from ..ocm import acm_policies
from ..spec.hub_spec import MANUAL
from .ocm_rules import addon_problems
from .value_checks import Problems, Spec, choice


def policy_problems(spec: Spec) -> list[Problem]:
    """All that is wrong with the variables of an add-on from which a policy is made."""
    found = Problems(spec, "ocm_addon_")
    found.found += addon_problems(spec)
    _policy_name(found, spec, acm_policies.baseline_policy_name(text(spec.get("federation"))), "ocm_addon_federation")
    if spec.get("install") == MANUAL:
        found.add("install", MANUAL, "leaves the hub without a Placement, by which policies find their clusters")
    return found.found


def metrics_policy_problems(spec: Spec, settings: Mapping[str, Any], policy_name: str) -> list[Problem]:
    """What is wrong with the variables of a hub, and the settings, from which a policy for metrics is made; C(policy_name): that it would have."""
    found = Problems(spec, "flower_acm_")
    found.check({"remediation": choice(*acm_policies.REMEDIATIONS)}, settings)
    if not settings.get("labels"):
        found.add("hub_labels", settings.get("labels"), "selects no ManagedCluster: set the labels of the one that has the hub")
    found.selector("hub_labels", settings.get("labels"))
    if not boolean((spec.get("metrics") or {}).get("monitor")):
        found.sentence("superlink_metrics: there is nothing for a policy: set enabled, monitor and, for the list of metrics, acm to true")
    _policy_name(found, spec, policy_name, "flower_federation")
    return found.found


def _policy_name(found: Problems, spec: Spec, name: str, variable: str) -> None:
    names = f"{text(spec.get('namespace'))}.{name}"
    if len(names) - 1 > acm_policies.MAX_NAMES:
        found.sentence(
            f"{variable}: the policy would have the name {names}, and ACM accepts {acm_policies.MAX_NAMES} characters without the dot: shorten "
            "flower_federation or flower_namespace"
        )
