# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs federated.flower.node_config on the control node, with any connection of the host."""

from __future__ import annotations

from typing import Any

from ansible.plugins.action import ActionBase
from ansible.utils.display import Display

from ansible_collections.federated.flower.plugins.module_utils.node_config import (
    ARGUMENT_SPEC,
    NodeConfigError,
    expand,
)

display = Display()


class ActionModule(ActionBase):
    """The action; it is documented by the module of the same name."""

    _supports_check_mode = True
    _supports_async = False
    _requires_connection = False
    TRANSFERS_FILES = False

    def run(self, tmp: str | None = None, task_vars: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return argument, env and preview, or a failure with error_code and errors."""
        result: dict[str, Any] = super().run(tmp, task_vars)
        _validation, params = self.validate_argument_spec(argument_spec=ARGUMENT_SPEC)
        options = {name: params.get(name) for name in ARGUMENT_SPEC}
        result["changed"] = False
        try:
            expansion = expand(options.pop("node_config"), **options)
        except NodeConfigError as error:
            result.update(failed=True, msg=str(error), error_code=error.code, errors=error.errors)
            return result
        for warning in expansion.warnings:
            display.warning(warning)
        result.update(argument=expansion.argument, env=expansion.env, preview=expansion.preview)
        return result
