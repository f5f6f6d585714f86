# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Allowed connections of Skupper's pods, see C(policy_rules.py): Skupper creates no policies. These add up with each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ..base.addresses import is_ip
from ..base.labels import own_pods
from ..base.object_names import SUPERLINK, SUPERNODE
from ..base.ports import FLEET_PORT
from ..base.values import Object, compact, text
from ..spec.network_spec import NetworkSiteSpec
from ..spec.part_spec import PartSpec
from . import skupper
from .policy_rules import egress_rules, policy_port, policy_rule, scraping, text_labels


def skupper_site_objects(spec: NetworkSiteSpec) -> list[Object]:
    """The policies of Skupper's own pods, where a policy closes the namespace; elsewhere nothing closes them."""
    if not spec.closes_namespace:
        return []
    routers = policy_rule("from", [{"pod_selector": skupper.ROUTER}], [])
    ingress = [routers, *scraping(spec, skupper.METRICS_PORT)]
    if spec.has_access:
        doors = [policy_port(skupper.INTER_ROUTER_PORT), policy_port(skupper.EDGE_PORT)]
        ingress.append(policy_rule("from", spec.allowed_sources, doors))
    ways = [*egress_rules(spec.dns), *egress_rules(spec.api_server), *egress_rules(spec.egress)]
    policies = [
        _skupper_policy(
            spec,
            "skupper-router",
            skupper.SITE,
            skupper.ROUTER,
            ingress=ingress,
            egress=[*ways, policy_rule("to", [{"pod_selector": skupper.ROUTER}], [])],
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
                ingress=[policy_rule("from", spec.allowed_sources, [policy_port(skupper.GRANT_PORT)])],
                egress=[*ways, policy_rule("to", [], [policy_port(443), policy_port(skupper.GRANT_PORT)])],
            )
        )
    return policies


def skupper_link_objects(spec: PartSpec, endpoints: Sequence[Mapping[str, Any]]) -> list[Object]:
    """The way of a site's router to the hub's endpoints."""
    if not spec.closes_namespace or not endpoints:
        return []
    hosts = sorted({text(entry["host"]) for entry in endpoints})
    known = [{"cidr": host} for host in hosts] if all(map(is_ip, hosts)) else []
    way = policy_rule("to", known, [policy_port(port) for port in skupper.ports(endpoints)])
    return [_skupper_policy(spec, "skupper-link", skupper.LINK, skupper.ROUTER, egress=[way])]


def skupper_listener_objects(spec: PartSpec) -> list[Object]:
    """SuperNodes may call their site's router. Skupper selects its ports, so no port is listed."""
    if not spec.closes_namespace:
        return []
    callers = policy_rule("from", [{"pod_selector": own_pods(spec.federation, SUPERNODE)}], [])
    return [_skupper_policy(spec, "skupper-listener", skupper.LISTENER, skupper.ROUTER, ingress=[callers])]


def skupper_connector_objects(spec: PartSpec) -> list[Object]:
    """The hub's router may call the gateway's port for sites, and the gateway may be called by it."""
    if not spec.network_policies:
        return []
    door = [policy_port(FLEET_PORT)]
    superlink = own_pods(spec.federation, SUPERLINK)
    made = [
        _skupper_policy(
            spec,
            "skupper-superlink",
            skupper.LISTENER,
            superlink,
            ingress=[policy_rule("from", [{"pod_selector": skupper.ROUTER}], door)],
        )
    ]
    if spec.closes_namespace:
        way = policy_rule("to", [{"pod_selector": superlink}], door)
        made.append(_skupper_policy(spec, "skupper-connector", skupper.LISTENER, skupper.ROUTER, egress=[way]))
    return made


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
            "podSelector": {"matchLabels": text_labels(pods)},
            "policyTypes": [kind for kind in ("Ingress", "Egress") if kind.lower() in rules],
            **rules,
        },
    }
