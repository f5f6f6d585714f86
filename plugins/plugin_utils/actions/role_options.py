# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Options of the roles of this collection: their defaults, and their argument specifications, by which the variables of a host are checked."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from ..validate.faults import Shape, shown
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


def type_faults(variables: Mapping[str, Any], roles: Iterable[str]) -> list[str]:
    """What the argument specifications of some roles say of those of their variables that a host has; one sentence for each.

    Raises:
        AnsibleError: a template cannot be evaluated.
    """
    options = {name: option for role in roles for name, option in role_options(role).items() if name in variables}
    given = {name: variables[name] for name in options}
    found = list(_unexpected(options, given)) or ArgumentSpecValidator(options).validate(given).error_messages
    return [f"{one[:_LONG]}…" if len(one) > _LONG else one for one in found]


def _unexpected(options: Mapping[str, Any], given: Mapping[str, Any], at: str = "") -> Iterator[str]:
    """What Ansible's validator converts, or ends with an exception for, such as C(.inf); of C(1e999999999) it computes all digits."""
    yield from (f"{at}{key}: a key is a text, and this is none" for key in given if not isinstance(key, str))
    for name, option in options.items():
        value, kind = given.get(name), option.get("type", "str")
        if value is None or kind not in _FORMS or (value == "" and "dict" not in (kind, option.get("elements"))):
            continue
        if (isinstance(value, Mapping), isinstance(value, list)) != (kind == "dict", kind == "list"):
            yield f"{at}{name}: {Shape(value)!r} is not {_FORMS[kind]}"
        elif kind == "int" and not _NUMBER.fullmatch(str(value)):
            yield f"{at}{name}: {shown(value)} is not an integer"
        elif "options" in option:
            for number, entry in enumerate(value if kind == "list" else [value]):
                place = f"{at}{name}[{number}]" if kind == "list" else f"{at}{name}"
                if isinstance(entry, Mapping):
                    yield from _unexpected(option["options"], entry, f"{place}.")
                else:
                    yield f"{place}: {Shape(entry)!r} is not a mapping"
