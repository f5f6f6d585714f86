# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Faults of the metrics of a superlink spec."""

from __future__ import annotations

from ..base.values import boolean
from .faults import Faults, Shape, Spec
from .policy_faults import peer_faults

_KEYS = ("enabled", "image", "monitor", "acm", "runs", "resources", "api_server")


def metrics_faults(spec: Spec, faults: Faults) -> None:
    """Rules for C(metrics)."""
    value = spec.get("metrics")
    if not faults.mapping("metrics", value):
        return
    own = value or {}
    for key in sorted(set(own) - set(_KEYS)):
        faults.add(f"metrics.{key}", Shape(own[key]), f"is not one of {', '.join(_KEYS)}")
    faults.resources("metrics.resources", own.get("resources"))
    peer_faults("metrics.api_server", own.get("api_server"), faults)
    if not boolean(own.get("enabled")):
        for key in ("monitor", "acm", "runs"):
            if boolean(own.get(key)):
                faults.add(f"metrics.{key}", own[key], "has no effect: metrics.enabled is not true; set it, or remove this")
    elif boolean(own.get("acm")) and not boolean(own.get("monitor")):
        faults.add("metrics.acm", own["acm"], "has no effect: metrics.monitor is not true, so no Prometheus of OpenShift reads the metrics; set it")
    elif not own.get("image"):
        faults.add(
            "metrics.image",
            own.get("image"),
            "is not set; build an image from Flower's and the package prometheus_client (the guide on metrics has a Containerfile)",
        )
