# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Parts of NetworkPolicies, and the policy that isolates a namespace.

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
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from ..base.addresses import network
from ..base.labels import own_pods
from ..base.ports import API_PORTS, OPS_PORT
from ..base.values import Object, compact, text
from ..spec.part_spec import PartSpec
from .objects import metadata

NAMESPACE_NAME = "kubernetes.io/metadata.name"  # the API server puts it on every namespace
PROTOCOLS = ("TCP", "UDP", "SCTP")

_PORT = re.compile(r"(?P<port>[0-9]{1,5})(?:-(?P<end>[0-9]{1,5}))?(?:/(?P<protocol>[A-Z]+))?")

Peer = Mapping[str, Any]


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
    if peer.get("namespace"):
        found["namespaceSelector"] = _namespaces(peer["namespace"])
    if peer.get("pod_selector"):
        found["podSelector"] = {"matchLabels": text_labels(peer["pod_selector"])}
    return found


def _namespaces(value: Any) -> Object:
    return {"matchLabels": text_labels(value) if isinstance(value, Mapping) else {NAMESPACE_NAME: text(value)}}


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


def monitoring(spec: PartSpec) -> list[Object]:
    """The rule for HAProxy's port with metrics. Kubelet, which probes it, is on the pod's node."""
    return scraping(spec, OPS_PORT)


def scraping(spec: PartSpec, port: int) -> list[Object]:
    """The rule for a port with metrics: the namespaces of the monitoring may call it."""
    namespaces = [{"namespace": entry} for entry in spec.monitoring_namespaces]
    return [policy_rule("from", namespaces, [policy_port(port)])] if namespaces else []
