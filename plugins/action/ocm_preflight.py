# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.ocm_preflight): can this hub deliver SuperNodes, before anything is changed."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.ocm_places import places
from ansible_collections.federated.flower.plugins.plugin_utils.actions.role_spec import RoleAction, site_hosts
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api, hub_reader, leaving, placement_switch
from ansible_collections.federated.flower.plugins.plugin_utils.spec.addon_spec import AddonSpec
from ansible_collections.federated.flower.plugins.plugin_utils.validate.ocm_faults import ocm_addon_faults


class ActionModule(RoleAction):
    """See the module's documentation."""

    ROLE = "ocm_addon"
    ARGS = {
        "spec": {"type": "dict", "required": True},
        "claim": {"type": "bool", "default": False},
        "sites": {"type": "list", "elements": "str", "default": []},
    }

    def arguments(self) -> dict[str, Any]:
        """See C(RoleAction); C(sites) are those of the inventory."""
        return {"sites": site_hosts(self)} | super().arguments()

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Read everything, then report all faults at once."""
        if faults := ocm_addon_faults(params["spec"]):
            raise ClusterError("\n".join(faults))
        spec = AddonSpec.parse(params["spec"])
        with self.connect() as hub:
            found = hub_reader.at_addon(hub, spec, claim=params["claim"])
            loss = placement_switch.loss(hub, spec, hub.get(api.ADDONS, "ClusterManagementAddOn", spec.name))
            if loss:
                raise ClusterError(f"{loss}.")
            addons = hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={spec.name}") if params["sites"] else []
        where = places(self, sorted({leaving.site_of(item) for item in addons} & set(params["sites"])))
        left = [leaving.moved_sentence(site, cluster, where[site]) for site, cluster in leaving.moved(addons, where)]
        return {
            **found,
            "warnings": [*found["warnings"], *left],
            "changed": False,
            "msg": f"{hub.name} is an Open Cluster Management hub that can deliver SuperNodes",
        }
