# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Allowed connections of a site, see C(policy_rules.py).

With the C(connectivity) skupper it reaches the SuperLink through the pods of Skupper's router in its own namespace.
"""

from __future__ import annotations

from ..base.addresses import is_ip, split_address
from ..base.labels import own_pods
from ..base.names import CLIENTAPP
from ..base.object_names import SKUPPER_ROUTER, SUPERLINK, SUPERNODE
from ..base.ports import FLEET_PORT, NODE_LISTENER_PORT
from ..base.values import Object
from ..spec.part_spec import SKUPPER
from ..spec.site_spec import SiteSpec
from .policy_rules import default_deny, egress_rules, monitoring, pod_policy, policy_port, policy_rule


def supernode_objects(spec: SiteSpec) -> list[Object]:
    """The policies of a site's namespace. SuperNodes call the hub; only ClientApps in their own pods call them."""
    if not spec.network_policies:
        return []
    door = [policy_port(NODE_LISTENER_PORT)]
    names, more = egress_rules(spec.dns), egress_rules(spec.egress)
    ingress = monitoring(spec) if spec.has_sidecar else []
    apps = []
    if spec.has_apps_apart:
        # What else may be called is for the code that computes.
        ingress = [policy_rule("from", [{"pod_selector": own_pods(spec.federation, CLIENTAPP)}], door), *ingress]
        runtime = policy_rule("to", [{"pod_selector": own_pods(spec.federation, SUPERNODE)}], door)
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
    if spec.has_proxy:
        host, port = split_address(spec.http_proxy.address)
        networks = spec.http_proxy.cidrs or ([host] if is_ip(host) else [])
        return policy_rule("to", [{"cidr": network} for network in networks], [policy_port(port)])
    host, port = split_address(spec.superlink_address)
    networks = spec.superlink_cidrs or ([host] if is_ip(host) else [])
    return policy_rule("to", [{"cidr": network} for network in networks], [policy_port(port)])
