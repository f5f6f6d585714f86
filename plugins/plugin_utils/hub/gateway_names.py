# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The names by which sites know the gateway: which names they verify, and which its certificate needs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..base.addresses import split_address
from ..base.certificate_names import certificate_names, server_name

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


def needed(spec: Mapping[str, Any], address: str, sites: Sequence[SiteNames]) -> dict[str, str]:
    """Names that the gateway's certificate must cover -> who verifies them, for people.

    A sidecar verifies the server name (manifests/objects.py, C(server_name)): HAProxy compares names with DNS entries only.
    A SuperNode without one verifies the host of the address that it connects to, an IP address too.

    Args:
        spec: the superlink spec.
        address: host and port that the hub publishes; empty while it is not known; names that depend on it are then omitted.
        sites: all sites.
    """
    published = server_name({**spec, "superlink_address": address}) if address or spec.get("server_name") else ""
    found: dict[str, list[str]] = {}
    for site in sites or [SiteNames("sites")]:
        if site.sidecar:
            name = site.server_name or published
        else:
            dialled = site.address or address
            name = split_address(dialled)[0] if dialled else ""
        if name:
            found.setdefault(name, []).append(site.site)
    return {name: _people(who) for name, who in found.items()}


def wanted(spec: Mapping[str, Any], address: str, must: Iterable[str]) -> list[str]:
    """Names for a certificate of the gateway, DNS names first.

    Args:
        spec: the superlink spec. Without C(certificate_internal_names) only the names that are required and those of
            C(certificate_names) are taken: public CAs sign no others.
        address: host and port that the hub publishes.
        must: the names that sites verify.
    """
    asked = {**spec, "superlink_address": address, "certificate_names": [*must, *(spec.get("certificate_names") or [])]}
    found = certificate_names(asked)
    return [*found["dns"], *found["ip"]]


def _people(who: list[str]) -> str:
    more = f" and {len(who) - _SHOWN} more" if len(who) > _SHOWN else ""
    return ", ".join(who[:_SHOWN]) + more
