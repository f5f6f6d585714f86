# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names by which sites know the gateway: which names they verify, and which its certificate needs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..base.addresses import is_host, split_address
from ..manifests import exposure
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
    found: dict[str, list[str]] = {}
    for site in sites or [SiteNames("sites")]:
        name = _verified(spec, address, site)
        if is_host(name):
            found.setdefault(name, []).append(site.site)
    return {name: _people(who) for name, who in found.items()}


def routing(spec: HubSpec, address: str, sites: Sequence[SiteNames]) -> tuple[list[str], list[str]]:
    """Where something in front of the gateway passes TLS through: faults and warnings on names by which it does not find the gateway.

    What sites verify is also the name (SNI) of their handshake. That a site does not reach the gateway is certain if it connects to the host
    of the Route or Ingress, and possible if it connects to the C(superlink_address), of which nothing is known.

    Args:
        address: as for C(needed).
        sites: all sites.

    Returns:
        Sentences, with the names, who verifies them, and the remedy.
    """
    host = exposure.routed_host(spec, address)
    faults, warnings = [], []
    for dialled in dict.fromkeys(filter(None, (host, _host(spec.superlink_address)))) if host else ():
        lost: dict[str, list[str]] = {}
        for site in sites or [SiteNames("sites")]:
            name = _verified(spec, address, site)
            if is_host(name) and name != host and _host(site.address or address) == dialled:
                lost.setdefault(name, []).append(site.site)
        for name, who in lost.items():
            way = f"{_people(who)}: connects to {dialled} and verifies {name}"
            found = f"superlink_exposure {spec.exposure} finds the gateway by the name {host} only"
            if dialled == host:
                faults.append(
                    f"{way}, but {found}. Set superlink_host to {name}, and superlink_address to {address} where sites cannot resolve that; or "
                    "remove flower_server_name (superlink_server_name, supernode_server_name)"
                )
            else:
                warnings.append(f"{way}, and {found}. If {dialled} leads there, set superlink_host to {name}")
    return faults, warnings


def name_variable(spec: HubSpec) -> str:
    """The variable that decides which name sites verify. Where TLS is passed through, the gateway must be found by that name."""
    return "superlink_host" if exposure.exposure_of(spec).passes_tls else "flower_server_name"


def _verified(spec: HubSpec, address: str, site: SiteNames) -> str:
    """The name that a site verifies; empty while it depends on an address that is not known."""
    if not site.sidecar:
        return _host(site.address or address)
    published = replace(spec, superlink_address=address).verified_name if address or spec.server_name else ""
    return site.server_name or published


def _host(address: str) -> str:
    """The host of an address; empty when it is not host:port."""
    try:
        return split_address(address)[0]
    except ValueError:
        return ""


def _people(who: list[str]) -> str:
    more = f" and {len(who) - _SHOWN} more" if len(who) > _SHOWN else ""
    return ", ".join(who[:_SHOWN]) + more
