# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.node_info): GPUs and feature labels of the nodes of sites."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.fleet_action import FleetAction
from ansible_collections.federated.flower.plugins.plugin_utils.checks import devices
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import DELIVERIES
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site


class ActionModule(FleetAction):
    """See the module's documentation."""

    NEEDS_LEASE = False

    def work(self, params: dict[str, Any], sites: dict[str, Site], outcomes: Outcomes) -> dict[str, Any]:
        """One list of nodes for each site. A site that only a hub reaches has no nodes here; its inventory plugin reads what the hub knows."""

        def read(name: str) -> None:
            found = devices.facts([], params["labels"])
            msg = "its nodes cannot be read: it is reached through another cluster"
            if DELIVERIES[sites[name].access.delivery].own_access:
                with self.connect(name, timeout=params["timeout"]) as cluster:
                    found = devices.facts(cluster.list("v1", "Node"), params["labels"])
                counts = ", ".join(f"{count} x {resource}" for resource, count in found["gpus"].items())
                msg = f"its nodes have {counts or 'no GPUs'}" + (f" ({', '.join(found['products'])})" if found["products"] else "")
            outcomes[name].facts = found
            outcomes[name].msg = msg

        outcomes.each(read)
        return {}
