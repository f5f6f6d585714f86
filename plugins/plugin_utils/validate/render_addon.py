# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Spec of the add-on -> objects, without Ansible: validate, then render."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.values import Object
from ..ocm import acm, addon_objects
from ..spec.addon_spec import AddonSpec
from .acm_faults import policy_faults
from .ocm_faults import ocm_addon_faults
from .parsed_spec import parsed


def ocm_addon_objects(given: Mapping[str, Any]) -> list[Object]:
    """All objects of the add-on on a hub of Open Cluster Management."""
    return addon_objects.addon_objects(parsed(AddonSpec, ocm_addon_faults, given))


def ocm_policy_objects(given: Mapping[str, Any]) -> list[Object]:
    """The security baseline as a policy of ACM, from an add-on's spec."""
    return acm.objects(parsed(AddonSpec, policy_faults, given))
