# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The access to the gateway: Service, what passes TLS through to it, and the address to which sites connect.

A new exposure is a subclass here, and an entry in C(EXPOSURES). Its options are described in the role's argument specification. Write out what the API
server sets by default inside lists: of custom resources no defaults are known (C(apply/compare.py)).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.addresses import is_address, is_ip, network, split_address
from ..base.certificate_names import next_server_name
from ..base.labels import own_pods
from ..base.names import METRICS_CONTROL
from ..base.object_names import FEDERATION_CONFIG, FLEET_PORT, METRICS_CONTROL_PORT, RUNTIME_PORT, SUPERLINK_SERVICE
from ..base.values import Object, compact, text
from ..spec.hub_spec import HubSpec
from . import patches
from .common_objects import api_object, service

SERVICE, RUNTIME_SERVICE = SUPERLINK_SERVICE, "superlink-runtime"
ROUTED_PORT = 443  # of an ingress controller or router that passes TLS through
_ROUTES = "route.openshift.io/v1"
GATEWAY_GROUP = "gateway.networking.k8s.io"
GATEWAYS = f"{GATEWAY_GROUP}/v1"
# The default of superlink_ingress_annotations, which is for ingress-nginx and means nothing to other controllers.
_NGINX = {"nginx.ingress.kubernetes.io/backend-protocol": "HTTPS", "nginx.ingress.kubernetes.io/ssl-passthrough": "true"}

Live = Sequence[Mapping[str, Any]]


class Exposure:
    """One way to make the gateway reachable; this one is reachable from within the cluster only.

    Attributes:
        name: the value of C(superlink_exposure).
        service_type: type of the Service.
        options: fields of C(HubSpec) that only some exposures use; C(hub_rules) refuses them with the others.
        passes_tls: whether something in front of the gateway finds it by the name in the TLS handshake.
        needs_host: whether the variables have to say by which name.
        sets_route_host: whether a Route with its own host is created, for which OpenShift has a separate right.
        kind: API group and kind of an object of C(objects) that not every API server serves.
        controllers: prefixes of C(spec.controller) of the IngressClasses that fit. Exposures may share one; the preflight then suggests the first.
    """

    name = "cluster_ip"
    service_type = "ClusterIP"
    options: tuple[str, ...] = ()
    passes_tls = False
    needs_host = False
    sets_route_host = False
    kind: tuple[str, str] | None = None
    controllers: tuple[str, ...] = ()

    def reads(self, spec: HubSpec) -> list[tuple[str, str, str, str]]:
        """What C(address) reads besides the Service and what is published: apiVersion, kind, name and namespace of each object."""
        return []

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

    def names(self, body: Mapping[str, Any]) -> list[str]:
        """The host names in an object of C(objects): its C(host) and those of its C(rules). C(body) is its C(spec), patches included."""
        return [text(one["host"]) for one in (body, *(body.get("rules") or ())) if one.get("host")]

    def needs_nodes(self, spec: HubSpec) -> bool:
        """Whether C(address) reads the cluster's nodes."""
        return False


class OutsideExposure(Exposure):
    """An exposure whose Service has a port outside of the cluster."""

    options: tuple[str, ...] = ("node_port", "external_traffic_policy")

    def service_fields(self, spec: HubSpec) -> dict[str, Any]:
        """See C(Exposure)."""
        return {"externalTrafficPolicy": spec.external_traffic_policy}


def named(live: Iterable[Mapping[str, Any]], kind: str, name: str = SERVICE) -> Mapping[str, Any]:
    """The live object of a kind with a name, the gateway's by default; empty if there is none."""
    return next((one for one in live if one.get("kind") == kind and one["metadata"]["name"] == name), {})


def _chosen(hosts: Sequence[str], live: Live) -> str:
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


