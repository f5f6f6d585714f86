# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A load balancer that the hub's cluster orders."""

from __future__ import annotations

from typing import Any

from ...base.values import Spec, text
from .base_exposure import Live, OutsideExposure, join, named, port_of


class LoadBalancer(OutsideExposure):
    """See C(base_exposure.Exposure)."""

    name = "load_balancer"
    service_type = "LoadBalancer"
    options = ("load_balancer_class", "load_balancer_source_ranges", *OutsideExposure.options)

    def service_fields(self, spec: Spec) -> dict[str, Any]:
        """See C(Exposure)."""
        return {
            **super().service_fields(spec),
            "loadBalancerClass": spec.get("load_balancer_class"),
            "loadBalancerSourceRanges": [text(cidr) for cidr in spec.get("load_balancer_source_ranges") or []],
        }

    def address(self, spec: Spec, live: Live) -> str:
        """See C(Exposure). The first address that the load balancer got."""
        status = (named(live, "Service").get("status") or {}).get("loadBalancer") or {}
        for entry in status.get("ingress") or []:
            given = entry.get("hostname") or entry.get("ip")
            if given:
                return join(text(spec.get("host")) or given, port_of(spec))
        return ""
