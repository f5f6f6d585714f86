# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The variables of a role as arguments of its tasks: a task of a role has no arguments but those that differ from the role's variables."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..base.errors import ClusterError
from ..preflight import inventory
from .cluster_action import ClusterAction, first_line
from .role_options import role_defaults, role_options
from .role_variables import Defaults, HostVariables


def role_values(action: ClusterAction, role: str) -> HostVariables:
    """The variables of the host of a task, with the defaults of a role where the task is not in that role."""
    defaults = role_defaults(role).values
    raw = {**defaults, **action.task_vars}
    return HostVariables(raw, action.templater(raw), Defaults(defaults))


def role_spec(action: ClusterAction, role: str, apart: Collection[str] = ()) -> dict[str, Any]:
    """The options of a role without their prefix, and C(cluster), the inventory name of the host: what the C(parse) of a spec takes.

    Args:
        action: of a task.
        role: its name.
        apart: options that are no part of the specification, without their prefix.

    Raises:
        ClusterError: a template cannot be evaluated, with the name of the variable.
    """
    values = role_values(action, role)
    names = {name: name.removeprefix(f"{role}_") for name in role_options(role)}
    return {short: _value(values, name) for name, short in names.items() if short not in apart} | {"cluster": action.inventory_host}


def role_settings(action: ClusterAction, role: str, names: Collection[str]) -> dict[str, Any]:
    """Some options of a role without their prefix, with the types of its argument specification.

    Raises:
        ClusterError: a template cannot be evaluated, or a value has another type.
    """
    values, options = role_values(action, role), role_options(role)
    full = [name for name in (f"{role}_{short}" for short in names) if name in options]
    outcome = ArgumentSpecValidator({name: options[name] for name in full}).validate({name: _value(values, name) for name in full})
    if outcome.error_messages:
        raise ClusterError(f"{outcome.errors.msg}.")
    return {name.removeprefix(f"{role}_"): value for name, value in outcome.validated_parameters.items()}


def site_hosts(action: ClusterAction) -> list[str]:
    """Inventory names of all sites."""
    groups = action.task_vars.get("groups") or {}
    return [str(site) for site in groups.get(action.variable("flower_sites_group", inventory.SITES)) or []]


def hub_hosts(action: ClusterAction) -> list[str]:
    """Inventory names of the group of the hub."""
    groups = action.task_vars.get("groups") or {}
    return [str(host) for host in groups.get(action.variable("flower_hub_group", inventory.HUB)) or []]


def _value(values: HostVariables, name: str) -> Any:
    try:
        return values[name]
    except AnsibleError as error:
        raise ClusterError(f"{name}: its template cannot be evaluated: {first_line(error)}") from error


class RoleAction(ClusterAction):
    """An action whose options, where a task leaves them out, are those of a role, and whose option C(spec) is the specification of that role."""

    #: The role; without one its options have the defaults of the module.
    ROLE = ""

    def arguments(self) -> dict[str, Any]:
        """See C(ClusterAction)."""
        given = super().arguments()
        if not self.ROLE:
            return given
        absent = [name for name in self.ARGS if name not in given]
        if "spec" in absent:
            given["spec"] = self.spec()
        return role_settings(self, self.ROLE, absent) | given

    def spec(self) -> dict[str, Any]:
        """The specification: C(role_spec) and what the inventory says beside it."""
        return role_spec(self, self.ROLE)
