# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""NetworkPolicies: their parts, the policy that isolates a namespace, and the allowed connections of the hub and of a site.

Kubernetes stores NetworkPolicies and enforces none; the cluster's network plugin does, if it can. The rules
(kubernetes.io/docs/concepts/services-networking/network-policies, API networking.k8s.io/v1):

- Policies add up. A pod that one of them selects for a direction is isolated in that direction, except for what is allowed.
- Traffic from the pod's own node is always allowed (description of NetworkPolicySpec.ingress). So kubelet's probes need
  no rule, and no rule here opens the health ports.
- Ports are those of pods: a Service's port or a node port is translated before the policy of the receiving pod looks.
  Whether the sending pod's policy sees an address before or after it is translated is left to the network plugin.

In a namespace that the collection creates, every pod is isolated, those of others included. In someone else's namespace
(C(create_namespace) is false) only the collection's own pods are: their own policies close them.

A peer is either {cidr, except} or {namespace, pod_selector} (one of the two is enough; a namespace is a name or a
mapping of labels), and may have C(ports), a list of "PORT[-END][/PROTOCOL]"; without them all ports are allowed.

With the C(connectivity) skupper it reaches the SuperLink through the pods of Skupper's router in its own namespace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..base.addresses import is_ip, network, split_address
from ..base.labels import own_pods
from ..base.names import CLIENTAPP, METRICS
from ..base.object_names import (
    API_PORTS,
    FLEET_PORT,
    METRICS_CONTROL_PORT,
    METRICS_PORT,
    NODE_LISTENER_PORT,
    OPS_PORT,
    RUNTIME_PORT,
    SERVERAPP,
    SKUPPER_ROUTER,
    SUPERLINK,
    SUPERNODE,
)
from ..base.values import Object, compact, text
from ..spec.hub_spec import HubSpec, host_and_port
from ..spec.part_spec import SKUPPER, PartSpec
from ..spec.site_spec import SiteSpec
from . import tracking
from .common_objects import network_policy

NAMESPACE_NAME = "kubernetes.io/metadata.name"  # the API server puts it on every namespace
PROTOCOLS = ("TCP", "UDP", "SCTP")

_PORT = re.compile(r"(?P<port>[0-9]{1,5})(?:-(?P<end>[0-9]{1,5}))?(?:/(?P<protocol>[A-Z]+))?")

Peer = Mapping[str, Any]


def default_deny(spec: PartSpec, name: str) -> list[Object]:
    """The policy that isolates all pods of the spec's namespace; none where the namespace is someone else's.

    Args:
        name: the part (hub and site may share a namespace): the first part of its name.
    """
    body = {"podSelector": {}, "policyTypes": ["Ingress", "Egress"]}
    return [network_policy(spec, f"{name}-default-deny", name, body)] if spec.closes_namespace else []


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
    return policy_port(first, protocol, last)


def pod_policy(spec: PartSpec, name: str, *, ingress: list[Object], egress: list[Object]) -> Object:
    """The policy of one kind of pods: isolated in both directions, except for the rules."""
    pods = {"matchLabels": own_pods(spec.federation, name)}
    return network_policy(spec, name, name, compact({"podSelector": pods, "policyTypes": ["Ingress", "Egress"], "ingress": ingress, "egress": egress}))


def policy_port(port: int, protocol: str = "TCP", end: int | None = None) -> Object:
    """A NetworkPolicyPort. C(end): the last one of a range."""
    return compact({"port": port, "endPort": end if end != port else None, "protocol": protocol})


def policy_rule(direction: str, peers: Iterable[Peer] | None, ports: list[Object]) -> Object:
    """A rule: C(from) or C(to) these peers (any if there are none), on these ports (all if there are none)."""
    return compact({direction: [_peer(peer) for peer in peers or []], "ports": ports})


def _peer(peer: Peer) -> Object:
    if peer.get("cidr"):
        except_ = [network(text(entry)) for entry in peer.get("except") or []]
        return {"ipBlock": compact({"cidr": network(text(peer["cidr"])), "except": except_})}
    found: Object = {}
    if namespace := peer.get("namespace"):
        labels = namespace if isinstance(namespace, Mapping) else {NAMESPACE_NAME: namespace}
        found["namespaceSelector"] = {"matchLabels": text_labels(labels)}
    if peer.get("pod_selector"):
        found["podSelector"] = {"matchLabels": text_labels(peer["pod_selector"])}
    return found


def text_labels(value: Mapping[str, Any]) -> dict[str, str]:
    """Labels whose values are text, sorted."""
    return {key: text(entry) for key, entry in sorted(value.items())}


def egress_rules(peers: Iterable[Peer] | None) -> list[Object]:
    """One rule per peer that pods may call, because each has its own ports."""
    return [policy_rule("to", [peer], [parse_port(port) for port in peer.get("ports") or []]) for peer in peers or []]


def api_server_rules(peers: Iterable[Peer] | None) -> list[Object]:
    """The rules for pods that call the API server.

    NetworkPolicies have no rule for API servers, plugins check its address before or after the Service's is translated, and some match no
    address of a node at all: so ports are named, and addresses only if the spec does.
    """
    return egress_rules(peers) or [{"ports": [policy_port(port) for port in API_PORTS]}]


