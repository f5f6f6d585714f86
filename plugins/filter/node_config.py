# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The filter federated.flower.node_config; documented in node_config.yml."""

from __future__ import annotations

from typing import Any

from ansible.errors import AnsibleFilterError
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.utils.display import Display

from ansible_collections.federated.flower.plugins.module_utils.node_config import (
    ARGUMENT_SPEC,
    NodeConfigError,
    expand,
)
from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters

display = Display()


def node_config(value: Any, **options: Any) -> dict[str, Any]:
    """Return argument, env and preview of a node_config; options are the parameters of the module."""
    # The same coercions as for the module: templates may return numbers as text.
    validated = ArgumentSpecValidator(ARGUMENT_SPEC).validate({"node_config": value, **options})
    if validated.error_messages:
        raise AnsibleFilterError("federated.flower.node_config: " + "; ".join(validated.error_messages))
    params = {name: validated.validated_parameters.get(name) for name in ARGUMENT_SPEC}
    try:
        expansion = expand(params.pop("node_config"), **params)
    except NodeConfigError as error:
        raise AnsibleFilterError(
            "\n".join(f"federated.flower.node_config: {each['code']}: {each['message']}" for each in error.errors)
        ) from error
    for warning in expansion.warnings:
        display.warning(warning)
    return {"argument": expansion.argument, "env": expansion.env, "preview": expansion.preview}


class FilterModule(Filters):
    """Filters of this file."""

    FUNCTIONS = {"node_config": node_config}
