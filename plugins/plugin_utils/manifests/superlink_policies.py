# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Allowed connections of the hub, see C(policy_rules.py)."""

from __future__ import annotations

from ..base.addresses import is_ip
from ..base.labels import own_pods
from ..base.names import METRICS
from ..base.object_names import SERVERAPP, SUPERLINK
from ..base.ports import FLEET_PORT, METRICS_CONTROL_PORT, METRICS_PORT, RUNTIME_PORT
from ..base.values import Object
from ..spec.hub_spec import HubSpec
from . import tracking
from .policy_rules import (
    api_server_rules,
    default_deny,
    egress_rules,
    monitoring,
    pod_policy,
    policy_port,
    policy_rule,
    scraping,
)


def superlink_objects(spec: HubSpec) -> list[Object]:
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
    app_egress = [*egress_rules(spec.serverapp_egress), *_tracking(spec)]
    policies = [
        *default_deny(spec, SUPERLINK),
        pod_policy(
            spec,
            SUPERLINK,
            ingress=[*ingress, *monitoring(spec)],
            egress=[*egress_rules(spec.dns), *([] if spec.is_process else app_egress)],
        ),
    ]
    if spec.is_process:
        runtime = policy_rule("to", [{"pod_selector": own_pods(spec.federation, SUPERLINK)}], [policy_port(RUNTIME_PORT)])
        policies.append(
            pod_policy(spec, SERVERAPP, ingress=[], egress=[*egress_rules(spec.dns), runtime, *app_egress])
        )
    if spec.metrics.enabled:
        door = policy_rule("to", [{"pod_selector": own_pods(spec.federation, SUPERLINK)}], [policy_port(METRICS_CONTROL_PORT)])
        egress = [*egress_rules(spec.dns), door, *api_server_rules(spec.metrics.api_server)]
        policies.append(pod_policy(spec, METRICS, ingress=scraping(spec, METRICS_PORT), egress=egress))
    return policies


def _tracking(spec: HubSpec) -> list[Object]:
    """The rules for connections to the tracking server, derived from its URI unless they are given."""
    own = spec.tracking
    if not own.uri:
        return []
    if own.egress:
        return egress_rules(own.egress)
    host, port = own.endpoint
    if is_ip(host):
        return [policy_rule("to", [{"cidr": host}], [policy_port(port)])]
    if namespace := tracking.service_namespace(host):
        # A Service's port is translated before the policy of the receiving pod looks, and it is not known here.
        return [policy_rule("to", [{"namespace": namespace}], [])]
    return [policy_rule("to", [], [policy_port(port)])]  # the addresses of a name are not known here
