# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Allowed connections: NetworkPolicies of the hub, of a site, and of the namespace with the CA keys.

Kubernetes stores NetworkPolicies and enforces none; the cluster's network plugin does, if it can. The rules
(kubernetes.io/docs/concepts/services-networking/network-policies, API networking.k8s.io/v1):

- Policies add up. A pod that one of them selects for a direction is isolated in that direction, except for what is allowed.
- Traffic from the pod's own node is always allowed (description of NetworkPolicySpec.ingress). So kubelet's probes need
  no rule, and no rule here opens the health ports.
- Ports are those of pods: a Service's port or a node port is translated before the policy of the receiving pod looks.
  Whether the sending pod's policy sees an address before or after it is translated is left to the network plugin.

In a namespace that the collection creates, every pod is isolated, those of others included. In someone else's namespace
(C(create_namespace) is false) only the collection's own pods are: their own policies close them.

A site with the C(connectivity) skupper reaches the SuperLink through the pods of Skupper's router in its own namespace.

Skupper creates no policies, so those of its pods are here, too: C(skupper_*_objects). They add up with each other.

A peer is either {cidr, except} or {namespace, pod_selector} (one of the two is enough; a namespace is a name or a
mapping of labels), and may have C(ports), a list of "PORT[-END][/PROTOCOL]"; without them all ports are allowed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.addresses import is_ip, network, split_address
from ..base.labels import own_pods
from ..base.names import CLIENTAPP, METRICS
from ..base.object_names import SERVERAPP
from ..base.ports import (
    API_PORTS,
    FLEET_PORT,
    METRICS_CONTROL_PORT,
    METRICS_PORT,
    NODE_LISTENER_PORT,
    OPS_PORT,
    RUNTIME_PORT,
)
from ..base.values import Object, compact, text
from ..spec.hub_spec import HubSpec
from ..spec.network_spec import NetworkSiteSpec
from ..spec.part_spec import SKUPPER, PartSpec
from ..spec.site_spec import SiteSpec
from . import skupper, tracking
from .objects import metadata

SUPERLINK = "superlink"
SUPERNODE = "supernode"
NAMESPACE_NAME = "kubernetes.io/metadata.name"  # the API server puts it on every namespace
PROTOCOLS = ("TCP", "UDP", "SCTP")

_PORT = re.compile(r"(?P<port>[0-9]{1,5})(?:-(?P<end>[0-9]{1,5}))?(?:/(?P<protocol>[A-Z]+))?")

Peer = Mapping[str, Any]


def superlink_objects(spec: HubSpec) -> list[Object]:
    """The policies of the hub's namespace."""
    if not spec.network_policies:
        return []
    ingress = [_rule("from", spec.allowed_sources, [_port(FLEET_PORT)])]
    if spec.is_process:
        ingress.append(
            _rule("from", [{"pod_selector": own_pods(spec.federation, SERVERAPP)}], [_port(RUNTIME_PORT)])
        )
    if spec.metrics.enabled:
        ingress.append(_rule("from", [{"pod_selector": own_pods(spec.federation, METRICS)}], [_port(METRICS_CONTROL_PORT)]))
    # With subprocess isolation ServerApps run in the SuperLink's pod.
    app_egress = [*egress_rules(spec.serverapp_egress), *_tracking(spec)]
    policies = [
        *default_deny(spec, SUPERLINK),
        _policy(
            spec,
            SUPERLINK,
            ingress=[*ingress, *_monitoring(spec)],
            egress=[*egress_rules(spec.dns), *([] if spec.is_process else app_egress)],
        ),
    ]
    if spec.is_process:
        runtime = _rule("to", [{"pod_selector": own_pods(spec.federation, SUPERLINK)}], [_port(RUNTIME_PORT)])
        policies.append(
            _policy(spec, SERVERAPP, ingress=[], egress=[*egress_rules(spec.dns), runtime, *app_egress])
        )
    if spec.metrics.enabled:
        door = _rule("to", [{"pod_selector": own_pods(spec.federation, SUPERLINK)}], [_port(METRICS_CONTROL_PORT)])
        egress = [*egress_rules(spec.dns), door, *api_server_rules(spec.metrics.api_server)]
        policies.append(_policy(spec, METRICS, ingress=_scraping(spec, METRICS_PORT), egress=egress))
    return policies


def supernode_objects(spec: SiteSpec) -> list[Object]:
    """The policies of a site's namespace. SuperNodes call the hub; only ClientApps in their own pods call them."""
    if not spec.network_policies:
        return []
    door = [_port(NODE_LISTENER_PORT)]
    names, more = egress_rules(spec.dns), egress_rules(spec.egress)
    ingress = _monitoring(spec) if spec.has_sidecar else []
    apps = []
    if spec.has_apps_apart:
        # What else may be called is for the code that computes.
        ingress = [_rule("from", [{"pod_selector": own_pods(spec.federation, CLIENTAPP)}], door), *ingress]
        runtime = _rule("to", [{"pod_selector": own_pods(spec.federation, SUPERNODE)}], door)
        apps, more = [_policy(spec, CLIENTAPP, ingress=[], egress=[*names, runtime, *more])], []
    egress = [*names, _superlink(spec), *_superlink_here(spec), *more]
    return [*default_deny(spec, SUPERNODE), _policy(spec, SUPERNODE, ingress=ingress, egress=egress), *apps]


