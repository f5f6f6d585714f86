# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hosts, addresses and ports as text. Pure."""

from __future__ import annotations

import ipaddress
import re

# Kubernetes: RFC 1123 subdomain (apimachinery/pkg/util/validation).
SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_ADDRESS = re.compile(r"^(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<host>[^\s:/\[\]]+)):(?P<port>[0-9]{1,5})$")


def split_address(address: str) -> tuple[str, int]:
    """Host and port of "host:port" or "[ipv6]:port".

    Raises:
        ValueError: the text is not such an address.
    """
    match = _ADDRESS.match(address)
    if not match or not 1 <= int(match["port"]) <= 65535:
        raise ValueError(f"{address!r} is not host:port")
    return match["six"] or match["host"], int(match["port"])


def is_ip(host: str) -> bool:
    """True for a literal IPv4 or IPv6 address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def network(value: object) -> str:
    """A network as the API takes it: an address alone gets its prefix length, and a netmask becomes one.

    Raises:
        ValueError: it is not a network.
    """
    return str(ipaddress.ip_network(str(value)))


def is_host(text: str) -> bool:
    """True for a literal IP address and for a DNS name, in any case of its letters."""
    return is_ip(text) or SUBDOMAIN.fullmatch(text.lower()) is not None


def is_address(text: str) -> bool:
    """True for "host:port" and "[ipv6]:port", with any port."""
    return _ADDRESS.match(text) is not None
