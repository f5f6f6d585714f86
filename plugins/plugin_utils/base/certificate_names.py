# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in the certificates of a federation, and names that are verified against them. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from typing import Any

from .addresses import is_address, is_ip, split_address
from .values import Spec, boolean, text


def fixed_server_name(spec: Spec) -> str:
    """DNS name in every certificate of the gateway, independent of its address.

    It is not resolved. A sidecar verifies it when the hub's address is an IP: HAProxy compares names with DNS
    entries of a certificate only, never with IP entries.
    """
    return f"superlink.{spec['federation']}.flower.internal"


def server_name(spec: Spec) -> str:
    """Name (also the SNI) against which a site's sidecar verifies the gateway's certificate.

    The C(server_name) of the spec if there is one; else the host of the address, as a router that passes TLS through
    finds its backend by it; for an IP address, the fixed name.
    """
    if spec.get("server_name"):
        return text(spec["server_name"])
    if spec.get("superlink_address"):
        host = split_address(text(spec["superlink_address"]))[0]
        if not is_ip(host):
            return host
    return fixed_server_name(spec)


def next_server_name(name: str) -> str:
    """Name (SNI) under which the gateway serves the next certificate during a rotation of the CA.

    It need not be resolved: clients connect to the same address as before.
    """
    return f"next.{name}"


def certificate_names(spec: Spec, addresses: Iterable[str] = ()) -> dict[str, list[str]]:
    """Subject alternative names of a certificate for the gateway.

    Without C(certificate_internal_names) in the spec only those of C(certificate_names): what sites verify (hub/gateway_names.py)
    is put there before.

    Args:
        addresses: more hosts or "host:port" under which sites reach the gateway.

    Returns:
        C({"dns": [...], "ip": [...]}), each without doubles, in a stable order.
    """
    dns: list[str] = []
    ips: list[str] = []
    given: list[Any] = []
    if boolean(spec.get("certificate_internal_names", True)):
        dns = [fixed_server_name(spec), "superlink", f"superlink.{spec['namespace']}.svc"]
        given = [spec.get("server_name"), spec.get("host"), spec.get("superlink_address"), *addresses]
    given += list(spec.get("certificate_names") or [])
    for entry in given:
        if not entry:
            continue
        host = text(entry)
        if is_address(host) and not is_ip(host):
            host = split_address(host)[0]
        if is_ip(host):
            ips.append(str(ipaddress.ip_address(host)))
        else:
            dns.append(host)
    return {"dns": list(dict.fromkeys(dns)), "ip": list(dict.fromkeys(ips))}


def local_certificate_names(namespace: str) -> list[str]:
    """Names in the certificate of a sidecar's listeners (Secret C(supernode-local-tls)): loopback, and Services of the site."""
    return ["localhost", "127.0.0.1", listener_certificate_name(namespace)]


def listener_certificate_name(namespace: str) -> str:
    """The name among them by which ClientApps in other pods reach the listeners. OpenSSL wants two labels behind the star."""
    return f"*.{namespace}.svc"