class NodePort(OutsideExposure):
    """A port of every node of the hub's cluster. External addresses of nodes are preferred, then internal ones; nodes by name."""

    name = "node_port"
    service_type = "NodePort"

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        ports = (named(live, "Service").get("spec") or {}).get("ports") or []
        live_port = next((entry.get("nodePort") for entry in ports if entry.get("name") == "fleet"), None)
        return join(self.likely_host(spec, live), live_port or spec.node_port)

    def likely_host(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        nodes = sorted((one for one in live if one.get("kind") == "Node"), key=lambda one: one["metadata"]["name"])
        addresses = [entry for node in nodes for entry in (node.get("status") or {}).get("addresses") or []]
        kinds = ("ExternalIP", "InternalIP")
        return spec.host or _chosen([text(entry.get("address")) for kind in kinds for entry in addresses if entry.get("type") == kind], live)

    def needs_nodes(self, spec: HubSpec) -> bool:
        """See C(Exposure)."""
        return not spec.superlink_address and not spec.host


class LoadBalancer(OutsideExposure):
    """A load balancer that the hub's cluster orders. The address is one of those that it got."""

    name = "load_balancer"
    service_type = "LoadBalancer"
    options = ("load_balancer_class", "load_balancer_source_ranges", *OutsideExposure.options)

    def service_fields(self, spec: HubSpec) -> dict[str, Any]:
        """See C(Exposure)."""
        return {
            **super().service_fields(spec),
            "loadBalancerClass": spec.load_balancer_class,
            "loadBalancerSourceRanges": [network(one) for one in spec.load_balancer_source_ranges],
        }

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        status = (named(live, "Service").get("status") or {}).get("loadBalancer") or {}
        given = [entry.get("hostname") or entry.get("ip") or "" for entry in status.get("ingress") or []]
        host = _chosen([*filter(None, given)], live)
        return join(spec.host or host, spec.port) if host else ""


class NamedExposure(Exposure):
    """An exposure whose controller passes TLS through, by the name in the handshake and on port 443.

    It also passes a second name through, under which sites test the next CA's certificate.
    """

    options = ("ingress_class",)
    passes_tls = True
    needs_host = True

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        return join(spec.host, ROUTED_PORT)


def _hosts(host: str) -> list[str]:
    return [host, next_server_name(host)]


def _annotations(spec: HubSpec) -> dict[str, str]:
    """C(superlink_ingress_annotations) if they are set; none by default, since the default is for ingress-nginx."""
    return {} if spec.ingress_annotations == _NGINX else spec.ingress_annotations


class Ingress(NamedExposure):
    """An Ingress whose controller passes TLS through to the gateway, as its annotations say."""

    name = "ingress"
    controllers: tuple[str, ...] = ("k8s.io/ingress-nginx",)

    def annotations(self, spec: HubSpec) -> dict[str, str]:
        """Annotations of the Ingress."""
        return spec.ingress_annotations

    def objects(self, spec: HubSpec) -> list[Object]:
        """See C(Exposure)."""
        hosts = _hosts(spec.host)
        path = {"path": "/", "pathType": "Prefix", "backend": {"service": {"name": SERVICE, "port": {"name": "fleet"}}}}
        rules = [{"host": host, "http": {"paths": [path]}} for host in hosts]
        body = compact({"ingressClassName": spec.ingress_class, "rules": rules, "tls": [{"hosts": hosts}]})
        kind = "networking.k8s.io/v1/Ingress"
        return [api_object(spec, kind, SERVICE, "superlink", {"spec": body}, annotations=self.annotations(spec))]


class HAProxyIngress(Ingress):
    """An Ingress for HAProxy's own controller, or the one of its community."""

    name = "haproxy_ingress"
    controllers = ("haproxy.org/", "haproxy-ingress.github.io/")

    def annotations(self, spec: HubSpec) -> dict[str, str]:
        """See C(Ingress)."""
        return {"haproxy-ingress.github.io/ssl-passthrough": "true", "haproxy.org/ssl-passthrough": "true", **_annotations(spec)}


class Traefik(NamedExposure):
    """An IngressRouteTCP of Traefik, on all of its entry points unless a patch names some."""

    name = "traefik"
    kind = ("traefik.io", "IngressRouteTCP")
    controllers = ("traefik.io/",)

    def objects(self, spec: HubSpec) -> list[Object]:
        """See C(Exposure)."""
        match = " || ".join(f"HostSNI(`{host}`)" for host in _hosts(spec.host))
        body = {"routes": [{"match": match, "services": [{"name": SERVICE, "port": spec.port}]}], "tls": {"passthrough": True}}
        notes = {**compact({"kubernetes.io/ingress.class": spec.ingress_class}), **_annotations(spec)}
        return [api_object(spec, "traefik.io/v1alpha1/IngressRouteTCP", SERVICE, "superlink", {"spec": body}, annotations=notes)]

    def names(self, body: Mapping[str, Any]) -> list[str]:
        """See C(Exposure)."""
        return [host for one in body.get("routes") or () for host in re.findall(r"HostSNI\(`([^`]+)`\)", text(one.get("match")))]


class Contour(NamedExposure):
    """An HTTPProxy of Contour for each name."""

    name = "contour"
    kind = ("projectcontour.io", "HTTPProxy")
    controllers = ("projectcontour.io/",)

    def objects(self, spec: HubSpec) -> list[Object]:
        """See C(Exposure)."""
        common = {"ingressClassName": spec.ingress_class, "tcpproxy": {"services": [{"name": SERVICE, "port": spec.port}]}}
        return [
            api_object(
                spec, "projectcontour.io/v1/HTTPProxy", name, "superlink",
                {"spec": compact({**common, "virtualhost": {"fqdn": host, "tls": {"passthrough": True}}})},
                annotations=_annotations(spec),
            )
            for name, host in zip((SERVICE, "superlink-next"), _hosts(spec.host))
        ]  # fmt: skip

    def names(self, body: Mapping[str, Any]) -> list[str]:
        """See C(Exposure)."""
        return [text((body.get("virtualhost") or {}).get("fqdn"))]


class GatewayApi(Exposure):
    """A TLSRoute of the Gateway API, attached to a Gateway that others own.

    Its name is C(superlink_host), else the one that sites verify, also where they connect to an IP address: then no name has to be resolved. The
    address is C(superlink_host), or an IP address of the Gateway, with the port of the first listener that takes the route.
    """

    name = "gateway_api"
    options = ("gateway",)
    passes_tls = True
    kind = (GATEWAY_GROUP, "TLSRoute")

    def reads(self, spec: HubSpec) -> list[tuple[str, str, str, str]]:
        """See C(Exposure)."""
        return [(GATEWAYS, "Gateway", spec.gateway.name, spec.gateway_namespace)]

    def host(self, spec: HubSpec) -> str:
        """The first name of the route."""
        return spec.host or spec.verified_name

    def objects(self, spec: HubSpec) -> list[Object]:
        """See C(Exposure)."""
        parent = {"group": GATEWAY_GROUP, "kind": "Gateway", "name": spec.gateway.name, "namespace": spec.gateway_namespace}
        backend = {"group": "", "kind": "Service", "name": SERVICE, "port": spec.port, "weight": 1}
        body = {
            "hostnames": _hosts(self.host(spec)),
            "parentRefs": [{**parent, **compact({"sectionName": spec.gateway.section})}],
            "rules": [{"backendRefs": [backend]}],
        }
        return [api_object(spec, f"{spec.route_api}/TLSRoute", SERVICE, "superlink", {"spec": body}, annotations=spec.route_annotations)]

    def names(self, body: Mapping[str, Any]) -> list[str]:
        """See C(Exposure)."""
        return [text(host) for host in body.get("hostnames") or ()]

    def listeners(self, spec: HubSpec, gateway: Mapping[str, Any]) -> dict[str, str]:
        """Why each listener of a Gateway does not take the route; empty for one that does."""
        return {text(one.get("name")): self._refusal(spec, one) for one in (gateway.get("spec") or {}).get("listeners") or []}

    def _refusal(self, spec: HubSpec, listener: Mapping[str, Any]) -> str:
        """Source: Gateway API reference, Listener and AllowedRoutes. A selector of namespaces is left to the controller."""
        allowed = listener.get("allowedRoutes") or {}
        kinds = [text(one.get("kind")) for one in allowed.get("kinds") or []]
        origin = (allowed.get("namespaces") or {}).get("from") or "Same"
        mode = (listener.get("tls") or {}).get("mode") or "Terminate"
        if spec.gateway.section and listener.get("name") != spec.gateway.section:
            return "superlink_gateway.section names another one"
        if listener.get("protocol") != "TLS" or mode != "Passthrough":
            return f"protocol {listener.get('protocol')}" + (f", tls.mode {mode}" if listener.get("tls") else "")
        if not is_routed(self.host(spec), listener.get("hostname")):
            return f"it is for {listener['hostname']} only, not for {self.host(spec)}"
        if kinds and "TLSRoute" not in kinds:
            return f"it allows {', '.join(kinds)} only"
        if origin == "None" or (origin == "Same" and spec.gateway_namespace != spec.namespace):
            return f"it allows no routes of namespace {spec.namespace} (allowedRoutes.namespaces.from is {origin})"
        return ""

    def addresses(self, gateway: Mapping[str, Any]) -> list[str]:
        """The IP addresses of a Gateway."""
        found = (text(one.get("value")) for one in (gateway.get("status") or {}).get("addresses") or [])
        return [one for one in found if is_ip(one)]

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        gateway = named(live, "Gateway", spec.gateway.name)
        refusals = self.listeners(spec, gateway)
        ports = [one.get("port") for one in (gateway.get("spec") or {}).get("listeners") or [] if not refusals[text(one.get("name"))]]
        return join(spec.host or _chosen(self.addresses(gateway), live), next(iter(ports), None))


def is_routed(host: str, hostname: str | None) -> bool:
    """Whether a listener for a host name, or for any without one, takes a name. A star stands for one label or more."""
    return not hostname or host == hostname or (hostname.startswith("*.") and host.endswith(hostname[1:]))


class Route(Exposure):
    """An OpenShift Route that passes TLS through to the gateway.

    Without a host, OpenShift generates one, which counts once a router has admitted it. A second Route has the name under which sites test the
    next CA's certificate, as soon as a host is known.
    """

    name = "route"
    passes_tls = True
    sets_route_host = True
    kind = ("route.openshift.io", "Route")

    def reads(self, spec: HubSpec) -> list[tuple[str, str, str, str]]:
        """See C(Exposure)."""
        return [(_ROUTES, "Route", SERVICE, spec.namespace)]

    def objects(self, spec: HubSpec) -> list[Object]:
        """See C(Exposure)."""
        host = spec.host or (split_address(spec.superlink_address)[0] if spec.superlink_address else "")
        hosts = {SERVICE: spec.host, **({"superlink-next": next_server_name(host)} if host and not is_ip(host) else {})}
        common = {
            "port": {"targetPort": "fleet"},
            "tls": {"termination": "passthrough", "insecureEdgeTerminationPolicy": "None"},
            "to": {"kind": "Service", "name": SERVICE, "weight": 100},
            "wildcardPolicy": "None",
        }
        return [
            api_object(spec, f"{_ROUTES}/Route", name, "superlink", {"spec": compact({"host": host, **common})}, annotations=spec.route_annotations)
            for name, host in hosts.items()
        ]

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        admitted = [
            text(entry.get("host"))
            for entry in (named(live, "Route").get("status") or {}).get("ingress") or []
            if any(one.get("type") == "Admitted" and one.get("status") == "True" for one in entry.get("conditions") or [])
        ]
        return join(spec.host or next(iter(admitted), ""), ROUTED_PORT)

    def likely_host(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        return spec.host or text((named(live, "Route").get("spec") or {}).get("host"))


EXPOSURES: dict[str, Exposure] = {
    one.name: one
    for one in (Exposure(), NodePort(), LoadBalancer(), Ingress(), HAProxyIngress(), Traefik(), Contour(), GatewayApi(), Route())}


def exposure_of(spec: HubSpec) -> Exposure:
    """The exposure of the spec."""
    return EXPOSURES[spec.exposure]


def objects(spec: HubSpec) -> list[Object]:
    """Services of the hub, and what passes TLS through to it. Only the first Service, for sites, may be published outside the cluster."""
    rendered = [fleet_service(spec)]
    internal = [(RUNTIME_SERVICE, "runtime", RUNTIME_PORT, "runtime")] if spec.is_process else []
    internal += [(METRICS_CONTROL, "control", METRICS_CONTROL_PORT, "metrics-control")] if spec.metrics.enabled else []
    for name, port, number, target in internal:
        ports = [{"name": port, "port": number, "protocol": "TCP", "targetPort": target}]
        body = {"type": "ClusterIP", "selector": own_pods(spec.federation, "superlink"), "ports": ports}
        rendered.append(service(spec, name, "superlink", body))
    return [*rendered, *exposure_of(spec).objects(spec)]


def fleet_service(spec: HubSpec) -> Object:
    """The Service of the port for sites."""
    exposure = exposure_of(spec)
    node_port = spec.node_port if "node_port" in exposure.options else None
    port = {"name": "fleet", "port": spec.port, "protocol": "TCP", "targetPort": "fleet", "nodePort": node_port}
    body = {
        "type": exposure.service_type,
        "selector": own_pods(spec.federation, "superlink"),
        "ports": [compact(port)],
        **exposure.service_fields(spec),
    }
    more = {"annotations": spec.service_annotations, "extra_labels": spec.service_labels}
    return service(spec, SERVICE, "superlink", compact(body), **more)


def address(spec: HubSpec, live: Iterable[Mapping[str, Any]] = ()) -> str:
    """Address "host:port" under which sites reach the gateway, or "" as long as it is not known.

    The C(superlink_address) of the spec always wins. Everything else is read from live objects: the Service with the
    address its load balancer got, the Route with its host, Nodes for a node port.

    Args:
        live: objects as the API server returns them, in any order; irrelevant kinds are ignored.
    """
    if spec.superlink_address:
        return spec.superlink_address
    return exposure_of(spec).address(spec, list(live))


def likely_address(spec: HubSpec, live: Iterable[Mapping[str, Any]] = ()) -> str:
    """The address, or while there is none yet one with the host that it will have and any port; "" if neither is known.

    Sufficient to know the names that sites will verify, before anything is created.
    """
    found = list(live)
    return address(spec, found) or join(exposure_of(spec).likely_host(spec, found), FLEET_PORT)


def routed_names(spec: HubSpec, live_address: str) -> list[str]:
    """The names by which what passes TLS through finds the gateway, patches included, the main one first.

    Names in annotations are among them: controllers have annotations for aliases. Empty where nothing passes TLS through, or where the
    main name is not known.

    Args:
        live_address: what C(address) or C(likely_address) returned.
    """
    exposure = exposure_of(spec)
    if not exposure.passes_tls:
        return []
    rendered = patches.apply(exposure.objects(spec), spec.patches, partial=True)
    names: list[str] = []
    for item in sorted(rendered, key=lambda one: bool(one["metadata"]["name"] != SERVICE)):
        found = exposure.names(item.get("spec") or {})
        if not names and not found and live_address and not spec.superlink_address:
            # A host that OpenShift generated is only known by the address, which can be another one.
            found = [split_address(live_address)[0]]
        if not names and not found:
            return []
        names += found
        for note in (item["metadata"].get("annotations") or {}).values():
            names += text(note).replace(",", " ").split()
    return names
