# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What works with the hub: Prometheus, the tracking server, the object storage, and the gateway that refuses denied sites."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from ..base.problems import Problem, warning
from ..kube.api_errors import NotServed
from ..kube.client import Cluster
from ..manifests import tracking as manifests
from ..manifests.exposure import exposure_of
from ..manifests.metrics_exporter import MONITOR, OPERATOR, RULES
from ..spec.hub_spec import HubSpec, host_and_port


def metrics(cluster: Cluster, spec: HubSpec) -> Iterator[Problem]:
    """Whether what is going to read the metrics is there, and can reach them."""
    try:
        for kind in (MONITOR, RULES) if spec.metrics.has_monitor else ():
            cluster.resource(OPERATOR, kind)
    except NotServed:
        yield Problem(
            f"superlink_metrics.monitor is true, and {cluster.name} has no {MONITOR} and {RULES} ({OPERATOR}): install the Prometheus "
            "operator, or set it to false and give Prometheus the pods and the alert rules yourself (the guide on metrics)"
        )
    if spec.metrics.enabled and spec.network_policies and not spec.monitoring_namespaces:
        yield warning(
            "superlink_metrics.enabled is true, and no namespace may read metrics: name that of Prometheus in flower_monitoring_namespaces, "
            "or allow it by your own policy"
        )


def exposure(spec: HubSpec) -> Iterator[Problem]:
    """Whether sites may not reach the address."""
    if spec.external_traffic_policy == "Local" and exposure_of(spec).needs_nodes(spec):
        yield warning(
            "superlink_external_traffic_policy: with Local only the node that runs the SuperLink's pod answers at the node port, and sites "
            "get the address of an arbitrary node. Set superlink_host to an address that leads to the pod's node, or remove the policy"
        )


def tracking_secret(spec: HubSpec, live: Mapping[str, Any] | None) -> Iterator[Problem]:
    """Why the ServerApp's pod cannot start with the Secret for the tracking server; C(live): the Secret in the cluster, or None."""
    own = spec.tracking
    other = ", or set superlink_tracking_credentials to have one created"
    return _secret(spec, "superlink_tracking", own.secret, (own.token_key, own.username_key, own.password_key), live, other)


def storage_secret(spec: HubSpec, live: Mapping[str, Any] | None) -> Iterator[Problem]:
    """Why the ServerApp's pod cannot start with the Secret for the object storage; C(live): the Secret in the cluster, or None."""
    own = spec.outputs_s3
    return _secret(spec, "superlink_outputs_s3", own.secret, (own.id_key, own.secret_key), live)


def _secret(spec: HubSpec, variable: str, name: str, keys: Iterable[str], live: Mapping[str, Any] | None, other: str = "") -> Iterator[Problem]:
    what = f"{variable}.secret: Secret {spec.namespace}/{name}"
    entries = (live or {}).get("data") or {}
    lacking = [key for key in keys if key and key not in entries]
    if live is None:
        yield Problem(f"{what} does not exist: create it{other}")
    elif lacking:
        yield Problem(f"{what} has no entry {' and no '.join(lacking)}: add it, or correct the names of the entries in {variable}")


def tracking(spec: HubSpec) -> Iterator[Problem]:
    """What of the tracking server is unsafe."""
    own = spec.tracking
    if not own.uri:
        return
    host, _port = own.endpoint
    if (own.secret or spec.tracking_credentials) and not own.is_encrypted and not manifests.service_namespace(host):
        yield warning(
            f"superlink_tracking.uri: {own.uri} has no TLS, so the credentials are sent to {host} in clear text with each request. Use https, "
            "or remove the credentials"
        )
    yield from _any_address(spec, "superlink_tracking", "uri", own.uri, own.egress)


def storage(spec: HubSpec) -> Iterator[Problem]:
    """What of the object storage is unsafe."""
    own = spec.outputs_s3
    if not own.endpoint:
        return
    host, _port = host_and_port(own.endpoint)
    if not own.endpoint.lower().startswith("https:") and not manifests.service_namespace(host):
        yield warning(f"superlink_outputs_s3.endpoint: {own.endpoint} has no TLS, so outputs of runs are sent to {host} in clear text. Use https")
    yield from _any_address(spec, "superlink_outputs_s3", "endpoint", own.endpoint, own.egress)


def _any_address(spec: HubSpec, variable: str, field: str, uri: str, egress: Sequence[Any]) -> Iterator[Problem]:
    if manifests.opens_everything(spec, uri, egress):
        host, port = host_and_port(uri)
        service = "" if host.count(".") > 1 and ".svc" not in host else " For a Service of the hub's cluster, write NAME.NAMESPACE.svc."
        yield warning(
            f"{variable}.{field}: network policies know no names, and {host} is one: apps of the hub may connect to any address on port "
            f"{port}. Name the server's addresses in {variable}.egress.{service}"
        )


def refused_sites(denials: Iterable[str], known: Collection[str], sites: Collection[str]) -> list[str]:
    """Names of the sites that the gateway has to refuse.

    Args:
        denials: names of the sites that are denied. One that left the fleet has no registered keys, and needs no refusal.
        known: names of the sites of which the ledger has a record, also one that cannot be read.
        sites: names of the sites of the inventory.
    """
    return [site for site in denials if site in known or site in sites]


def denials(spec: HubSpec, denied: Sequence[str]) -> Iterator[Problem]:
    """Whether the gateway can refuse denied sites, which it recognizes by their client certificates only; C(denied): see C(refused_sites)."""
    names = ", ".join(denied)
    if denied and spec.asks == "none":
        setting = "flower_insecure: true" if spec.insecure else f"superlink_client_certificates: {spec.client_certificates}"
        admit = json.dumps({"flower_site": list(denied), "flower_access": "admitted"})
        yield Problem(
            f"{setting}: the gateway would admit sites that are denied ({names}), since it recognizes them by their client certificates "
            "only. Keep superlink_client_certificates: required (flower_mtls: true); or forget these sites first (flower_forget_sites), which "
            f"unregisters their keys; or admit them first: federated.flower.site_access -e '{admit}'"
        )
    elif denied and spec.asks == "optional":
        yield warning(
            f"superlink_client_certificates is optional: sites that are denied ({names}) are refused only as long as they present their "
            "certificates, and can omit them. Set it to required"
        )
