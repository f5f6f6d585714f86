# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""All exposures. A new one is a file beside this one, and an entry here."""

from __future__ import annotations

from ...spec.hub_spec import HubSpec
from .base_exposure import Exposure
from .ingress import Ingress
from .load_balancer import LoadBalancer
from .node_port import NodePort
from .route import Route

EXPOSURES: dict[str, Exposure] = {
    one.name: one
    for one in (
        Exposure(),
        NodePort(),
        LoadBalancer(),
        Ingress(),
        Route(),
    )
}


def exposure_of(spec: HubSpec) -> Exposure:
    """The exposure of the spec."""
    return EXPOSURES[spec.exposure]
