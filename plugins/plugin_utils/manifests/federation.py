# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sites need to know of the hub, published in the hub's cluster as a ConfigMap without secrets."""

from __future__ import annotations

from ..base.object_names import FEDERATION_CONFIG
from ..base.values import Object, text
from ..spec.hub_spec import HubSpec
from .common_objects import config_map

NAME = FEDERATION_CONFIG


def objects(spec: HubSpec) -> list[Object]:
    """The ConfigMap C(flower-federation); nothing until address and, unless insecure, CA are known.

    Data: C(address) (host:port), C(ca.crt) (PEM; empty if insecure), C(version), C(federation), C(namespace),
    C(server_name), C(insecure) ("true" or "false").
    """
    insecure = spec.insecure
    if not spec.superlink_address or not (spec.ca_bundle or insecure):
        return []
    data = {
        "address": spec.superlink_address,
        "ca.crt": "" if insecure else spec.ca_bundle,
        "federation": spec.federation,
        "insecure": text(insecure),
        "namespace": spec.namespace,
        "server_name": spec.verified_name,
        "version": spec.version,
    }
    return [config_map(spec, NAME, "superlink", data, "federation")]
