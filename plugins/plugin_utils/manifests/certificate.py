# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The gateway's certificate as cert-manager is asked for it; nothing with any other source.

Keys of the superlink spec used here: C(certificates_source), C(issuer) (name, kind, group), C(certificate_days),
C(renew_before), C(gateway_names) (found by the certificates action; without them the names are those of
C(common.certificate_names)).
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import Any

from ..base.addresses import is_ip
from ..base.certificate_names import certificate_names
from ..base.labels import record_labels
from ..base.secret_data import CREDENTIALS
from ..base.times import duration
from ..base.values import Object, Spec, boolean, integer, text
from .objects import metadata

API = "cert-manager.io/v1"
GROUP = "cert-manager.io"
KIND = "Certificate"
NAME = "superlink-gateway"
# Not the Secret of the built-in source: each keeps its own, so a change of the source can wait until sites trust both.
SECRET = "superlink-gateway-issued"


def issuer_ref(spec: Spec) -> dict[str, str]:
    """The issuer that signs, complete."""
    given: Mapping[str, Any] = spec.get("issuer") or {}
    return {
        "name": text(given.get("name")),
        "kind": text(given.get("kind")) or "Issuer",
        "group": text(given.get("group")) or GROUP,
    }


def objects(spec: Spec) -> list[Object]:
    """The Certificate, once the address that sites dial is known."""
    if spec.get("certificates_source") != "cert_manager" or boolean(spec.get("insecure")):
        return []
    if not spec.get("superlink_address"):
        return []
    names = list(spec.get("gateway_names") or [])
    if not names:
        found = certificate_names(spec)
        names = [*found["dns"], *found["ip"]]
    lifetime = datetime.timedelta(days=integer(spec.get("certificate_days")) or 90)
    body: Object = {
        "secretName": SECRET,
        # So that the collection finds the Secret again and a teardown takes it along.
        "secretTemplate": {"labels": record_labels(text(spec["federation"]), "superlink", CREDENTIALS)},
        "issuerRef": issuer_ref(spec),
        "dnsNames": [name for name in names if not is_ip(name)],
        "duration": go_duration(lifetime),
        "renewBefore": go_duration(duration(spec.get("renew_before")) or lifetime / 2),
        "privateKey": {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"},
        "usages": ["digital signature", "server auth"],
        "revisionHistoryLimit": 2,
    }
    addresses = [name for name in names if is_ip(name)]
    if addresses:
        body["ipAddresses"] = addresses
    return [{"apiVersion": API, "kind": KIND, "metadata": metadata(spec, NAME, "superlink"), "spec": body}]


def go_duration(value: datetime.timedelta) -> str:
    """A time as Go writes it: C(1080h), C(90m) or C(40s)."""
    seconds = int(value.total_seconds())
    for unit, length in (("h", 3600), ("m", 60)):
        if seconds % length == 0:
            return f"{seconds // length}{unit}"
    return f"{seconds}s"
