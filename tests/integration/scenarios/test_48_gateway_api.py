# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""A hub behind a Gateway of another team: Traefik's own controller of the Gateway API passes TLS through (fleet addon traefik).

The Gateway's listener is on a port of the node, the Service of the SuperLink has none outside of the cluster: sites that are online connect
through Traefik.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

API = "gateway.networking.k8s.io/v1"
INFRA = f"{NAMESPACE}-infra"
PORT = 8443
FIXED = "superlink.scenario.flower.internal"  # what sidecars verify, since the Gateway has an IP address
ROUTE = (API, "TLSRoute", "superlink", NAMESPACE)
ANYWHERE = {"namespaces": {"from": "All"}}
CHOSEN = {"namespaces": {"from": "Selector", "selector": {"matchLabels": {"team": "nobody"}}}}


def gateway(name: str, allowed: dict[str, Any]) -> dict[str, Any]:
    """A Gateway with one listener."""
    listener = {"name": "tls", "port": PORT, "protocol": "TLS", "tls": {"mode": "Passthrough"}, "allowedRoutes": allowed}
    spec = {"gatewayClassName": "traefik", "listeners": [listener]}
    return {"apiVersion": API, "kind": "Gateway", "metadata": {"name": name, "namespace": INFRA}, "spec": spec}


def hosts(fed: Any, exposure: str = "gateway_api", name: str = "public", **hub: Any) -> dict[str, Any]:
    """The base inventory with another exposure."""
    found = fed.base()
    chosen = {"superlink_gateway": {"name": name, "namespace": INFRA}} if exposure == "gateway_api" else {}
    found["hub"] |= {"superlink_exposure": exposure, **chosen, **hub}
    return found


@pytest.fixture(scope="module")
def traefik(federation: Any, fleet_addon: Callable[..., None]) -> Iterator[None]:
    """The controller, and two Gateways of another team."""
    fleet_addon("traefik", "up")
    federation.hub.apply({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": INFRA}})
    for name, allowed in (("public", CHOSEN), ("closed", {"namespaces": {"from": "Same"}})):
        federation.hub.apply(gateway(name, allowed))
    for name in ("public", "closed"):
        federation.wait(f"Gateway {name}", lambda name=name: accepted(federation, name))
    yield
    federation.hub.delete("v1", "Namespace", INFRA, propagation="Background")
    fleet_addon("traefik", "down")


def accepted(fed: Any, name: str) -> bool:
    """Whether Traefik has accepted a Gateway and given it an address."""
    status = fed.hub.get(API, "Gateway", name, INFRA).get("status") or {}
    return bool(status.get("addresses")) and any((one["type"], one["status"]) == ("Accepted", "True") for one in status["conditions"])


def refused(fed: Any, found: dict[str, Any], *words: str) -> None:
    """The preflight names the variable, what is there, and the way out; nothing has changed."""
    before, settled = fed.everything(), fed.settled
    said = fed.play("site", "--limit", "hub", hosts=found, rc=2).messages("hub", failed=True)
    assert not [word for word in words if word not in said], said
    assert fed.everything() == before and fed.hub.get("v1", "Service", "superlink", NAMESPACE)["spec"]["type"] == "NodePort"
    fed.settled = settled


def test_a_cluster_without_the_kind_is_refused(fed: Any) -> None:
    for exposure, kind in (("gateway_api", "TLSRoute"), ("contour", "HTTPProxy")):
        more = {} if exposure == "gateway_api" else {"superlink_host": "flower.example.com"}
        refused(fed, hosts(fed, exposure, **more), f"superlink_exposure: {exposure}: hub does not serve {kind}", "another superlink_exposure", "Installed: ")


def test_wrong_gateways_are_refused(fed: Any, traefik: None) -> None:
    refused(fed, hosts(fed, superlink_gateway={}), "superlink_gateway: {} is empty; name the Gateway")
    refused(fed, hosts(fed, name="gone"), f"Gateway {INFRA}/gone on hub does not exist", f"Gateway {INFRA}/public (passes TLS through: tls on port {PORT})")
    refused(fed, hosts(fed, name="closed"), f"tls: it allows no routes of namespace {NAMESPACE} (allowedRoutes.namespaces.from is Same)")
    refused(fed, hosts(fed, superlink_gateway={"name": "public", "namespace": INFRA, "section": "web"}), "superlink_gateway.section names another one")


def test_the_api_server_accepts_an_ingressroutetcp(fed: Any, traefik: None) -> None:
    """By a dry run, against the definition of Traefik."""
    found = hosts(fed, "traefik", superlink_host="flower.example.com")
    run = fed.play("site", "--limit", "hub", "--check", hosts=found)
    assert "IngressRouteTCP" in run.output, run.details()
    assert fed.hub.get("traefik.io/v1alpha1", "IngressRouteTCP", "superlink", NAMESPACE) is None


def test_sites_train_through_the_gateway(fed: Any, traefik: None) -> None:
    """The Gateway does not let the namespace attach at first, which only its controller can say; then its owners allow it."""
    ids = fed.nodes()
    said = fed.play("site", "--limit", "hub", hosts=hosts(fed, superlink_wait_timeout=15), rc=2).messages("hub", failed=True)
    assert f"Gateway {INFRA}/public has not accepted it: Accepted is False (NotAllowedByListeners" in said, said
    owned = fed.hub.apply(gateway("public", ANYWHERE))
    fed.wait("the Gateway", lambda: accepted(fed, "public"))

    run = fed.site(hosts(fed))
    assert "GatewayClass traefik (traefik.io/gateway-controller; supports TLSRoute)" in run.messages("hub"), run.messages("hub")
    route = fed.hub.get(*ROUTE)
    assert route["spec"]["hostnames"] == [FIXED, f"next.{FIXED}"]
    (parent,) = route["status"]["parents"]
    assert parent["controllerName"] == "traefik.io/gateway-controller"
    assert fed.hub.get("v1", "Service", "superlink", NAMESPACE)["spec"]["type"] == "ClusterIP"
    address = fed.hub.get(API, "Gateway", "public", INFRA)["status"]["addresses"][0]["value"]
    assert fed.door() == {"host": address, "port": PORT}
    fed.wait_online(*ids)
    _id, finish = fed.begin(**{"num-server-rounds": 1, "min-nodes": 3})
    assert not finish().rc and list(fed.app_runs().values())[-1] == "finished:completed"
    fed.unchanged(hosts(fed))
    there = fed.hub.get(API, "Gateway", "public", INFRA)
    assert (there["spec"], there["metadata"]["generation"]) == (owned["spec"], owned["metadata"]["generation"])


def test_another_exposure_removes_our_route_alone(fed: Any, traefik: None) -> None:
    """C(fed) brings the base inventory back, with a node port."""
    assert fed.hub.get(*ROUTE) is None
    assert fed.hub.get(API, "Gateway", "public", INFRA) is not None
    assert fed.door()["port"] != PORT
    fed.wait_online(*fed.nodes())
