# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names by which sites know the gateway: which names they verify, and which its certificate needs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..base.addresses import is_host, split_address
from ..spec.hub_spec import HubSpec

_SHOWN = 3


@dataclass(frozen=True)
class SiteNames:
    """A site's variables about its connection to the hub.

    Attributes:
        site: its inventory name.
        address: C(supernode_superlink_address), or empty for the one that the hub publishes.
        server_name: C(supernode_server_name), or empty for the one that the hub publishes.
        sidecar: whether a sidecar connects to the hub for its SuperNodes.
    """

    site: str
    address: str = ""
    server_name: str = ""
    sidecar: bool = True


def needed(spec: HubSpec, address: str, sites: Sequence[SiteNames]) -> dict[str, str]:
    """Names that the gateway's certificate must cover -> who verifies them, for people.

    A sidecar verifies the server name (manifests/objects.py, C(server_name)): HAProxy compares names with DNS entries only.
    A SuperNode without one verifies the host of the address that it connects to, an IP address too. A value that is neither a
    DNS name nor an IP address is left out: the checks of its site report it.

    Args:
        address: host and port that the hub publishes; empty while it is not known; names that depend on it are then omitted.
        sites: all sites.
    """
    published = replace(spec, superlink_address=address).verified_name if address or spec.server_name else ""
    found: dict[str, list[str]] = {}
    for site in sites or [SiteNames("sites")]:
        name = site.server_name or published if site.sidecar else _host(site.address or address)
        if is_host(name):
            found.setdefault(name, []).append(site.site)
    return {name: _people(who) for name, who in found.items()}


def _host(address: str) -> str:
    """The host of an address; empty when it is not host:port."""
    try:
        return split_address(address)[0]
    except ValueError:
        return ""


def _people(who: list[str]) -> str:
    more = f" and {len(who) - _SHOWN} more" if len(who) > _SHOWN else ""
    return ", ".join(who[:_SHOWN]) + more
