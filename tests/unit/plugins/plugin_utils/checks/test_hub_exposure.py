# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Whether what is in front of the gateway passes TLS through, by what a cluster has of Ingresses and of the Gateway API."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.checks import hub_exposure
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden, NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Resource
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import exposure
from ansible_collections.federated.flower.tests.unit.rows import each_row

API = "gateway.networking.k8s.io"
HOST = "flower.example.com"


def ingress_class(name: str, controller: str, *, default: bool = False) -> dict[str, Any]:
    notes = {"ingressclass.kubernetes.io/is-default-class": "true"} if default else {}
    return {"kind": "IngressClass", "metadata": {"name": name, "annotations": notes}, "spec": {"controller": controller}}


def listener(**changes: Any) -> dict[str, Any]:
    return {"name": "tls", "port": 8443, "protocol": "TLS", "tls": {"mode": "Passthrough"}, "allowedRoutes": {"namespaces": {"from": "All"}}, **changes}


def gateway(*listeners: dict[str, Any], accepted: str = "True", seen: int = 3, addresses: tuple[str, ...] = ("192.0.2.7",), **status: Any) -> dict[str, Any]:
    condition = {"type": "Accepted", "status": accepted, "observedGeneration": seen, "reason": "Because", "message": "so it is"}
    return {
        "kind": "Gateway",
        "metadata": {"name": "public", "namespace": "infra", "generation": 3},
        "spec": {"gatewayClassName": "traefik", "listeners": [{"name": "web", "port": 80, "protocol": "HTTP"}, *listeners]},
        "status": {"conditions": [condition], "addresses": [{"value": one} for one in addresses], **status},
    }


class Stand:
    """A cluster with some objects, and kinds that it serves in one version."""

    name = "hub"

    def __init__(self, *items: dict[str, Any], served: dict[str, str] | None = None, barred: tuple[str, ...] = ()) -> None:
        self.items, self.barred = items, barred
        self.kinds = {"TLSRoute": "v1", "IngressRouteTCP": "v1alpha1", "HTTPProxy": "v1", "Route": "v1"} if served is None else served

    def served(self, group: str, kind: str) -> Resource | None:
        return Resource(f"{group}/{self.kinds[kind]}", kind, "-", True) if kind in self.kinds else None

    def get(self, _version: str, kind: str, name: str, namespace: str) -> Any:
        return next((one for one in self.list("", kind) if (one["metadata"]["name"], one["metadata"]["namespace"]) == (name, namespace)), None)

    def list(self, _version: str, kind: str) -> list[dict[str, Any]]:
        if kind in self.barred:
            raise Forbidden(self.name, "list", 403, {"message": "no"})
        if not self.kinds and kind.startswith("Gateway"):
            raise NotServed(self.name, "list", 404, {"message": "no"})
        return [copy.deepcopy(one) for one in self.items if one["kind"] == kind]


def found(cluster: Stand, spec: Any) -> tuple[list[str], list[str]]:
    problems = list(hub_exposure.check(cluster, spec))
    return [one.message for one in problems if one.refuses], [one.message for one in problems if not one.refuses]


@pytest.fixture
def attached(parsed_hub):
    def spec(**changes: Any) -> Any:
        return parsed_hub(**{"superlink_address": "", "exposure": "gateway_api", "gateway": {"name": "public", "namespace": "infra"}, **changes})

    return spec


NGINX = ingress_class("nginx", "k8s.io/ingress-nginx", default=True)
TRAEFIK = ingress_class("edge", "traefik.io/ingress-controller")
HAPROXY = ingress_class("haproxy", "haproxy.org/ingress-controller/haproxy")
OTHER = ingress_class("other", "example.com/gate")
FEATURED = {"kind": "GatewayClass", "metadata": {"name": "traefik"}, "spec": {"controllerName": "traefik.io/gateway-controller"}}
FEATURED["status"] = {"supportedFeatures": [{"name": "TLSRoute"}]}


