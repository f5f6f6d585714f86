# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An OpenShift Route that passes TLS through to the gateway."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...base.addresses import is_ip, split_address
from ...base.certificate_names import next_server_name
from ...base.values import Object, compact, text
from ...spec.hub_spec import HubSpec
from ..common_objects import metadata
from .base_exposure import ROUTED_PORT, SERVICE, Exposure, Live, join, named

API = "route.openshift.io/v1"
NEXT_ROUTE = "superlink-next"


class Route(Exposure):
    """See C(base_exposure.Exposure). Without a host, OpenShift generates one, which counts once a router has admitted it."""

    name = "route"
    passes_tls = True
    reads = ((API, "Route"),)

    def objects(self, spec: HubSpec) -> list[Object]:
        """See C(Exposure)."""
        return [_route(spec, SERVICE, spec.host), *next_route(spec)]

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        return join(spec.host or admitted_host(named(live, "Route")), ROUTED_PORT)

    def likely_host(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        return spec.host or text((named(live, "Route").get("spec") or {}).get("host"))

    def sets_route_host(self, spec: HubSpec) -> bool:
        """See C(Exposure). The Route to the next CA's certificate has its own host in any case."""
        return True


def admitted_host(route: Mapping[str, Any]) -> str:
    """The host with which a router has admitted a live Route; empty while there is none."""
    for entry in (route.get("status") or {}).get("ingress") or []:
        for one in entry.get("conditions") or []:
            if one.get("type") == "Admitted" and one.get("status") == "True":
                return text(entry.get("host"))
    return ""


def next_route(spec: HubSpec) -> list[Object]:
    """A Route to the same port by the name under which sites test the next CA's certificate; nothing while no host is known."""
    host = spec.host or (split_address(spec.superlink_address)[0] if spec.superlink_address else "")
    return [_route(spec, NEXT_ROUTE, next_server_name(host))] if host and not is_ip(host) else []


def _route(spec: HubSpec, name: str, host: str) -> Object:
    return {
        "apiVersion": API,
        "kind": "Route",
        "metadata": metadata(spec, name, "superlink", annotations=spec.route_annotations),
        "spec": compact(
            {
                "host": host,
                "port": {"targetPort": "fleet"},
                "tls": {"termination": "passthrough", "insecureEdgeTerminationPolicy": "None"},
                "to": {"kind": "Service", "name": SERVICE, "weight": 100},
                "wildcardPolicy": "None",
            }
        ),
    }
