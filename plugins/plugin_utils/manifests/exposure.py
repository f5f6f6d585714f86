# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The access to the gateway: Service, Ingress or Route, and the address to which sites connect. It is defined by C(exposures)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.addresses import split_address
from ..base.labels import own_pods
from ..base.names import METRICS_CONTROL
from ..base.object_names import FLEET_PORT, METRICS_CONTROL_PORT, RUNTIME_PORT
from ..base.values import Object, compact, text
from ..spec.hub_spec import HubSpec
from . import patches
from .common_objects import service
from .exposures import SERVICE, exposure_of, join

RUNTIME_SERVICE = "superlink-runtime"


def objects(spec: HubSpec) -> list[Object]:
    """Services, Ingress and Route of the hub. Only the first Service, for sites, may be published outside the cluster."""
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
    if not exposure_of(spec).passes_tls:
        return []
    rendered = patches.apply(exposure_of(spec).objects(spec), spec.patches, partial=True)
    names: list[str] = []
    for item in sorted(rendered, key=lambda one: bool(one["metadata"]["name"] != SERVICE)):
        body = item.get("spec") or {}
        found = [text(one["host"]) for one in (body, *(body.get("rules") or ())) if one.get("host")]
        if not names and not found and live_address and not spec.superlink_address:
            # A host that OpenShift generated is only known by the address, which can be another one.
            found = [split_address(live_address)[0]]
        if not names and not found:
            return []
        names += found
        for note in (item["metadata"].get("annotations") or {}).values():
            names += text(note).replace(",", " ").split()
    return names