def default_deny(spec: PartSpec, name: str) -> list[Object]:
    """The policy that isolates all pods of the spec's namespace; none where the namespace is someone else's.

    Args:
        name: the part (hub and site may share a namespace): the first part of its name.
    """
    if not spec.closes_namespace:
        return []
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": metadata(spec, f"{name}-default-deny", name),
            "spec": {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]},
        }
    ]


def skupper_site_objects(spec: NetworkSiteSpec) -> list[Object]:
    """The policies of Skupper's own pods, where a policy closes the namespace; elsewhere nothing closes them."""
    if not spec.closes_namespace:
        return []
    routers = _rule("from", [{"pod_selector": skupper.ROUTER}], [])
    ingress = [routers, *_scraping(spec, skupper.METRICS_PORT)]
    if spec.has_access:
        doors = [_port(skupper.INTER_ROUTER_PORT), _port(skupper.EDGE_PORT)]
        ingress.append(_rule("from", spec.allowed_sources, doors))
    ways = [*egress_rules(spec.dns), *egress_rules(spec.api_server), *egress_rules(spec.egress)]
    policies = [
        _skupper_policy(
            spec,
            "skupper-router",
            skupper.SITE,
            skupper.ROUTER,
            ingress=ingress,
            egress=[*ways, _rule("to", [{"pod_selector": skupper.ROUTER}], [])],
        )
    ]
    if spec.install == "manifests" and spec.scope == "namespace":
        # A token is redeemed by the controllers: the site's calls the hub's, at any address.
        policies.append(
            _skupper_policy(
                spec,
                "skupper-controller",
                skupper.SITE,
                skupper.CONTROLLER,
                ingress=[_rule("from", spec.allowed_sources, [_port(skupper.GRANT_PORT)])],
                egress=[*ways, _rule("to", [], [_port(443), _port(skupper.GRANT_PORT)])],
            )
        )
    return policies


def skupper_link_objects(spec: PartSpec, endpoints: Sequence[Mapping[str, Any]]) -> list[Object]:
    """The way of a site's router to the hub's endpoints."""
    if not spec.closes_namespace or not endpoints:
        return []
    hosts = sorted({text(entry["host"]) for entry in endpoints})
    known = [{"cidr": host} for host in hosts] if all(map(is_ip, hosts)) else []
    way = _rule("to", known, [_port(port) for port in skupper.ports(endpoints)])
    return [_skupper_policy(spec, "skupper-link", skupper.LINK, skupper.ROUTER, egress=[way])]


def skupper_listener_objects(spec: PartSpec) -> list[Object]:
    """SuperNodes may call their site's router. Skupper selects its ports, so no port is listed."""
    if not spec.closes_namespace:
        return []
    callers = _rule("from", [{"pod_selector": own_pods(spec.federation, SUPERNODE)}], [])
    return [_skupper_policy(spec, "skupper-listener", skupper.LISTENER, skupper.ROUTER, ingress=[callers])]


def skupper_connector_objects(spec: PartSpec) -> list[Object]:
    """The hub's router may call the gateway's port for sites, and the gateway may be called by it."""
    if not spec.network_policies:
        return []
    door = [_port(FLEET_PORT)]
    superlink = own_pods(spec.federation, SUPERLINK)
    made = [
        _skupper_policy(
            spec,
            "skupper-superlink",
            skupper.LISTENER,
            superlink,
            ingress=[_rule("from", [{"pod_selector": skupper.ROUTER}], door)],
        )
    ]
    if spec.closes_namespace:
        way = _rule("to", [{"pod_selector": superlink}], door)
        made.append(_skupper_policy(spec, "skupper-connector", skupper.LISTENER, skupper.ROUTER, egress=[way]))
    return made


def parse_port(value: Any) -> Object:
    """The NetworkPolicyPort of "PORT[-END][/PROTOCOL]".

    Raises:
        ValueError: the text is nothing of that kind.
    """
    match = _PORT.fullmatch(text(value))
    if not match:
        raise ValueError('is not "PORT", "PORT-END" or "PORT/PROTOCOL"')
    first = int(match["port"])
    last = int(match["end"] or first)
    protocol = match["protocol"] or "TCP"
    if not 1 <= first <= last <= 65535:
        raise ValueError("is not a port or port range between 1 and 65535")
    if protocol not in PROTOCOLS:
        raise ValueError(f"has a protocol that is not one of {', '.join(PROTOCOLS)}")
    return _port(first, protocol, last)


