# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Options of the roles of this collection, and the variables of a host as arguments of a role's tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..base.errors import ClusterError
from ..checks import inventory
from ..checks.value_checks import Shape, shown
from .cluster_action import ClusterAction, first_line, option_faults
from .role_variables import Defaults, HostVariables

#: Roles that run for the hosts of other roles as well: their variables are checked with the first task of a host.
BESIDE = ("ocm_addon", "skupper_site", "skupper_link", "skupper_listener", "cert_rotation")
_ROLES = Path(__file__).resolve().parents[3] / "roles"
_LONG = 600  # characters of a message
_FORMS = {"str": "a text", "int": "an integer", "bool": "true or false", "list": "a list", "dict": "a mapping"}
_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,19}(\.0*)?\s*")


try:
    from ansible.template import trust_as_template
except ImportError:  # ansible-core before 2.19 trusts all strings

    def trust_as_template(value: Any) -> Any:
        """The value, as it is."""
        return value


def trusted(value: Any) -> Any:
    """A value whose texts are templates."""
    if isinstance(value, dict):
        return {key: trusted(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [trusted(entry) for entry in value]
    return trust_as_template(value) if isinstance(value, str) else value


@cache
def role_defaults(role: str) -> Defaults:
    """The defaults of a role of this collection."""
    text = (_ROLES / role / "defaults" / "main.yml").read_text(encoding="utf-8")
    return Defaults(trusted(yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))))


@cache
def role_options(role: str) -> dict[str, dict[str, Any]]:
    """The options in the argument specification of a role of this collection."""
    text = (_ROLES / role / "meta" / "argument_specs.yml").read_text(encoding="utf-8")
    specs = yaml.load(text, getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    options: dict[str, dict[str, Any]] = specs["argument_specs"]["main"]["options"]
    return options


def variable_faults(read: Callable[[str], Any], names: Container[str], roles: Iterable[str], good: set[tuple[str, str]] | None = None) -> list[str]:
    """Variables of some roles that cannot be evaluated, or are not what the argument specifications say; one sentence for each.

    Args:
        read: the value of a variable.
        names: those that a host has.
        roles: their names.
        good: variables and values in which no fault was found before, which are not checked again. What is good now is added.
    """
    good = set() if good is None else good
    given: dict[str, Any] = {}
    found: list[str] = []
    unevaluated: dict[str, list[str]] = {}
    options = {name: option for role in roles for name, option in role_options(role).items() if name in names}
    for name in options:
        try:
            given[name] = read(name)
        except ClusterError as fault:
            found.append(fault.message)
        except AnsibleError as fault:
            unevaluated.setdefault(first_line(fault), []).append(name)
    for why, listed in unevaluated.items():
        found.append(f"{', '.join(listed)}: {'its template' if len(listed) == 1 else 'their templates'} cannot be evaluated: {why}")
    # Hosts of a fleet have most values in common. The text of a value has its type, and that of keys.
    new = {key: name for name, value in given.items() if (key := (name, repr(value))) not in good}
    given = {name: given[name] for name in new.values()}
    options = {name: options[name] for name in given}
    wrong = list(_option_faults({"type": "dict", "options": options}, given, "")) or option_faults(ArgumentSpecValidator(options).validate(given))
    if not wrong:
        good.update(new)
    return [f"{one[:_LONG]}…" if len(one) > _LONG else one for one in found + wrong]


def _option_faults(option: Mapping[str, Any], value: Any, place: str) -> Iterator[str]:
    """What Ansible's validator converts, or ends with an exception for, such as C(.inf); of C(1e999999999) it computes all digits."""
    kind, options = option.get("type", "str"), option.get("options", {})
    if (isinstance(value, Mapping), isinstance(value, list)) != (kind == "dict", kind == "list"):
        yield f"{place}: {Shape(value)!r} is not {_FORMS[kind]}"
    elif kind == "int" and not _NUMBER.fullmatch(str(value)):
        yield f"{place}: {shown(value)} is not an integer"
    elif kind == "list" and option.get("elements") in _FORMS:
        for number, entry in enumerate(value):
            yield from _option_faults({"type": option["elements"], "options": options}, entry, f"{place}[{number}]")
    elif options:
        yield from (f"{place}.{key}: keys must be strings".lstrip(".") for key in value if not isinstance(key, str))
        for name, inner in options.items():
            is_set = value.get(name) not in (None, "") or (value.get(name) == "" and "dict" in (inner.get("type"), inner.get("elements")))
            if is_set and inner.get("type", "str") in _FORMS:
                yield from _option_faults(inner, value[name], f"{place}.{name}".lstrip("."))


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
    if found := option_faults(outcome):
        raise ClusterError(f"{found[0]}.")
    return {name.removeprefix(f"{role}_"): value for name, value in outcome.validated_parameters.items()}


def wrong_types(action: ClusterAction, *roles: str) -> list[str]:
    """Variables of the host of a task that are not what the argument specifications of some roles say."""
    return [f"{action.inventory_host}: {fault}" for fault in variable_faults(lambda name: action.variable(name, None), action.task_vars, roles)]


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

    @property
    def role(self) -> str:
        """The role; without one, options have the defaults of the module."""
        return ""

    def arguments(self) -> dict[str, Any]:
        """See C(ClusterAction)."""
        given = super().arguments()
        if not self.role:
            return given
        if "spec" in self.ARGS and given.get("spec") is None:
            given["spec"] = self.spec()
        return role_settings(self, self.role, [name for name in self.ARGS if name not in given]) | given

    def spec(self) -> dict[str, Any]:
        """The specification: C(role_spec) and what the inventory says beside it."""
        return role_spec(self, self.role)
