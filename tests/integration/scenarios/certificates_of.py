# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a federation's certificates are: in the hub's Secrets, at the sites, and at the gateway's port."""

from __future__ import annotations

import socket
import ssl
from typing import Any

from cryptography import x509

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.ca_state import read

SITES = ("site-a", "site-b")
SECRET = "superlink-gateway-tls"


def authority(fed: Any) -> Any:
    """The state of the CA's rotation, from its Secret."""
    live = fed.hub.get("v1", "Secret", "flower-ca", fed.common["flower_ca_namespace"])
    return read(entries(live), live["metadata"].get("annotations") or {})


def signer(fed: Any) -> str:
    """The certificate of the CA that signs, PEM."""
    return authority(fed).authority.current.certificate


def leaf(fed: Any) -> str:
    """Serial number of the certificate in the gateway's Secret, hexadecimal."""
    return certificates.describe(entries(fed.hub.get("v1", "Secret", SECRET, fed.namespace))["tls.crt"])["serial"]


def published(fed: Any) -> dict[str, str]:
    """Data of the ConfigMap for sites."""
    return fed.hub.get("v1", "ConfigMap", "flower-federation", fed.namespace)["data"]


def served(fed: Any) -> str:
    """Serial number of the certificate that the gateway serves at its port, verified with the published CA, hexadecimal."""
    public, door = published(fed), fed.door()
    context = ssl.create_default_context(cadata=public["ca.crt"])
    with (
        socket.create_connection((door["host"], door["port"]), timeout=60) as plain,
        context.wrap_socket(plain, server_hostname=public["server_name"]) as tls,
    ):
        return format(x509.load_der_x509_certificate(tls.getpeercert(binary_form=True)).serial_number, "x")


def trusts(fed: Any) -> list[str]:
    """The CA bundles that the hub publishes and that each site has, PEM."""
    bundles = [fed.cluster(site).get("v1", "ConfigMap", "supernode-trust", fed.namespace)["data"]["ca.crt"] for site in SITES]
    return [text.strip() for text in (published(fed)["ca.crt"], *bundles)]