def _policy(spec: PartSpec, name: str, *, ingress: list[Object], egress: list[Object]) -> Object:
    """The policy of one kind of pods: isolated in both directions, except for the rules."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": metadata(spec, name, name),
        "spec": compact(
            {
                "podSelector": {"matchLabels": own_pods(spec.federation, name)},
                "policyTypes": ["Ingress", "Egress"],
                "ingress": ingress,
                "egress": egress,
            }
        ),
    }


def _port(port: int, protocol: str = "TCP", end: int | None = None) -> Object:
    return compact({"port": port, "endPort": end if end != port else None, "protocol": protocol})


def _rule(direction: str, peers: Iterable[Peer] | None, ports: list[Object]) -> Object:
    """A rule: C(from) or C(to) these peers (any if there are none), on these ports (all if there are none)."""
    return compact({direction: [_peer(peer) for peer in peers or []], "ports": ports})


def _peer(peer: Peer) -> Object:
    if peer.get("cidr"):
        except_ = [network(text(entry)) for entry in peer.get("except") or []]
        return {"ipBlock": compact({"cidr": network(text(peer["cidr"])), "except": except_})}
    found: Object = {}
    if peer.get("namespace"):
        found["namespaceSelector"] = _namespaces(peer["namespace"])
    if peer.get("pod_selector"):
        found["podSelector"] = {"matchLabels": _labels(peer["pod_selector"])}
    return found


def _namespaces(value: Any) -> Object:
    return {"matchLabels": _labels(value) if isinstance(value, Mapping) else {NAMESPACE_NAME: text(value)}}


def _labels(value: Mapping[str, Any]) -> dict[str, str]:
    return {key: text(entry) for key, entry in sorted(value.items())}


def egress_rules(peers: Iterable[Peer] | None) -> list[Object]:
    """One rule per peer that pods may call, because each has its own ports."""
    return [_rule("to", [peer], [parse_port(port) for port in peer.get("ports") or []]) for peer in peers or []]


def api_server_rules(peers: Iterable[Peer] | None) -> list[Object]:
    """The rules for pods that call the API server.

    NetworkPolicies have no rule for API servers, plugins check its address before or after the Service's is translated, and some match no
    address of a node at all: so ports are named, and addresses only if the spec does.
    """
    return egress_rules(peers) or [{"ports": [_port(port) for port in API_PORTS]}]


def _monitoring(spec: PartSpec) -> list[Object]:
    """The rule for HAProxy's port with metrics. Kubelet, which probes it, is on the pod's node."""
    return _scraping(spec, OPS_PORT)


def _scraping(spec: PartSpec, port: int) -> list[Object]:
    namespaces = [{"namespace": entry} for entry in spec.monitoring_namespaces]
    return [_rule("from", namespaces, [_port(port)])] if namespaces else []


def _skupper_policy(
    spec: PartSpec,
    name: str,
    part: str,
    pods: Mapping[str, str],
    *,
    ingress: list[Object] | None = None,
    egress: list[Object] | None = None,
) -> Object:
    """A policy that opens ways of some pods. A direction without rules is none of its business."""
    rules = compact({"ingress": ingress, "egress": egress})
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": skupper.meta(spec, name, part),
        "spec": {
            "podSelector": {"matchLabels": _labels(pods)},
            "policyTypes": [kind for kind in ("Ingress", "Egress") if kind.lower() in rules],
            **rules,
        },
    }


def _tracking(spec: HubSpec) -> list[Object]:
    """The rules for connections to the tracking server, derived from its URI unless they are given."""
    own = spec.tracking
    if not own.uri:
        return []
    if own.egress:
        return egress_rules(own.egress)
    host, port = own.endpoint
    if is_ip(host):
        return [_rule("to", [{"cidr": host}], [_port(port)])]
    if namespace := tracking.service_namespace(host):
        # A Service's port is translated before the policy of the receiving pod looks, and it is not known here.
        return [_rule("to", [{"namespace": namespace}], [])]
    return [_rule("to", [], [_port(port)])]  # the addresses of a name are not known here


def _superlink_here(spec: SiteSpec) -> list[Object]:
    """The rule for the SuperLink's pod, where the site is in the hub's cluster: many plugins see that and not the address, which is translated."""
    if spec.connectivity == SKUPPER or spec.has_proxy or not spec.hub_namespace:
        return []
    pod = {"namespace": spec.hub_namespace, "pod_selector": own_pods(spec.federation, SUPERLINK)}
    return [_rule("to", [pod], [_port(FLEET_PORT)])]


def _superlink(spec: SiteSpec) -> Object:
    """The rule for connections to the SuperLink, or to the HTTP proxy before it. The addresses of a DNS name are not known here: any address then."""
    if spec.connectivity == SKUPPER:
        # A Service's port is translated into the router's before the router's policy looks, and it is not known here.
        return _rule("to", [{"pod_selector": skupper.ROUTER}], [])
    if spec.has_proxy:
        host, port = split_address(spec.http_proxy.address)
        networks = spec.http_proxy.cidrs or ([host] if is_ip(host) else [])
        return _rule("to", [{"cidr": network} for network in networks], [_port(port)])
    host, port = split_address(spec.superlink_address)
    networks = spec.superlink_cidrs or ([host] if is_ip(host) else [])
    return _rule("to", [{"cidr": network} for network in networks], [_port(port)])
