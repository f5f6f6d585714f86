# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spec -> objects, without Ansible: validate, then render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.values import Object
from ..manifests import superlink
from ..ocm import acm_metrics
from ..spec.hub_spec import HubSpec
from .acm_metrics_faults import metrics_policy_faults
from .parsed_spec import parsed
from .superlink_faults import superlink_faults


def superlink_objects(given: Mapping[str, Any]) -> list[Object]:
    """All objects of the hub. Like the functions below, this raises SpecError if the spec has faults."""
    return superlink.objects(parsed(HubSpec, superlink_faults, given))


def superlink_front_objects(given: Mapping[str, Any]) -> list[Object]:
    """Namespace, Services, Ingress or Route of the hub."""
    return superlink.front_objects(parsed(HubSpec, superlink_faults, given))


def ocm_metrics_policy_objects(given: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Object]:
    """What ACM needs to observe a federation, as a policy, from a hub's spec; C(settings): C(remediation) and C(labels) of its ManagedCluster."""

    def faults(spec: Mapping[str, Any]) -> list[str]:
        return superlink_faults(spec) + metrics_policy_faults(spec, settings)

    return acm_metrics.objects(parsed(HubSpec, faults, given), settings["remediation"], settings["labels"])
