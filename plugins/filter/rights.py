# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of playbooks/rbac.yml. The work is done by plugin_utils/manifests/text.py."""

from __future__ import annotations

from typing import Any, Callable

from ansible_collections.federated.flower.plugins.plugin_utils.actions.unsafe import marked
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain import plain
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.text import manifest


class FilterModule:
    """Filters of playbooks/rbac.yml."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Names and functions."""
        return marked({"manifest": lambda objects: manifest(plain(list(objects)))})
