# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gateway's certificate for cert-manager; nothing with any other source.

C(gateway_names) of the specification are found by the certificates action.
"""

from __future__ import annotations

import datetime
from dataclasses import asdict

from ..base.addresses import is_ip
from ..base.labels import record_labels
from ..base.secret_data import CREDENTIALS
from ..base.values import Object
from ..spec.hub_spec import HubSpec
from .common_objects import api_object

API = "cert-manager.io/v1"
KIND = "Certificate"
NAME = "superlink-gateway"
# Not the Secret of the built-in source: each keeps its own, so a change of the source can wait until sites trust both.
SECRET = "superlink-gateway-issued"


def objects(spec: HubSpec) -> list[Object]:
    """The Certificate, once the address to which sites connect is known."""
    if spec.certificates_source != "cert_manager" or spec.insecure or not spec.superlink_address:
        return []
    names = spec.gateway_names or spec.names_of_certificate()
    lifetime = datetime.timedelta(days=spec.certificate_days)
    body: Object = {
        "secretName": SECRET,
        # So that the collection finds the Secret again and a teardown takes it along.
        "secretTemplate": {"labels": record_labels(spec.federation, "superlink", CREDENTIALS)},
        "issuerRef": asdict(spec.issuer),
        "dnsNames": [name for name in names if not is_ip(name)],
        "duration": go_duration(lifetime),
        "renewBefore": go_duration(spec.renew_before or lifetime / 2),
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "usages": ["digital signature", "server auth"],
        "revisionHistoryLimit": 2,
    }
    addresses = [name for name in names if is_ip(name)]
    if addresses:
        body["ipAddresses"] = addresses
    return [api_object(spec, f"{API}/{KIND}", NAME, "superlink", {"spec": body})]


def go_duration(value: datetime.timedelta) -> str:
    """A time as Go writes it: C(1080h), C(90m) or C(40s)."""
    seconds = int(value.total_seconds())
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