@each_row("name", ["gateway_api", "traefik", "contour", "route"])
def test_a_kind_that_is_not_served_is_refused_with_what_is_there(name, parsed_hub):
    spec = parsed_hub(superlink_address="", exposure=name, host=HOST, gateway={"name": "public"} if name == "gateway_api" else {})
    (refused,), doubts = found(Stand(NGINX, TRAEFIK, OTHER, served={}), spec)
    _group, kind = exposure.exposure_of(spec).kind
    assert refused.startswith(f"superlink_exposure: {name}: hub does not serve {kind} (") and "or set another superlink_exposure" in refused
    assert "IngressClass nginx (k8s.io/ingress-nginx; superlink_exposure: ingress)" in refused
    assert "IngressClass edge (traefik.io/ingress-controller; superlink_exposure: traefik)" in refused
    assert "IngressClass other (example.com/gate; not known to pass TLS through)" in refused
    assert doubts == []


def test_the_newest_served_version_is_used(attached, parsed_hub):
    assert hub_exposure.route_api(Stand(served={"TLSRoute": "v1alpha3"}), attached()) == f"{API}/v1alpha3"
    assert hub_exposure.route_api(Stand(served={}), attached()) == ""
    assert hub_exposure.route_api(Stand(), parsed_hub(exposure="cluster_ip")) == ""
    (route,) = exposure.exposure_of(attached()).objects(attached(route_api=f"{API}/v1alpha2"))
    assert (route["apiVersion"], route["kind"]) == (f"{API}/v1alpha2", "TLSRoute")


@each_row(
    ("items", "changes", "why"),
    [
        ([gateway(listener())], {}, ""),
        ([gateway(listener())], {"host": HOST, "gateway": {"name": "public", "namespace": "infra", "section": "tls"}}, ""),
        ([FEATURED], {}, "Gateway infra/public on hub does not exist. Ask its owners"),
        ([gateway(listener())], {"gateway": {"name": "public"}}, "Gateway flower/public on hub does not exist"),
        ([gateway()], {}, "has no listener that accepts a TLSRoute of namespace flower and passes TLS through (web: protocol HTTP)"),
        ([gateway(listener(tls={}))], {}, "tls: protocol TLS)"),
        ([gateway(listener(tls={"certificateRefs": []}))], {}, "tls: protocol TLS, tls.mode Terminate)"),
        ([gateway(listener(protocol="HTTPS"))], {}, "tls: protocol HTTPS, tls.mode Passthrough)"),
        ([gateway(listener(hostname="*.example.org"))], {"host": HOST}, f"tls: it is for *.example.org only, not for {HOST})"),
        ([gateway(listener(hostname="*.example.com"))], {"host": HOST}, ""),
        ([gateway(listener(allowedRoutes={}))], {}, "it allows no routes of namespace flower (allowedRoutes.namespaces.from is Same)"),
        ([gateway(listener(allowedRoutes={"namespaces": {"from": "Selector"}}))], {}, ""),
        ([gateway(listener(allowedRoutes={"namespaces": {"from": "All"}, "kinds": [{"kind": "TCPRoute"}]}))], {}, "tls: it allows TCPRoute only)"),
        ([gateway(listener())], {"gateway": {"name": "public", "namespace": "infra", "section": "web"}}, "tls: superlink_gateway.section names another one)"),
        ([gateway(listener(), accepted="False")], {}, "is not accepted by its controller: Because: so it is"),
        ([gateway(listener(), accepted="Unknown")], {}, "no controller has accepted it yet. Check that the controller of its class traefik is running"),
        # A condition of an earlier generation says nothing.
        ([gateway(listener(), accepted="False", seen=2)], {}, "no controller has accepted it yet"),
        (
            [gateway(listener(), listeners=[{"name": "tls", "conditions": [{"type": "Accepted", "status": "False", "reason": "PortUnavailable"}]}])],
            {},
            "tls: PortUnavailable",
        ),
        ([gateway(listener(), addresses=())], {}, "has no IP address in its status (addresses: none): set superlink_host"),
        ([gateway(listener(), addresses=("lb.cloud.example",))], {}, "(addresses: lb.cloud.example)"),
        ([gateway(listener(), addresses=())], {"host": HOST}, ""),
    ],
)
def test_the_gateway(items, changes, why, attached):
    refused, doubts = found(Stand(*items), attached(**changes))
    assert doubts == []
    if not why:
        assert refused == []
    else:
        (message,) = refused
        assert message.startswith("superlink_gateway: Gateway ") and why in message, message


