# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sites need to know of the hub, published in the hub's cluster as a ConfigMap without secrets."""

from __future__ import annotations

from ..base.certificate_names import server_name
from ..base.values import Object, Spec, boolean, text
from .objects import config_map

NAME = "flower-federation"


def objects(spec: Spec) -> list[Object]:
    """The ConfigMap C(flower-federation); nothing until address and, unless insecure, CA are known.

    Data: C(address) (host:port), C(ca.crt) (PEM; empty if insecure), C(version), C(federation), C(namespace),
    C(server_name), C(insecure) ("true" or "false").
    """
    insecure = boolean(spec.get("insecure"))
    if not spec.get("superlink_address") or not (spec.get("ca_bundle") or insecure):
        return []
    data = {
        "address": text(spec["superlink_address"]),
        "ca.crt": "" if insecure else text(spec["ca_bundle"]),
        "federation": text(spec["federation"]),
        "insecure": text(insecure),
        "namespace": text(spec["namespace"]),
        "server_name": server_name(spec),
        "version": text(spec["version"]),
    }
    return [config_map(spec, NAME, "superlink", data, "federation")]
