# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Filters of playbooks/rbac.yml. The work is done by plugin_utils/manifests/gitops.py."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.actions.filters import Filters
from ansible_collections.federated.flower.plugins.plugin_utils.base.plain_data import to_json_data
from ansible_collections.federated.flower.plugins.plugin_utils.manifests.gitops import manifest


class FilterModule(Filters):
    """Filters of playbooks/rbac.yml."""

    FUNCTIONS = {"manifest": lambda objects: manifest(to_json_data(list(objects)))}
