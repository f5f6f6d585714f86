# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Names in the certificates of a federation, and names that are verified against them. Pure."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable

from .addresses import is_address, is_ip, split_address


def next_server_name(name: str) -> str:
    """Name (SNI) under which the gateway serves the next certificate during a rotation of the CA.

    It need not be resolved: clients connect to the same address as before.
    """
    return f"next.{name}"


def certificate_names(given: Iterable[str]) -> dict[str, list[str]]:
    """Subject alternative names of a certificate.

    Args:
        given: hosts or "host:port"; what is empty is left out.

    Returns:
        C({"dns": [...], "ip": [...]}), each without doubles, in the order given.
    """
    dns: list[str] = []
    ips: list[str] = []
    for host in filter(None, given):
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
