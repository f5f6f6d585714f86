# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the roles of this collection: their defaults, and their argument specifications, by which the variables of a host are checked."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.errors import AnsibleError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..base.errors import ClusterError
from ..validate.value_checks import Shape, shown
from .cluster_action import first_line
from .role_variables import Defaults

try:
    from ansible.template import trust_as_template
except ImportError:  # ansible-core before 2.19 trusts all strings

    def trust_as_template(value: Any) -> Any:
        """The value, as it is."""
        return value


#: Roles that run for the hosts of other roles as well: their variables are checked with the first task of a host.
BESIDE = ("ocm_addon", "skupper_site", "skupper_link", "skupper_listener", "cert_rotation")
_ROLES = Path(__file__).resolve().parents[3] / "roles"
_LONG = 600  # characters of a message
_FORMS = {"str": "a text", "int": "an integer", "bool": "true or false", "list": "a list", "dict": "a mapping"}
_NUMBER = re.compile(r"\s*[+-]?[0-9]{1,19}(\.0*)?\s*")


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


def variable_faults(read: Callable[[str], Any], names: Container[str], roles: Iterable[str]) -> list[str]:
    """Variables of some roles that cannot be evaluated, or are not what the argument specifications say; one sentence for each.

    Args:
        read: the value of a variable.
        names: those that a host has.
        roles: their names.
    """
    given, found = {}, []
    options = {name: option for role in roles for name, option in role_options(role).items() if name in names}
    for name in options:
        try:
            given[name] = read(name)
        except ClusterError as fault:
            found.append(fault.message)
        except AnsibleError as fault:
            found.append(f"{name}: its template cannot be evaluated: {first_line(fault)}")
    options = {name: options[name] for name in given}
    found += list(_option_faults({"type": "dict", "options": options}, given, "")) or ArgumentSpecValidator(options).validate(given).error_messages
    return [f"{one[:_LONG]}…" if len(one) > _LONG else one for one in found]


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
        yield from (f"{place}.{key}: a key is a text, and this is none".lstrip(".") for key in value if not isinstance(key, str))
        for name, inner in options.items():
            is_set = value.get(name) not in (None, "") or (value.get(name) == "" and "dict" in (inner.get("type"), inner.get("elements")))
            if is_set and inner.get("type", "str") in _FORMS:
                yield from _option_faults(inner, value[name], f"{place}.{name}".lstrip("."))