def test_a_listener_without_the_name_of_the_next_certificate_is_doubted(attached):
    refused, (doubt,) = found(Stand(gateway(listener(hostname=HOST))), attached(host=HOST))
    assert refused == [] and f"does not accept next.{HOST}" in doubt


def test_address_and_names_of_a_gateway(attached, parsed_hub):
    live = [gateway(listener(), addresses=("lb.cloud.example", "192.0.2.7", "192.0.2.8"))]
    assert exposure.address(attached(), live) == "192.0.2.7:8443"
    published = {"kind": "ConfigMap", "metadata": {"name": "flower-federation"}, "data": {"address": "192.0.2.8:8443"}}
    assert exposure.address(attached(), [*live, published]) == "192.0.2.8:8443", "the one that sites have"
    assert exposure.address(attached(host=HOST), live) == f"{HOST}:8443"
    assert exposure.address(attached(), []) == exposure.address(attached(), [gateway()]) == ""
    fixed = "superlink.flower.flower.internal"
    assert exposure.routed_names(attached(), "192.0.2.7:8443") == [fixed, f"next.{fixed}"]
    assert exposure.routed_names(attached(server_name="own.example"), "192.0.2.7:8443")[0] == "own.example"
    assert exposure.routed_names(attached(superlink_address=f"{HOST}:443"), f"{HOST}:443")[0] == HOST
    for name in ("traefik", "contour", "haproxy_ingress"):
        spec = parsed_hub(superlink_address="", exposure=name, host=HOST)
        assert exposure.routed_names(spec, exposure.address(spec)) == [HOST, f"next.{HOST}"] + ["true", "true"] * (name == "haproxy_ingress")


@each_row(
    ("name", "chosen", "items", "refusal", "doubt"),
    [
        ("ingress", "nginx", [NGINX], "", ""),
        ("ingress", "", [NGINX], "", ""),
        ("ingress", "haproxy", [HAPROXY], "", ""),  # with annotations of its own
        ("ingress", "other", [OTHER], "", ""),
        ("ingress", "edge", [TRAEFIK], "Set superlink_exposure to traefik", ""),
        ("haproxy_ingress", "haproxy", [HAPROXY], "", ""),
        ("haproxy_ingress", "nginx", [NGINX], "Set superlink_exposure to ingress", ""),
        ("traefik", "edge", [TRAEFIK], "", ""),
        ("traefik", "", [], "", ""),
        ("contour", "edge", [TRAEFIK], "Set superlink_exposure to traefik", ""),
        ("ingress", "gone", [NGINX], "", "hub has no IngressClass gone. Installed: IngressClass nginx"),
        ("ingress", "", [TRAEFIK], "", "hub has no default IngressClass, and superlink_ingress_class is empty"),
    ],
)
def test_the_ingress_class(name, chosen, items, refusal, doubt, parsed_hub):
    spec = parsed_hub(superlink_address="", exposure=name, host=HOST, ingress_class=chosen)
    refused, doubts = found(Stand(*items), spec)
    assert len(refused) == bool(refusal) and refusal in "".join(refused), refused
    assert len(doubts) == bool(doubt) and doubt in "".join(doubts), doubts
    assert found(Stand(*items, barred=("IngressClass",)), spec) == ([], []), "what may not be listed is not known"


def test_two_exposures_may_have_the_same_controller(parsed_hub, monkeypatch):
    class OwnIngress(exposure.Ingress):
        name = "own_ingress"

    monkeypatch.setitem(exposure.EXPOSURES, "own_ingress", OwnIngress())
    assert found(Stand(NGINX), parsed_hub(superlink_address="", exposure="own_ingress", host=HOST, ingress_class="nginx")) == ([], [])


def test_the_check_says_what_there_is(attached, parsed_hub):
    words = hub_exposure.summary(Stand(NGINX, FEATURED, gateway(listener())), attached())
    assert words == (
        ". Installed: IngressClass nginx (k8s.io/ingress-nginx; superlink_exposure: ingress), GatewayClass traefik (traefik.io/gateway-controller; "
        "supports TLSRoute), Gateway infra/public (passes TLS through: tls on port 8443)"
    )
    assert "passes no TLS through" in hub_exposure.summary(Stand(gateway()), attached())
    assert hub_exposure.summary(Stand(NGINX), parsed_hub(exposure="load_balancer")) == ""
