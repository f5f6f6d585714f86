# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""How the gateway is made reachable for sites: the interface of every exposure.

An exposure is a file beside this one with a subclass, and an entry in C(exposure_registry.py). Its options are described in the
role's argument specification.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...base.addresses import is_address, is_ip, split_address
from ...base.object_names import FEDERATION_CONFIG, SUPERLINK_SERVICE
from ...base.values import Object, text
from ...spec.hub_spec import HubSpec

SERVICE = SUPERLINK_SERVICE
ROUTED_PORT = 443  # of an ingress controller or router that passes TLS through

Live = Sequence[Mapping[str, Any]]


class Exposure:
    """One way to make the gateway reachable; this one is reachable from within the cluster only.

    Attributes:
        name: the value of C(superlink_exposure).
        service_type: type of the Service.
        options: options that have an effect with this exposure, and with few others.
        passes_tls: whether something in front of the gateway finds it by the name in the TLS handshake.
        needs_host: whether the variables have to say by which name.
        reads: apiVersion and kind of what C(address) reads besides the Service and what is published, all with the name C(superlink).
    """

    name = "cluster_ip"
    service_type = "ClusterIP"
    options: tuple[str, ...] = ()
    passes_tls = False
    needs_host = False
    reads: tuple[tuple[str, str], ...] = ()

    def service_fields(self, spec: HubSpec) -> dict[str, Any]:
        """More fields of the Service's spec."""
        return {}

    def objects(self, spec: HubSpec) -> list[Object]:
        """Objects besides the Service."""
        return []

    def address(self, spec: HubSpec, live: Live) -> str:
        """C(host:port) under which sites reach the gateway; empty while it is not known.

        Args:
            spec: the hub's, without C(superlink_address).
            live: objects as the API server returns them; irrelevant kinds are ignored.
        """
        return f"{SERVICE}.{spec.namespace}.svc:{spec.port}"

    def likely_host(self, spec: HubSpec, live: Live) -> str:
        """The host that the address will have, once there is one."""
        return spec.host

    def needs_nodes(self, spec: HubSpec) -> bool:
        """Whether C(address) reads the cluster's nodes."""
        return False

    def sets_route_host(self, spec: HubSpec) -> bool:
        """Whether a Route with its own host is created, for which OpenShift has a separate right."""
        return False

    def doubt(self, spec: HubSpec) -> str:
        """Why sites may not reach the address, a sentence; empty if nothing is known against it."""
        return ""


class OutsideExposure(Exposure):
    """An exposure whose Service has a port outside of the cluster."""

    options: tuple[str, ...] = ("node_port", "external_traffic_policy")

    def service_fields(self, spec: HubSpec) -> dict[str, Any]:
        """See C(Exposure)."""
        return {"externalTrafficPolicy": spec.external_traffic_policy}


def named(live: Iterable[Mapping[str, Any]], kind: str, name: str = SERVICE) -> Mapping[str, Any]:
    """The live object of a kind with a name, the gateway's by default; empty if there is none."""
    return next((one for one in live if one.get("kind") == kind and one["metadata"]["name"] == name), {})


def chosen(hosts: Sequence[str], live: Live) -> str:
    """One of several hosts that are equally good: the one that sites have already, else the first; empty if there is none.

    Firewalls of sites may know that one only, and nodes, of which some load balancers give the addresses (K3s), come and go.
    """
    published = text((named(live, "ConfigMap", FEDERATION_CONFIG).get("data") or {}).get("address"))
    known = split_address(published)[0] if is_address(published) else ""
    return known if known in hosts else next(iter(hosts), "")


def join(host: str, port: int | None) -> str:
    """C(host:port), with brackets around an IPv6 address; empty if one of them is not known."""
    if not host or not port:
        return ""
    return f"[{host}]:{port}" if is_ip(host) and ":" in host else f"{host}:{port}"
