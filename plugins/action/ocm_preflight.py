# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.ocm_preflight): can this hub deliver SuperNodes, before anything is changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import hub_reader
from ansible_collections.federated.flower.plugins.plugin_utils.spec.addon_spec import AddonSpec


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {"spec": {"type": "dict", "required": True}, "claim": {"type": "bool", "default": False}}

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read everything, then report all faults at once."""
        with self.connect() as hub:
            found = hub_reader.at_addon(hub, AddonSpec.parse(params["spec"]), claim=params["claim"])
        return {
            **found,
            "changed": False,
            "msg": f"{hub.name} is an Open Cluster Management hub that can deliver SuperNodes",
        }
