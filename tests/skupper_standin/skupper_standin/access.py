# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Ways in from outside (§1, §4): RouterAccess -> SecuredAccess for each router group -> Service and certificate."""

from __future__ import annotations

from . import certificates
from .conditions import CONFIGURED, OK, RESOLVED, error, ok_or, pending
from .crds import API_VERSION
from .kube import ApiError, Object
from .space import CONTROLLED, Space, owner
from .switches import ADDRESS, NO_ADDRESS, annotation, on

PORTS = {"inter-router": 55671, "edge": 45671}
SERVICE_TYPES = {"loadbalancer": "LoadBalancer", "nodeport": "NodePort"}
DEFAULT_TYPE = "loadbalancer"  # §5: not on OpenShift
# A class that no implementation knows: so a load balancer stays without an address, as on a cluster that has none.
NO_CLASS = "standin.skupper.io/none"


def enabled(space: Space) -> set[str]:
    """§5: access types that the controller offers; route needs OpenShift, nodeport an address of the cluster."""
    offered = set(space.switches.access_types) - {"route"}
    return offered if space.switches.cluster_host else offered - {"nodeport"}


def roles(item: Object) -> list[tuple[str, int]]:
    """Names and ports of a RouterAccess."""
    return [(one["name"], one.get("port") or PORTS.get(one["name"], 55671)) for one in item["spec"]["roles"]]


def want_default(space: Space, access_type: str) -> None:
    """The RouterAccess of a Site with link access; always reset to what it should be (§2c)."""
    spec = {
        "roles": [{"name": name, "port": port} for name, port in PORTS.items()],
        "tlsCredentials": "skupper-site-server",
        "generateTlsCredentials": True,
        "issuer": "skupper-site-ca",
        **({} if access_type == "default" else {"accessType": access_type}),
    }
    have = space.get("RouterAccess", "skupper-router")
    if have is None:
        data = {"name": "skupper-router", "annotations": {CONTROLLED: "true"}, "ownerReferences": space.owner}
        space.create({"apiVersion": API_VERSION, "kind": "RouterAccess", "metadata": data, "spec": spec})
    elif have["spec"] != spec:
        space.replace({**have, "spec": spec})


def check(space: Space, groups: list[str]) -> list[Object]:
    """Bring all RouterAccess of the active Site about; returns the Site's endpoints."""
    hosts: dict[str, set[str]] = {}
    endpoints: list[Object] = []
    for item in space.all("RouterAccess"):
        found: list[Object] = []
        for number, group in enumerate(groups):
            secured = _secured(space, item, group, number)
            found += [{**one, "group": group} for one in _realise(space, secured, hosts)]
        status = space.status(item)
        status.set(CONFIGURED, OK)
        status.field("endpoints", found)
        status.set(RESOLVED, OK if found else pending("Pending"))
        endpoints += found
    for item in space.all("SecuredAccess"):
        _certify(space, item, hosts)
    return endpoints


def _secured(space: Space, item: Object, group: str, number: int) -> Object:
    name = item["metadata"]["name"] + (f"-{number + 1}" if number else "")
    spec: Object = {
        "selector": {"skupper.io/component": "router", "skupper.io/group": group},
        "certificate": item["spec"]["tlsCredentials"],
        "ports": [{"name": role, "port": port, "targetPort": port, "protocol": "TCP"} for role, port in roles(item)],
    }
    if item["spec"].get("accessType"):
        spec["accessType"] = item["spec"]["accessType"]
    if item["spec"].get("generateTlsCredentials"):
        assert space.site is not None
        default = space.site["spec"].get("defaultIssuer") or "skupper-site-ca"
        spec["issuer"] = item["spec"].get("issuer") or default
    have = space.get("SecuredAccess", name)
    if have is None:
        data = {
            "name": name,
            "annotations": {CONTROLLED: "true", "internal.skupper.io/routeraccess": item["metadata"]["name"]},
            "ownerReferences": [owner(item)],
        }
        return space.create({"apiVersion": API_VERSION, "kind": "SecuredAccess", "metadata": data, "spec": spec})
    return have if have["spec"] == spec else space.replace({**have, "spec": spec})


