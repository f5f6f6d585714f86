# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates in the hub's cluster: what the gateway serves, what is published."""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..base.object_names import GATEWAY_VOLUME
from ..base.secret_data import entries
from ..pki import certificates as pki
from ..pki import chain

if TYPE_CHECKING:
    from cryptography import x509

# On the gateway's pod: fingerprint of the certificate for which the kubelet was triggered.
NOTE = "federated.flower/certificate"


def mounted_secret(stateful_set: Mapping[str, Any] | None) -> str:
    """Name of the Secret that the gateway mounts; empty when there is none."""
    volumes = ((stateful_set or {}).get("spec") or {}).get("template", {}).get("spec", {}).get("volumes") or []
    return next((volume["secret"]["secretName"] for volume in volumes if volume["name"] == GATEWAY_VOLUME), "")


def published_bundle(publication: Mapping[str, Any] | None) -> str:
    """The published CA bundle, PEM; empty when nothing is published."""
    return ((publication or {}).get("data") or {}).get("ca.crt", "")


def served(
    name: str, secret: Mapping[str, Any] | None, published: str, now: datetime.datetime
) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Facts of the gateway's certificate in the Secret that it mounts, and of each CA of the published CA bundle (PEM; may be empty).

    Returns:
        The certificate's facts (C(certificates.describe)) with C(secret), C(fault), the reason why sites refuse it or an empty
        text, and C(ca), the dates of the CA of its chain that ends first; and the facts of the CAs. Where no certificate can be read there is
        only the fault.
    """
    trust = [pki.describe(part) for part in pki.split(published)]
    try:
        certificates = chain.read(entries(secret).get("tls.crt", ""))
    except chain.ChainError as error:
        return {"secret": name, "fault": f"tls.crt of Secret {name} {error}"}, trust
    fault, ca = "", {}
    try:
        path = chain.path(certificates, chain.read(published))
        ca = min(map(_dates, path[1:]), key=lambda one: one["not_after"], default={})
        chain.check_use(path)
        chain.check_times(path, {"the controller": now})
    except chain.ChainError as error:
        fault = f"{error} (Secret {name}, compared with the CA bundle of the sites)" if published else ""
    return {"secret": name, **pki.describe(entries(secret)["tls.crt"]), "fault": fault, "ca": ca}, trust


def _dates(ca: x509.Certificate) -> dict[str, str]:
    begun, ends = ca.not_valid_before_utc.isoformat(), ca.not_valid_after_utc.isoformat()
    return {"subject": chain.subject(ca), "not_before": begun, "not_after": ends}
