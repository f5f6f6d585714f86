# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A load balancer that the hub's cluster orders."""

from __future__ import annotations

from typing import Any

from ...base.addresses import network
from ...spec.hub_spec import HubSpec
from .base_exposure import Live, OutsideExposure, chosen, join, named


class LoadBalancer(OutsideExposure):
    """See C(base_exposure.Exposure)."""

    name = "load_balancer"
    service_type = "LoadBalancer"
    options = ("load_balancer_class", "load_balancer_source_ranges", *OutsideExposure.options)

    def service_fields(self, spec: HubSpec) -> dict[str, Any]:
        """See C(Exposure)."""
        return {
            **super().service_fields(spec),
            "loadBalancerClass": spec.load_balancer_class,
            "loadBalancerSourceRanges": [network(one) for one in spec.load_balancer_source_ranges],
        }

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure). One of the addresses that the load balancer got."""
        status = (named(live, "Service").get("status") or {}).get("loadBalancer") or {}
        given = [entry.get("hostname") or entry.get("ip") or "" for entry in status.get("ingress") or []]
        host = chosen([*filter(None, given)], live)
        return join(spec.host or host, spec.port) if host else ""
