# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A host's variables, checked before its cluster is contacted: names, templates, values, inventory."""

from __future__ import annotations

from typing import Any

from ..base.errors import ClusterError
from ..base.object_names import SUPERLINK
from ..preflight import hub_place, variables
from ..spec.hub_spec import HubSpec
from ..validate.superlink_faults import superlink_faults
from .cluster_action import ClusterAction
from .inventory_checks import inventory_faults
from .role_options import BESIDE, role_options, type_faults

_CHECKED = ("client_certificate_days", "wait_timeout")  # variables of the run, which are no part of a specification


def given_spec(action: ClusterAction, spec: dict[str, Any] | None, platform: str = "") -> HubSpec:
    """The hub of a run, without faults.

    Args:
        spec: the option of the task; None for what the role assembles from its variables.
        platform: of its cluster, once it is known.

    Raises:
        ClusterError: names every fault.
    """
    own = action.variable(variables.OWN, [])
    found = inventory_faults(action, action.inventory_host, action.task_vars, own, is_site=False)
    if not platform:  # that is known with a second look
        found += _faults_of_variables(action)
    if spec is None:
        spec = {} if found else action.variable(f"__{SUPERLINK}_spec", {})
        if not found:
            names = [name for pair in hub_place.VARIABLES.values() for name in pair]
            found += hub_place.faults(action.inventory_host, {name: action.variable(name, None) for name in names})
    if platform:
        spec = {**spec, "platform": platform}
    if not found:
        found += superlink_faults({**{name: action.variable(f"superlink_{name}", None) for name in _CHECKED}, **spec})
    if found:
        raise ClusterError(variables.with_origins("\n".join(found), action.task_vars))
    return HubSpec.parse(spec)


def _faults_of_variables(action: ClusterAction) -> list[str]:
    """Variables of roles whose templates cannot be evaluated, or that are of another type."""
    host, given, found = action.inventory_host, {}, []
    for name in (name for role in (SUPERLINK, *BESIDE) for name in role_options(role) if name in action.task_vars):
        try:
            given[name] = action.variable(name, None)
        except ClusterError as fault:
            found.append(f"{host}: {fault.message}")
    return found + [f"{host}: {fault}" for fault in type_faults(given, (SUPERLINK, *BESIDE))]