def scraping(spec: PartSpec, port: int) -> list[Object]:
    """The rule for a port with metrics: the namespaces of the monitoring may call it. Kubelet, which probes HAProxy's, is on the pod's node."""
    namespaces = [{"namespace": entry} for entry in spec.monitoring_namespaces]
    return [policy_rule("from", namespaces, [policy_port(port)])] if namespaces else []


def superlink_policies(spec: HubSpec) -> list[Object]:
    """The policies of the hub's namespace."""
    if not spec.network_policies:
        return []
    ingress = [policy_rule("from", spec.allowed_sources, [policy_port(FLEET_PORT)])]
    if spec.is_process:
        ingress.append(
            policy_rule("from", [{"pod_selector": own_pods(spec.federation, SERVERAPP)}], [policy_port(RUNTIME_PORT)])
        )
    if spec.metrics.enabled:
        ingress.append(policy_rule("from", [{"pod_selector": own_pods(spec.federation, METRICS)}], [policy_port(METRICS_CONTROL_PORT)]))
    # With subprocess isolation ServerApps run in the SuperLink's pod.
    tracking_server, storage = spec.tracking, spec.outputs_s3
    app_egress = [
        *egress_rules(spec.serverapp_egress), *_server(tracking_server.uri, tracking_server.egress), *_server(storage.endpoint, storage.egress),
    ]  # fmt: skip
    policies = [
        *default_deny(spec, SUPERLINK),
        pod_policy(
            spec,
            SUPERLINK,
            ingress=[*ingress, *scraping(spec, OPS_PORT)],
            egress=[*egress_rules(spec.dns), *([] if spec.is_process else app_egress)],
        ),
    ]
    if spec.is_process:
        runtime = policy_rule("to", [{"pod_selector": own_pods(spec.federation, SUPERLINK)}], [policy_port(RUNTIME_PORT)])
        policies.append(
            pod_policy(spec, SERVERAPP, ingress=[], egress=[*egress_rules(spec.dns), runtime, *app_egress])
        )
    if spec.metrics.enabled:
        control = policy_rule("to", [{"pod_selector": own_pods(spec.federation, SUPERLINK)}], [policy_port(METRICS_CONTROL_PORT)])
        egress = [*egress_rules(spec.dns), control, *api_server_rules(spec.metrics.api_server)]
        policies.append(pod_policy(spec, METRICS, ingress=scraping(spec, METRICS_PORT), egress=egress))
    return policies


def _server(uri: str, egress: Sequence[Peer]) -> list[Object]:
    """The rules for connections to a server, derived from its URI unless they are given; none without a URI."""
    if not uri or egress:
        return egress_rules(egress) if uri else []
    host, port = host_and_port(uri)
    if namespace := tracking.service_namespace(host):
        # A Service's port is translated before the policy of the receiving pod looks, and it is not known here.
        return [policy_rule("to", [{"namespace": namespace}], [])]
    # The addresses of a name are not known here.
    return [policy_rule("to", [{"cidr": host}] if is_ip(host) else [], [policy_port(port)])]


def supernode_policies(spec: SiteSpec) -> list[Object]:
    """The policies of a site's namespace. SuperNodes call the hub; only ClientApps in their own pods call them."""
    if not spec.network_policies:
        return []
    listener = [policy_port(NODE_LISTENER_PORT)]
    names, more = egress_rules(spec.dns), egress_rules(spec.egress)
    ingress = scraping(spec, OPS_PORT) if spec.has_sidecar else []
    apps = []
    if spec.has_separate_clientapps:
        # What else may be called is for the code that computes.
        ingress = [policy_rule("from", [{"pod_selector": own_pods(spec.federation, CLIENTAPP)}], listener), *ingress]
        runtime = policy_rule("to", [{"pod_selector": own_pods(spec.federation, SUPERNODE)}], listener)
        apps, more = [pod_policy(spec, CLIENTAPP, ingress=[], egress=[*names, runtime, *more])], []
    egress = [*names, _superlink(spec), *_superlink_here(spec), *more]
    return [*default_deny(spec, SUPERNODE), pod_policy(spec, SUPERNODE, ingress=ingress, egress=egress), *apps]


def _superlink_here(spec: SiteSpec) -> list[Object]:
    """The rule for the SuperLink's pod, where the site is in the hub's cluster: many plugins see that and not the address, which is translated."""
    if spec.connectivity == SKUPPER or spec.has_proxy or not spec.hub_namespace:
        return []
    pod = {"namespace": spec.hub_namespace, "pod_selector": own_pods(spec.federation, SUPERLINK)}
    return [policy_rule("to", [pod], [policy_port(FLEET_PORT)])]


def _superlink(spec: SiteSpec) -> Object:
    """The rule for connections to the SuperLink, or to the HTTP proxy before it. The addresses of a DNS name are not known here: any address then."""
    if spec.connectivity == SKUPPER:
        # A Service's port is translated into the router's before the router's policy looks, and it is not known here.
        return policy_rule("to", [{"pod_selector": SKUPPER_ROUTER}], [])
    address, known = (spec.http_proxy.address, spec.http_proxy.cidrs) if spec.has_proxy else (spec.superlink_address, spec.superlink_cidrs)
    host, port = split_address(address)
    networks = known or ([host] if is_ip(host) else [])
    return policy_rule("to", [{"cidr": network} for network in networks], [policy_port(port)])
