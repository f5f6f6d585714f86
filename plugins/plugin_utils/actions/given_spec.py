# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host's variables, checked before its cluster is contacted: names, templates, values, inventory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..base.problems import messages
from ..checks import inventory, variables
from ..checks.hub_rules import hub_problems
from ..sites.registry import SKUPPER, sites_with
from ..spec.hub_spec import HubSpec
from .cluster_action import ClusterAction
from .inventory_checks import inventory_faults
from .role_options import BESIDE, role_settings, role_spec, site_hosts, wrong_types

# Options of the role that are no part of a specification: private keys, since specifications are shown and compared, and what a run does.
SETTINGS = (
    "ca_namespace", "ca_certificate", "ca_key", "certificate", "certificate_key", "client_certificate_days", "forget_cas", "rights_settings",
    "serverapp_force", "state", "tracking_credentials", "wait", "wait_timeout",
)  # fmt: skip
_CHECKED = ("client_certificate_days", "wait_timeout")


def hub_settings(action: ClusterAction) -> dict[str, Any]:
    """The options of the role superlink that are no part of a specification, without their prefix, and C(sites), the inventory names of the sites.

    Raises:
        ClusterError: a value cannot be evaluated, or has another type.
    """
    return role_settings(action, SUPERLINK, SETTINGS) | {"sites": site_hosts(action)}


def described(action: ClusterAction) -> dict[str, Any]:
    """The specification of the hub (C(spec/hub_spec.py)) from the role's variables, not checked.

    What the check of the hub found (C(superlink_checked)) is part of it.

    Raises:
        ClusterError: a template cannot be evaluated.
    """
    spec = role_spec(action, SUPERLINK, {*SETTINGS} - {"tracking_credentials"})
    found: Mapping[str, Any] = action.variable("superlink_checked", {})
    in_network = found["skupper"] if "skupper" in found else sites_with(
        action.task_vars.get("hostvars") or {}, site_hosts(action), connectivity=SKUPPER
    )
    return spec | {
        "superlink_address": spec.pop("address"),
        "platform": found.get("platform") or spec["platform"],
        "skupper": bool(in_network),
        **({"route_api": found["route_api"]} if found.get("route_api") else {}),
        "tracking_credentials": sorted(name for name, value in (spec["tracking_credentials"] or {}).items() if value is not None),
    }


def given_spec(action: ClusterAction, spec: dict[str, Any] | None, platform: str = "") -> HubSpec:
    """The hub of a run, without faults.

    Args:
        spec: the option of the task; None for the variables of the role superlink.
        platform: of its cluster, once it is known.

    Raises:
        ClusterError: names every fault.
    """
    own = action.variable(variables.OWN, [])
    found = inventory_faults(action, action.inventory_host, action.task_vars, own, is_site=False)
    if not platform:  # that is known with a second look
        found += wrong_types(action, SUPERLINK, *BESIDE)
    if spec is None:
        spec = {} if found else described(action)
        if not found:
            names = [name for pair in inventory.VARIABLES.values() for name in pair]
            found += inventory.place_faults(action.inventory_host, {name: action.variable(name, None) for name in names})
    if platform:
        spec = {**spec, "platform": platform}
    if not found:
        found += messages(hub_problems({**{name: action.variable(f"superlink_{name}", None) for name in _CHECKED}, **spec}))
    if found:
        raise ClusterError(variables.with_origins("\n".join(found), action.task_vars))
    return HubSpec.parse(spec)
