# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of playbooks/rbac.yml. The work is done by plugin_utils/rights and plugin_utils/manifests/text.py."""

from __future__ import annotations

from typing import Any, Callable

from ansible.errors import AnsibleFilterError

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import marked
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERLINK
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.text import manifest
from ansible_collections.federated.flower.plugins.plugin_utils.rbac.role_objects import rights_objects
from ansible_collections.federated.flower.plugins.plugin_utils.validate.parsed_spec import SpecError


def _of(part: str) -> Callable[..., Any]:
    def rights(spec: Any, settings: Any) -> Any:
        try:
            return rights_objects(part, plain(spec), plain(settings))
        except SpecError as error:
            raise AnsibleFilterError(str(error)) from error

    return rights


class FilterModule:
    """Filters of playbooks/rbac.yml."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return marked({"manifest": lambda objects: manifest(plain(list(objects))), "superlink_rights": _of(SUPERLINK)})
