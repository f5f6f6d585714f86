# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What in the hub's cluster passes TLS through, and whether it takes what C(superlink_exposure) would create.

Sources: Gateway API reference (conditions of Gateways and listeners, C(supportedFeatures) of a GatewayClass), Kubernetes documentation, «Ingress».
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..base.certificate_names import next_server_name
from ..base.foreign_data import cleaned
from ..base.problems import Problem, warning
from ..base.values import text
from ..kube.api_errors import Forbidden, NotServed
from ..kube.client import Cluster
from ..manifests.exposure import EXPOSURES, GATEWAYS, GatewayApi, Ingress, exposure_of, is_routed
from ..spec.hub_spec import HubSpec

_CLASSES = ("networking.k8s.io/v1", "IngressClass")
_SHOWN = 8  # objects of a kind in a message
_MESSAGE = 600  # characters of what a controller says
_DEFAULT_CLASS = "ingressclass.kubernetes.io/is-default-class"
_LEGACY_CLASS = "kubernetes.io/ingress.class"

Objects = Sequence[Mapping[str, Any]]


def route_api(cluster: Cluster, spec: HubSpec) -> str:
    """The newest apiVersion in which the cluster serves TLSRoutes; empty where it has none, and for other exposures."""
    exposure = exposure_of(spec)
    found = cluster.served(*exposure.kind) if isinstance(exposure, GatewayApi) and exposure.kind else None
    return found.api_version if found else ""


def check(cluster: Cluster, spec: HubSpec) -> Iterator[Problem]:
    """Why the controller in front of the gateway would not pass TLS through; nothing for exposures without one."""
    exposure = exposure_of(spec)
    if not exposure.passes_tls:
        return
    if exposure.kind and cluster.served(*exposure.kind) is None:
        group, kind = exposure.kind
        yield Problem(
            f"superlink_exposure: {exposure.name}: {cluster.name} does not serve {kind} ({group}). {_remedy(exposure.name)}, or set another "
            f"superlink_exposure. {installed(cluster)}"
        )
    elif isinstance(exposure, GatewayApi):
        yield from _gateway(cluster, spec, exposure)
    else:
        yield from _ingress_class(cluster, spec)


def _remedy(name: str) -> str:
    if name != GatewayApi.name:
        return "Install the controller with its CustomResourceDefinitions"
    return "Install the CustomResourceDefinitions of the Gateway API, 1.5 or later (before, TLSRoute is in the experimental channel only), and a controller"


def _gateway(cluster: Cluster, spec: HubSpec, exposure: GatewayApi) -> Iterator[Problem]:
    """Whether the Gateway is there, and one of its listeners takes the route."""
    name = f"{spec.gateway_namespace}/{spec.gateway.name}"
    about = f"superlink_gateway: Gateway {name} on {cluster.name}"
    try:
        gateway = cluster.get(GATEWAYS, "Gateway", spec.gateway.name, spec.gateway_namespace)
    except NotServed:
        gateway = None
    if gateway is None:
        yield Problem(f"{about} does not exist. Ask its owners for one with a listener of protocol TLS and tls.mode Passthrough. {installed(cluster)}")
        return
    status, generation = gateway.get("status") or {}, gateway["metadata"].get("generation")
    reported = {text(one.get("name")): one for one in status.get("listeners") or []}
    refusals = {
        name: why or _not_accepted(reported.get(name) or {}, generation) or "" for name, why in exposure.listeners(spec, gateway).items()
    }
    takers = [one for one in gateway["spec"]["listeners"] if not refusals[text(one.get("name"))]]
    if not takers:
        reasons = "; ".join(f"{listener}: {why}" for listener, why in list(refusals.items())[:_SHOWN])
        yield Problem(
            f"{about} has no listener that accepts a TLSRoute of namespace {spec.namespace} and passes TLS through ({reasons}). Its owners have to "
            "add one with protocol TLS, tls.mode Passthrough and allowedRoutes for this namespace, or name another Gateway or section"
        )
        return
    refused = _not_accepted(status, generation)
    if refused is None:
        name = gateway["spec"].get("gatewayClassName")
        yield Problem(f"{about}: no controller has accepted it yet. Check that the controller of its class {name} is running")
    elif refused:
        yield Problem(f"{about} is not accepted by its controller: {refused}. Its owners have to correct it")
    elif not (spec.host or spec.superlink_address or exposure.addresses(gateway)):
        there = ", ".join(text(one.get("value")) for one in status.get("addresses") or []) or "none"
        yield Problem(f"{about} has no IP address in its status (addresses: {there}): set superlink_host to a name that resolves to it")
    missed = next_server_name(exposure.host(spec))
    if not any(is_routed(missed, one.get("hostname")) for one in takers):
        yield warning(f"{about} does not accept {missed}: before a rotation of the CA, its owners have to add a listener for this name")


