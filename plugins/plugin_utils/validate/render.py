# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Spec -> objects, without Ansible: validate, then render."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..base.values import Object
from ..manifests import superlink
from ..ocm import acm, acm_metrics, addon_objects
from ..spec.addon_spec import AddonSpec
from ..spec.fields import Kind
from ..spec.hub_spec import HubSpec
from .acm_faults import metrics_policy_faults, policy_faults
from .ocm_faults import ocm_addon_faults
from .superlink_faults import superlink_faults


class SpecError(ValueError):
    """A spec that can't be rendered. C(faults) holds every reason."""

    def __init__(self, faults: list[str]) -> None:
        self.faults = faults
        super().__init__("\n".join(faults))


def _parsed(kind: type[Kind], faults: Callable[[Mapping[str, Any]], list[str]], given: Mapping[str, Any]) -> Kind:
    found = faults(given)
    if found:
        raise SpecError(found)
    return kind.parse(given)


def superlink_objects(given: Mapping[str, Any]) -> list[Object]:
    """All objects of the hub. Like the functions below, it raises SpecError if the spec has faults."""
    return superlink.objects(_parsed(HubSpec, superlink_faults, given))


def superlink_front_objects(given: Mapping[str, Any]) -> list[Object]:
    """Namespace, Services, Ingress or Route of the hub."""
    return superlink.front_objects(_parsed(HubSpec, superlink_faults, given))


def ocm_addon_objects(given: Mapping[str, Any]) -> list[Object]:
    """All objects of the add-on on a hub of Open Cluster Management."""
    return addon_objects.addon_objects(_parsed(AddonSpec, ocm_addon_faults, given))


def ocm_policy_objects(given: Mapping[str, Any]) -> list[Object]:
    """The security baseline as a policy of ACM, from an add-on's spec."""
    return acm.objects(_parsed(AddonSpec, policy_faults, given))


def ocm_metrics_policy_objects(given: Mapping[str, Any], settings: Mapping[str, Any]) -> list[Object]:
    """What ACM needs to observe a federation, as a policy, from a hub's spec; C(settings): C(remediation) and C(labels) of its ManagedCluster."""

    def faults(spec: Mapping[str, Any]) -> list[str]:
        return superlink_faults(spec) + metrics_policy_faults(spec, settings)

    return acm_metrics.objects(_parsed(HubSpec, faults, given), settings["remediation"], settings["labels"])
