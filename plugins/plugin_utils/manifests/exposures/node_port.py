# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A port of every node of the hub's cluster."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ...base.values import text
from ...spec.hub_spec import HubSpec
from .base_exposure import Live, OutsideExposure, join, named


class NodePort(OutsideExposure):
    """See C(base_exposure.Exposure)."""

    name = "node_port"
    service_type = "NodePort"

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure). External addresses of nodes are preferred, then internal ones; the first node by name."""
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


def _node_address(live: Iterable[Mapping[str, Any]]) -> str:
    nodes = sorted((one for one in live if one.get("kind") == "Node"), key=lambda one: one["metadata"]["name"])
    for wanted in ("ExternalIP", "InternalIP"):
        for node in nodes:
            for entry in (node.get("status") or {}).get("addresses") or []:
                if entry.get("type") == wanted:
                    return text(entry.get("address"))
    return ""