def _not_accepted(status: Mapping[str, Any], generation: Any) -> str | None:
    """Reason and message where the condition Accepted is False, empty where it is True; None while no controller has judged this generation."""
    for one in status.get("conditions") or []:
        if one.get("type") == "Accepted" and one.get("observedGeneration", generation) == generation and one.get("status") != "Unknown":
            return "" if one.get("status") == "True" else cleaned(f"{one.get('reason')}: {one.get('message')}", _MESSAGE)
    return None


def _ingress_class(cluster: Cluster, spec: HubSpec) -> Iterator[Problem]:
    """Whether the class is there, and of a controller that does what the exposure renders."""
    exposure, classes = exposure_of(spec), _listed(cluster, *_CLASSES)
    if exposure.name == "route" or classes is None:
        return
    found = [one for one in classes if spec.ingress_class in (one["metadata"]["name"], "" if _is_default(one) else None)]
    if not found:
        if spec.ingress_class or (isinstance(exposure, Ingress) and _LEGACY_CLASS not in spec.ingress_annotations):
            missing = f"no IngressClass {spec.ingress_class}" if spec.ingress_class else "no default IngressClass, and superlink_ingress_class is empty"
            yield warning(f"superlink_exposure: {exposure.name}: {cluster.name} has {missing}. {installed(cluster)}")
        return
    known = _exposure_of_class(found[0])
    fits = _controller(found[0]).startswith(exposure.controllers) or (exposure.name == Ingress.name and isinstance(EXPOSURES.get(known), Ingress))
    if spec.ingress_class and known and not fits:
        yield Problem(
            f"superlink_ingress_class: {_class_words(found[0])} on {cluster.name} is not of a controller that passes TLS through for "
            f"superlink_exposure: {exposure.name}. Set superlink_exposure to {known}, or another class. {installed(cluster)}"
        )


def summary(cluster: Cluster, spec: HubSpec) -> str:
    """A sentence for the result of the check; empty for exposures that pass no TLS through."""
    return f". {installed(cluster)}" if exposure_of(spec).passes_tls else ""


def installed(cluster: Cluster) -> str:
    """The classes and Gateways of a cluster, and what passes TLS through, as far as they may be listed."""
    classes, gateway_classes, gateways = (_listed(cluster, *kind) for kind in (_CLASSES, (GATEWAYS, "GatewayClass"), (GATEWAYS, "Gateway")))
    rows = [_class_words(one) for one in (classes or [])[:_SHOWN]]
    rows += [_gateway_class_words(one) for one in (gateway_classes or [])[:_SHOWN]]
    rows += [_gateway_words(one) for one in (gateways or [])[:_SHOWN]]
    return f"Installed: {', '.join(rows) or 'no IngressClass, GatewayClass or Gateway that may be listed'}"


def _listed(cluster: Cluster, api_version: str, kind: str) -> Objects | None:
    """Objects of a kind in the whole cluster; None where they may not be listed, or are not served."""
    try:
        return cluster.list(api_version, kind)
    except (Forbidden, NotServed):
        return None


def _is_default(item: Mapping[str, Any]) -> bool:
    return bool((item["metadata"].get("annotations") or {}).get(_DEFAULT_CLASS) == "true")


def _exposure_of_class(item: Mapping[str, Any]) -> str:
    """The first exposure for the controller of an IngressClass; empty where none is known."""
    return next((name for name, one in EXPOSURES.items() if _controller(item).startswith(one.controllers)), "")


def _controller(item: Mapping[str, Any]) -> str:
    return text((item.get("spec") or {}).get("controller"))


def _class_words(item: Mapping[str, Any]) -> str:
    known = _exposure_of_class(item)
    through = f"superlink_exposure: {known}" if known else "not known to pass TLS through"
    return f"IngressClass {item['metadata']['name']} ({(item.get('spec') or {}).get('controller')}; {through})"


def _gateway_class_words(item: Mapping[str, Any]) -> str:
    features = [one.get("name") if isinstance(one, Mapping) else one for one in (item.get("status") or {}).get("supportedFeatures") or []]
    through = "supports TLSRoute" if "TLSRoute" in features else "does not report TLSRoute"
    return f"GatewayClass {item['metadata']['name']} ({(item.get('spec') or {}).get('controllerName')}; {through})"


def _gateway_words(item: Mapping[str, Any]) -> str:
    listeners = (item.get("spec") or {}).get("listeners") or []
    ports = [f"{one.get('name')} on port {one.get('port')}" for one in listeners if (one.get("tls") or {}).get("mode") == "Passthrough"]
    through = f"passes TLS through: {', '.join(ports[:_SHOWN])}" if ports else "passes no TLS through"
    return f"Gateway {item['metadata']['namespace']}/{item['metadata']['name']} ({through})"
