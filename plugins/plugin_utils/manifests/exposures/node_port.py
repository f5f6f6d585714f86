# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port of every node of the hub's cluster."""

from __future__ import annotations

from ...base.values import text
from ...spec.hub_spec import HubSpec
from .base_exposure import Live, OutsideExposure, chosen, join, named


class NodePort(OutsideExposure):
    """See C(base_exposure.Exposure)."""

    name = "node_port"
    service_type = "NodePort"

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure). External addresses of nodes are preferred, then internal ones; nodes by name."""
        node_port = spec.node_port
        for entry in (named(live, "Service").get("spec") or {}).get("ports") or []:
            if entry.get("name") == "fleet":
                node_port = entry.get("nodePort") or node_port
        return join(self.likely_host(spec, live), node_port)

    def likely_host(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        return spec.host or _node_address(live)

    def needs_nodes(self, spec: HubSpec) -> bool:
        """See C(Exposure)."""
        return not spec.superlink_address and not spec.host

    def doubt(self, spec: HubSpec) -> str:
        """See C(Exposure)."""
        if spec.external_traffic_policy != "Local" or not self.needs_nodes(spec):
            return ""
        return (
            "superlink_external_traffic_policy: with Local only the node that runs the SuperLink's pod answers at the node port, and sites get "
            "the address of one node, whichever that is. Set superlink_host to an address that leads to the pod's node, or remove the policy"
        )


def _node_address(live: Live) -> str:
    nodes = sorted((one for one in live if one.get("kind") == "Node"), key=lambda one: one["metadata"]["name"])
    addresses = [entry for node in nodes for entry in (node.get("status") or {}).get("addresses") or []]
    kinds = ("ExternalIP", "InternalIP")
    return chosen([text(entry.get("address")) for kind in kinds for entry in addresses if entry.get("type") == kind], live)