def _realise(space: Space, item: Object, hosts: dict[str, set[str]]) -> list[Object]:
    """The Service of a SecuredAccess, and the endpoints that it has by now."""
    kind = item["spec"].get("accessType") or DEFAULT_TYPE
    name = item["metadata"]["name"]
    service = _service(space, item, kind)
    address = ""
    ports = {one["name"]: str(one["port"]) for one in item["spec"]["ports"]}
    if kind == "loadbalancer":
        ingress = (service.get("status", {}).get("loadBalancer", {}).get("ingress") or [{}])[0]
        address = ingress.get("ip") or ingress.get("hostname") or ""
    elif kind == "nodeport":
        address = space.switches.cluster_host
        ports = {one["name"]: str(one.get("nodePort", "")) for one in service["spec"]["ports"]}
    elif kind == "local":
        address = f"{name}.{space.name}"
    if kind not in enabled(space):
        address = ""
    found = [{"name": port, "host": address, "port": number} for port, number in ports.items()] if address else []
    certificate = item["spec"].get("certificate") or name
    hosts.setdefault(certificate, set()).update({name, f"{name}.{space.name}", *([address] if address else [])})
    status = space.status(item)
    status.field("endpoints", found)
    status.set(RESOLVED, OK if found else pending("Pending"))
    status.set(CONFIGURED, ok_or(None) if kind in enabled(space) else error(f"unsupported access type {kind}"))
    return found


def _service(space: Space, item: Object, kind: str) -> Object:
    assert space.site is not None
    name = item["metadata"]["name"]
    spec: Object = {
        "type": SERVICE_TYPES.get(kind, "ClusterIP"),
        "selector": item["spec"]["selector"],
        "ports": [{**one, "targetPort": one.get("targetPort") or one["port"]} for one in item["spec"]["ports"]],
    }
    if kind == "loadbalancer" and on(space.site, NO_ADDRESS):
        spec["loadBalancerClass"] = NO_CLASS
    if kind == "loadbalancer" and annotation(space.site, ADDRESS):
        spec["loadBalancerIP"] = annotation(space.site, ADDRESS)
    have = space.get("Service", name)
    if have is None:
        data = {
            "name": name,
            "labels": {"internal.skupper.io/secured-access": "true"},
            "annotations": {CONTROLLED: "true"},
            "ownerReferences": [owner(item)],
        }
        try:
            return space.create({"apiVersion": "v1", "kind": "Service", "metadata": data, "spec": spec})
        except ApiError as error_:
            if error_.status != 409:
                raise
            have = space.client.get("Service", space.name, name) or {}
    ports = [{key: one.get(key) for key in ("name", "port", "targetPort", "protocol")} for one in have["spec"]["ports"]]
    if (have["spec"].get("selector"), have["spec"]["type"], ports) != (spec["selector"], spec["type"], spec["ports"]):
        kept = {one["name"]: one.get("nodePort") for one in have["spec"]["ports"]}
        spec["ports"] = [
            {**one, **({"nodePort": kept[one["name"]]} if kept.get(one["name"]) else {})} for one in spec["ports"]
        ]
        return space.replace({**have, "spec": {**have["spec"], **spec}})
    return have


def _certify(space: Space, item: Object, hosts: dict[str, set[str]]) -> None:
    """The certificate of a SecuredAccess that has an issuer; groups of one RouterAccess share it, with all hosts."""
    if not item["spec"].get("issuer"):
        return
    name = item["spec"].get("certificate") or item["metadata"]["name"]
    have = space.get("Certificate", name)
    subject = have["spec"]["subject"] if have else item["metadata"]["name"]
    owners = [owner(item)]
    certificates.want(space, name, subject, ca=item["spec"]["issuer"], hosts=sorted(hosts.get(name, ())), owners=owners)
