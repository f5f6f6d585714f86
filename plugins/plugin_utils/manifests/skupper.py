# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Skupper's objects (API group skupper.io, v2alpha1): sites, links, listeners, connectors; and the allowed connections of its pods. Pure.

All of them are in the federation's namespace of their cluster. TLS passes through them end to end: listener and
connector have no credentials, so no one in the network can read or answer the messages of sites and hub
other, and C(observer: none) keeps routers from looking into it.

Sources of the rules: the CustomResourceDefinitions of Skupper 2.2.1, and Skupper's documentation and code of 2.2.x.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..base.addresses import is_ip
from ..base.labels import own_pods
from ..base.object_names import FLEET_PORT, SKUPPER_LEASE, SKUPPER_ROUTER, SUPERLINK, SUPERNODE
from ..base.secret_data import encode
from ..base.values import Object, compact, text
from ..spec.network_spec import LinkSpec, ListenerSpec, NetworkSiteSpec
from ..spec.part_spec import PartSpec
from .common_objects import api_object
from .network_policies import egress_rules, policy_port, policy_rule, scraping, text_labels

API = "skupper.io/v2alpha1"
NAME = "skupper"
SITE, LINK, LISTENER = "site", "link", "listener"  # parts: components of the labels, and the names of the applysets

# Of the router's pods and of the Service of a listener (Skupper's own labels).
ROUTER = SKUPPER_ROUTER
CONTROLLER = {"application": "skupper-controller"}
ROUTER_SERVICE = "skupper-router"  # of a site with link access
ROUTER_LEASE = SKUPPER_LEASE  # of every Site's routers
INTER_ROUTER_PORT, EDGE_PORT, GRANT_PORT, METRICS_PORT = 55671, 45671, 9090, 9090

# Created by Skupper in the namespace of a site with link access.
SITE_CA = "skupper-site-ca"
SITE_SERVER = "skupper-site-server"

FLEET = "flower-superlink"  # Listener and Connector
CONTROL = "skupper"  # ConfigMap that selects the controller of a namespace
SITE_LABEL = "federated.flower/site"
PRIOR_REVISIONS = "skupper.io/tls-prior-valid-revisions"  # on a Secret; wins over the setting of the Site
TLS_SECRET = "kubernetes.io/tls"
PROXY = "proxy-configuration"  # setting of a Link: the Secret of its proxy


def applyset(part: str) -> str:
    """Name of the applyset of a part."""
    return f"skupper-{part}"


def _object(spec: PartSpec, kind: str, name: str, part: str, fields: Mapping[str, Any], **more: Any) -> Object:
    """An object, of Skupper's API unless C(kind) has another one. No version label: a new release of Flower changes nothing here."""
    return api_object(spec, kind if "/" in kind else f"{API}/{kind}", name, NAME, fields, part, versioned=False, **more)


# Sites


def site_objects(spec: NetworkSiteSpec) -> list[Object]:
    """The Site, and the ConfigMap that assigns the namespace to a controller, if one is set."""
    control = _object(spec, "v1/ConfigMap", CONTROL, SITE, {"data": {"controller": spec.controller}})
    body = {
        "linkAccess": spec.link_access if spec.has_access else None,
        "ha": spec.ha or None,
        "edge": spec.edge or None,
        "settings": dict(sorted(spec.settings.items())),
    }
    return [*([control] if spec.controller else []), _object(spec, "Site", spec.site_name, SITE, {"spec": compact(body)})]


# Links


def certificate_name(site: str) -> str:
    """Name of the hub's Certificate, and of its Secret, for the link of a site."""
    return f"flower-link-{site}"


def grant_name(site: str) -> str:
    """Name of the hub's AccessGrant for the link of a site."""
    return f"flower-{site}"


def certificate(spec: LinkSpec, ca: str) -> Object:
    """The hub's Certificate from which Skupper creates the client certificate of this site's link.

    Args:
        spec: the link spec; the Certificate is in C(hub_namespace).
        ca: name of the Secret with the CA of the hub's Site.
    """
    body = {"ca": ca, "client": True, "subject": spec.cluster}
    at_hub = replace(spec, namespace=spec.hub_namespace)
    return _object(at_hub, "Certificate", certificate_name(spec.cluster), LINK, {"spec": body}, extra_labels={SITE_LABEL: spec.cluster})


