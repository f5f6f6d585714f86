# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""How the gateway's doors are reached: Services, and an Ingress or Route that passes TLS through.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.addresses import is_ip, split_address
from ..base.certificate_names import next_server_name
from ..base.labels import selector
from ..base.ports import FLEET_PORT, RUNTIME_PORT
from ..base.values import Object, compact, text
from ..spec.hub_spec import HubSpec
from .objects import metadata

SERVICE = "superlink"
NEXT_ROUTE = "superlink-next"
RUNTIME_SERVICE = "superlink-runtime"
SERVICE_TYPES = {"node_port": "NodePort", "load_balancer": "LoadBalancer"}
ROUTED_PORT = 443  # of an ingress controller or router that passes TLS through


def objects(spec: HubSpec) -> list[Object]:
    """Services, Ingress and Route of the hub."""
    rendered = [fleet_service(spec)]
    if spec.is_process:
        rendered.append(runtime_service(spec))
    if spec.exposure == "ingress":
        rendered.append(ingress(spec))
    elif spec.exposure == "route":
        rendered += [route(spec), *next_route(spec)]
    return rendered


def fleet_service(spec: HubSpec) -> Object:
    """The Service of the door for sites."""
    kind = SERVICE_TYPES.get(spec.exposure, "ClusterIP")
    port = compact(
        {
            "name": "fleet",
            "port": spec.port,
            "protocol": "TCP",
            "targetPort": "fleet",
            "nodePort": spec.node_port if kind != "ClusterIP" else None,
        }
    )
    body: Object = {
        "type": kind,
        "selector": selector(spec.federation, "superlink"),
        "ports": [port],
        "externalTrafficPolicy": spec.external_traffic_policy if kind != "ClusterIP" else None,
    }
    if kind == "LoadBalancer":
        body["loadBalancerClass"] = spec.load_balancer_class
        body["loadBalancerSourceRanges"] = spec.load_balancer_source_ranges
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(
            spec,
            SERVICE,
            "superlink",
            annotations=spec.service_annotations,
            extra_labels=spec.service_labels,
        ),
        "spec": compact(body),
    }


def runtime_service(spec: HubSpec) -> Object:
    """The Service of the door for the ServerApp; never published outside the cluster."""
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": metadata(spec, RUNTIME_SERVICE, "superlink"),
        "spec": {
            "type": "ClusterIP",
            "selector": selector(spec.federation, "superlink"),
            "ports": [{"name": "runtime", "port": RUNTIME_PORT, "protocol": "TCP", "targetPort": "runtime"}],
        },
    }


def ingress(spec: HubSpec) -> Object:
    """An Ingress whose controller passes TLS through to the gateway (annotations say so to the controller).

    It knows the gateway by a second name, too, under which sites try the next CA's certificate.
    """
    backend = {"service": {"name": SERVICE, "port": {"name": "fleet"}}}
    hosts = [spec.host, next_server_name(spec.host)]
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "Ingress",
        "metadata": metadata(spec, SERVICE, "superlink", annotations=spec.ingress_annotations),
        "spec": compact(
            {
                "ingressClassName": spec.ingress_class,
                "rules": [
                    {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
                    for host in hosts
                ],
                "tls": [{"hosts": hosts}],
            }
        ),
    }


def route(spec: HubSpec) -> Object:
    """An OpenShift Route that passes TLS through. Without a host, OpenShift makes one up."""
    return _route(spec, SERVICE, spec.host)


def next_route(spec: HubSpec) -> list[Object]:
    """A Route to the same door by the name under which sites try the next CA's certificate; nothing while no host is known."""
    host = spec.host or (split_address(spec.superlink_address)[0] if spec.superlink_address else "")
    return [_route(spec, NEXT_ROUTE, next_server_name(host))] if host and not is_ip(host) else []


def _route(spec: HubSpec, name: str, host: str) -> Object:
    return {
        "apiVersion": "route.openshift.io/v1",
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


def address(spec: HubSpec, live: Iterable[Mapping[str, Any]] = ()) -> str:
    """Address "host:port" under which sites reach the gateway, or "" as long as nobody can know it.

    The C(superlink_address) of the spec always wins. Everything else is read from live objects: the Service with the
    address its load balancer got, the Route with its host, Nodes for a node port (external addresses are preferred,
    then internal ones; the first Node by name).

    Args:
        live: objects as the API server returns them, in any order; kinds that say nothing are passed over.
    """
    if spec.superlink_address:
        return spec.superlink_address
    found = list(live)
    service = next((o for o in found if o.get("kind") == "Service" and o["metadata"]["name"] == SERVICE), None)
    port = spec.port
    host = spec.host
    exposure = spec.exposure
    if exposure == "ingress":
        return _join(host, ROUTED_PORT)
    if exposure == "route":
        live_route = next((o for o in found if o.get("kind") == "Route" and o["metadata"]["name"] == SERVICE), {})
        return _join(host or text((live_route.get("spec") or {}).get("host")), ROUTED_PORT)
    if exposure == "load_balancer":
        status = ((service or {}).get("status") or {}).get("loadBalancer") or {}
        for entry in status.get("ingress") or []:
            given = entry.get("hostname") or entry.get("ip")
            if given:
                return _join(host or given, port)
        return ""
    if exposure == "node_port":
        node_port = spec.node_port
        for entry in ((service or {}).get("spec") or {}).get("ports") or []:
            if entry.get("name") == "fleet":
                node_port = entry.get("nodePort") or node_port
        return _join(host or _node_address(found), node_port)
    return f"{SERVICE}.{spec.namespace}.svc:{port}"


def likely_address(spec: HubSpec, live: Iterable[Mapping[str, Any]] = ()) -> str:
    """The address, or while there is none yet one with the host that it will have and any port; "" if neither is known.

    Good enough to know the names that sites will verify, before anything is made.
    """
    found = list(live)
    host = spec.host
    if not host and spec.exposure == "node_port":
        host = _node_address(found)
    return address(spec, found) or _join(host, FLEET_PORT)


def needs_nodes(spec: HubSpec) -> bool:
    """Whether C(address) has to look at the cluster's nodes."""
    return spec.exposure == "node_port" and not spec.superlink_address and not spec.host


def _node_address(live: Iterable[Mapping[str, Any]]) -> str:
    nodes = sorted((o for o in live if o.get("kind") == "Node"), key=lambda o: o["metadata"]["name"])
    for wanted in ("ExternalIP", "InternalIP"):
        for node in nodes:
            for entry in (node.get("status") or {}).get("addresses") or []:
                if entry.get("type") == wanted:
                    return text(entry.get("address"))
    return ""


def _join(host: str, port: int | None) -> str:
    if not host or not port:
        return ""
    return f"[{host}]:{port}" if is_ip(host) and ":" in host else f"{host}:{port}"
