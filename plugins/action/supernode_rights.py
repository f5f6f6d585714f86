# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.supernode_rights): the needed rights in the clusters of sites."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import OPTIONS, FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SUPERNODE
from ansible_collections.federated.flower.plugins.plugin_utils.rbac.role_objects import beside, rights_objects
from ansible_collections.federated.flower.plugins.plugin_utils.reach.registry import DELIVERIES
from ansible_collections.federated.flower.plugins.plugin_utils.reach.site import Site
from ansible_collections.federated.flower.plugins.plugin_utils.rollout.outcome import Outcomes


class ActionModule(FleetAction):
    """See the module's documentation."""

    ARGS = {
        **OPTIONS,
        "settings": {"type": "dict", "default": {}},
        "beside": {"type": "list", "elements": "dict", "default": []},
    }

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """No cluster is contacted; a site without direct access needs no rights there."""
        for name, site in sites.items():
            own_access = DELIVERIES[site.access.delivery].own_access
            outcomes[name].facts = {"rights": [], "own_access": own_access}
            if own_access:
                try:
                    found = rights_objects(SUPERNODE, site.given, params["settings"])
                    outcomes[name].facts["rights"] = beside(found, params["beside"])
                except ValueError as error:
                    outcomes.fail(name, str(error))
        return {}