def access_grant(spec: LinkSpec) -> Object:
    """The hub's AccessGrant: one redemption, for a short time."""
    # In seconds: the text is a duration of Go, which has no days.
    if spec.window is None:
        raise ValueError("window is empty")
    body = {"redemptionsAllowed": 1, "expirationWindow": f"{int(spec.window.total_seconds())}s"}
    at_hub = replace(spec, namespace=spec.hub_namespace)
    return _object(at_hub, "AccessGrant", grant_name(spec.cluster), LINK, {"spec": body}, extra_labels={SITE_LABEL: spec.cluster})


def access_token(spec: LinkSpec, grant: Mapping[str, str]) -> Object:
    """The site's AccessToken, with which its controller requests from the hub Secret and Links of the token's name.

    Args:
        grant: C(url), C(code) (a secret) and C(ca) of the grant's status.
    """
    body = compact({"url": grant["url"], "code": grant["code"], "ca": grant["ca"], "linkCost": spec.cost or None})
    return _object(spec, "AccessToken", spec.name, LINK, {"spec": body})


def link_secret(spec: LinkSpec, data: Mapping[str, str], kind: str = TLS_SECRET) -> Object:
    """The site's Secret with the client certificate of its link.

    Args:
        data: C(tls.crt), C(tls.key), C(ca.crt) in plain text.
        kind: type of the Secret: Skupper 2.2 passes over others than C(kubernetes.io/tls).
    """
    fields = {"type": kind, "data": {key: encode(value) for key, value in sorted(data.items())}}
    return _object(spec, "v1/Secret", spec.name, LINK, fields)


def groups(endpoints: Iterable[Mapping[str, Any]]) -> dict[str, list[Object]]:
    """Endpoints of a Site by group, both in a stable order: a hub with two routers has two groups, and takes two Links."""
    found: dict[str, list[Object]] = {}
    for endpoint in endpoints:
        entry = {key: text(endpoint.get(key)) for key in ("group", "host", "name", "port")}
        found.setdefault(entry["group"], []).append(entry)
    # A Link uses the first endpoint of its role, so the order within a group is kept but for equal ones.
    return {
        group: sorted(entries, key=lambda entry: (entry["name"], entry["host"], entry["port"]), reverse=True)
        for group, entries in sorted(found.items())
    }


def link_name(base: str, group: str) -> str:
    """Name of the Link to one group."""
    return f"{base}-{group}" if group else base


def links(spec: LinkSpec, endpoints: Iterable[Mapping[str, Any]], names: Mapping[str, str]) -> list[Object]:
    """The site's Links to the hub, one for each group of its endpoints.

    Args:
        endpoints: C(status.endpoints) of the hub's Site.
        names: group -> name of an existing Link, which is kept.
    """
    more = {"tlsCredentials": spec.name, "cost": spec.cost or None, "settings": compact({PROXY: spec.proxy_secret})}
    return [
        _object(spec, "Link", names.get(group) or link_name(spec.name, group), LINK, {"spec": compact({"endpoints": entries, **more})})
        for group, entries in groups(endpoints).items()
    ]


# Listener and connector


def listener_objects(spec: ListenerSpec) -> list[Object]:
    """The site's Listener. Skupper creates a Service with its host's name."""
    body = {"host": spec.host, "observer": "none", "port": spec.port, "routingKey": spec.key, "type": "tcp"}
    return [_object(spec, "Listener", FLEET, LISTENER, {"spec": body})]


def connector_objects(spec: ListenerSpec) -> list[Object]:
    """The hub's Connector to the gateway's port for sites."""
    chosen = ",".join(f"{key}={value}" for key, value in sorted(own_pods(spec.federation, "superlink").items()))
    body = {"port": FLEET_PORT, "routingKey": spec.key, "selector": chosen, "type": "tcp"}
    return [_object(spec, "Connector", FLEET, LISTENER, {"spec": body})]


def address(host: Any, port: Any) -> str:
    """The address to which SuperNodes connect."""
    return f"{text(host)}:{text(port)}"


def skupper_site_objects(spec: NetworkSiteSpec) -> list[Object]:
    """The policies of Skupper's own pods, where a policy closes the namespace; elsewhere nothing closes them."""
    if not spec.closes_namespace:
        return []
    routers = policy_rule("from", [{"pod_selector": ROUTER}], [])
    ingress = [routers, *scraping(spec, METRICS_PORT)]
    if spec.has_access:
        router_ports = [policy_port(INTER_ROUTER_PORT), policy_port(EDGE_PORT)]
        ingress.append(policy_rule("from", spec.allowed_sources, router_ports))
    egress = [*egress_rules(spec.dns), *egress_rules(spec.api_server), *egress_rules(spec.egress)]
    to_routers = policy_rule("to", [{"pod_selector": ROUTER}], [])
    policies = [_skupper_policy(spec, "skupper-router", SITE, ROUTER, ingress=ingress, egress=[*egress, to_routers])]
    if spec.install == "manifests" and spec.scope == "namespace":
        # A token is redeemed by the controllers: the site's calls the hub's, at any address.
        granted = [policy_rule("from", spec.allowed_sources, [policy_port(GRANT_PORT)])]
        redeemed = policy_rule("to", [], [policy_port(443), policy_port(GRANT_PORT)])
        policies.append(_skupper_policy(spec, "skupper-controller", SITE, CONTROLLER, ingress=granted, egress=[*egress, redeemed]))
    return policies


def skupper_link_objects(spec: PartSpec, endpoints: Sequence[Mapping[str, Any]]) -> list[Object]:
    """The way of a site's router to the hub's endpoints."""
    if not spec.closes_namespace or not endpoints:
        return []
    hosts = sorted({text(entry["host"]) for entry in endpoints})
    known = [{"cidr": host} for host in hosts] if all(map(is_ip, hosts)) else []
    ports = sorted({int(entry["port"]) for entry in endpoints if text(entry.get("port")).isdecimal()})
    return [_skupper_policy(spec, "skupper-link", LINK, ROUTER, egress=[policy_rule("to", known, [policy_port(port) for port in ports])])]


def skupper_listener_objects(spec: PartSpec) -> list[Object]:
    """SuperNodes may call their site's router. Skupper selects its ports, so no port is listed."""
    if not spec.closes_namespace:
        return []
    callers = policy_rule("from", [{"pod_selector": own_pods(spec.federation, SUPERNODE)}], [])
    return [_skupper_policy(spec, "skupper-listener", LISTENER, ROUTER, ingress=[callers])]


def skupper_connector_objects(spec: PartSpec) -> list[Object]:
    """The hub's router may call the gateway's port for sites, and the gateway may be called by it."""
    if not spec.network_policies:
        return []
    fleet_port = [policy_port(FLEET_PORT)]
    superlink = own_pods(spec.federation, SUPERLINK)
    routers = policy_rule("from", [{"pod_selector": ROUTER}], fleet_port)
    policies = [_skupper_policy(spec, "skupper-superlink", LISTENER, superlink, ingress=[routers])]
    if spec.closes_namespace:
        gateway = policy_rule("to", [{"pod_selector": superlink}], fleet_port)
        policies.append(_skupper_policy(spec, "skupper-connector", LISTENER, ROUTER, egress=[gateway]))
    return policies


def _skupper_policy(spec: PartSpec, name: str, part: str, pods: Mapping[str, str], **rules: list[Object]) -> Object:
    """A policy for some pods; C(rules): C(ingress), C(egress). A direction without rules is left as it is."""
    rules = compact(rules)
    types = [kind for kind in ("Ingress", "Egress") if kind.lower() in rules]
    body = {"podSelector": {"matchLabels": text_labels(pods)}, "policyTypes": types, **rules}
    return _object(spec, "networking.k8s.io/v1/NetworkPolicy", name, part, {"spec": body})
