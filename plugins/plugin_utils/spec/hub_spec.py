# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hub: SuperLink, gateway and ServerApp, its metrics, its tracking server and object storage, and what it uses of Open Cluster Management."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any
from urllib.parse import urlsplit

from ..base.certificate_names import certificate_names
from ..base.formats import duration
from ..base.object_names import FLEET_PORT
from .part_spec import (  # fmt: skip
    Amounts,
    Certificates,
    Flag,
    FlowerSpec,
    Labels,
    Limit,
    Listed,
    Mapped,
    MaybeNumber,
    Number,
    Parsed,
    PartSpec,
    Text,
    Texts,
    Unordered,
    UnorderedTexts,
    parsed,
)
from .pods_spec import PodsSpec

PORTS = {"http": 80, "https": 443}

PLACEMENTS, MANUAL = "Placements", "Manual"

CERT_MANAGER_GROUP = "cert-manager.io"


@dataclass(frozen=True)
class Metrics(Parsed):
    """The exporter.

    Attributes:
        image: its image; empty for the SuperLink's.
        acm: whether there is a list of metrics for the observability of Advanced Cluster Management.
        runs: whether it reads the logs of runs, for rounds and metrics.
        monitor: whether there are a PodMonitor and a PrometheusRule for the Prometheus operator.
        api_server: peers by which policies know the API server; empty for any address on the usual ports.
    """

    enabled: Flag = False
    image: Text = ""
    monitor: Flag = False
    acm: Flag = False
    runs: Flag = False
    resources: Amounts = field(default_factory=lambda: {"requests": {"cpu": "10m", "memory": "128Mi"}})
    api_server: Listed = field(default_factory=list)

    @property
    def has_monitor(self) -> bool:
        """Whether objects of the Prometheus operator are rendered."""
        return self.enabled and self.monitor


@dataclass(frozen=True)
class Tracking(Parsed):
    """The server; none if C(uri) is empty.

    Attributes:
        secret: existing Secret with the credentials, in the entries C(token_key), or C(username_key) and C(password_key).
        ca: certificates of the CA that signed the server's, PEM; empty for public CAs.
        egress: peers by which policies know the server; empty to derive them from C(uri).
    """

    uri: Text = ""
    secret: Text = ""
    token_key: Text = ""
    username_key: Text = ""
    password_key: Text = ""
    ca: Certificates = ""
    egress: Listed = field(default_factory=list)

    @property
    def is_encrypted(self) -> bool:
        """Whether the connection has TLS."""
        return urlsplit(self.uri).scheme == "https"

    @property
    def endpoint(self) -> tuple[str, int]:
        """Host and port of the server.

        Raises:
            ValueError: the URI has none.
        """
        return host_and_port(self.uri)


@dataclass(frozen=True)
class ObjectStorage(Parsed):
    """The S3-compatible storage to which outputs of runs are uploaded; none if C(endpoint) is empty.

    Attributes:
        endpoint: its URI.
        prefix: of all keys, without slashes at its ends; empty for the name of the federation.
        secret: existing Secret with the credentials, in the entries C(id_key) and C(secret_key).
        image: with rclone; empty for the upstream one.
        ca: certificates of the CA that signed the server's, PEM; empty for public CAs.
        egress: peers by which policies know the server; empty to derive them from C(endpoint).
    """

    endpoint: Text = ""
    bucket: Text = ""
    prefix: Text = ""
    region: Text = "us-east-1"
    secret: Text = ""
    id_key: Text = "AWS_ACCESS_KEY_ID"
    secret_key: Text = "AWS_SECRET_ACCESS_KEY"
    image: Text = ""
    ca: Certificates = ""
    egress: Listed = field(default_factory=list)
    resources: Amounts = field(default_factory=lambda: {"requests": {"cpu": "10m", "memory": "64Mi"}})


def host_and_port(uri: str) -> tuple[str, int]:
    """Those of a URI.

    Raises:
        ValueError: it has none.
    """
    parts = urlsplit(uri)
    return parts.hostname or "", parts.port or PORTS.get(parts.scheme, 0)


@dataclass(frozen=True)
class OcmUse(Parsed):
    """What a hub uses of Open Cluster Management.

    Attributes:
        ocm: whether it delivers to sites through it.
        install: whether Placements choose the sites.
    """

    ocm: Flag = False
    install: Text = PLACEMENTS
    bind_cluster_sets: Flag = True
    clientapps: Flag = False
    enable_gates: Flag = False

    @property
    def has_placements(self) -> bool:
        """Whether anything at all is brought by Placements: ClientApps of their own always are."""
        return self.ocm and (self.install == PLACEMENTS or self.clientapps)


@dataclass(frozen=True, kw_only=True)
class AddonSpec(PartSpec, OcmUse):
    """The add-on, of which each managed cluster gets one."""

    version: Text = field()  # in all labels
    name: Text = ""
    placement: Text = ""
    cluster_sets: Texts = field(default_factory=list)
    predicates: Listed = field(default_factory=list)
    number_of_clusters: Limit = None
    prioritizers: Listed = field(default_factory=list)
    spread: Listed = field(default_factory=list)
    decision_groups: Mapped = field(default_factory=dict)
    tolerations: Listed = field(default_factory=list)
    rollout: Mapped = field(default_factory=dict)
    policy_remediation: Text = "inform"
    ocm: Flag = True


@dataclass(frozen=True)
class ParentGateway(Parsed):
    """The Gateway to which a route is attached.

    Attributes:
        namespace: its namespace; empty for the SuperLink's.
        section: the listener; empty for all that take the route.
    """

    name: Text = ""
    namespace: Text = ""
    section: Text = ""


@dataclass(frozen=True)
class Issuer(Parsed):
    """The issuer of cert-manager that signs."""

    name: Text = ""
    kind: Text = "Issuer"
    group: Text = CERT_MANAGER_GROUP


def serverapp_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The ServerApp's variables, without their prefix."""
    shared = {key: value for key, value in given.items() if key == "runtime_dependency_installation"}
    return shared | {key.removeprefix("serverapp_"): value for key, value in given.items() if key.startswith("serverapp_")}


@dataclass(frozen=True)
class HubSpec(FlowerSpec, OcmUse):
    """The hub.

    Attributes:
        created_storage_size: that with which the volume of the database was created, found by C(actions/hub_certificates.py).
        route_api: apiVersion of a TLSRoute, found by the check of the hub.
        outputs_claim: an existing claim for outputs; empty for one that is created.
        outputs_min_free: quantity; with less room than that, no run is submitted.
        outputs_s3: object storage to which outputs of runs are uploaded.
        tracking: server to which ServerApps report, and C(tracking_credentials) the names of the credentials for it that are in variables.
        gateway_secret: Secret with the certificate that the gateway serves, and C(gateway_names) those in it; both are found by
            C(actions/hub_certificates.py).
    """

    pods: PodsSpec = field(default_factory=PodsSpec)
    serverapp: PodsSpec = field(default_factory=PodsSpec)
    storage_size: Text = ""
    created_storage_size: Text = ""
    storage_class: Text = ""
    storage_access_mode: Text = "ReadWriteOnce"
    outputs_enabled: Flag = False
    outputs_size: Text = "10Gi"
    outputs_storage_class: Text = ""
    outputs_claim: Text = ""
    outputs_min_free: Text = "0"
    outputs_resources: Amounts = field(default_factory=dict)
    outputs_s3: Annotated[ObjectStorage, parsed(ObjectStorage)] = ObjectStorage()
    tracking: Annotated[Tracking, parsed(Tracking)] = Tracking()
    tracking_credentials: Texts = field(default_factory=list)
    metrics: Annotated[Metrics, parsed(Metrics)] = Metrics()
    protect_runs: Flag = False
    exposure: Text = ""
    port: Number = FLEET_PORT
    node_port: MaybeNumber = None
    host: Text = ""
    service_labels: Labels = field(default_factory=dict)
    service_annotations: Labels = field(default_factory=dict)
    external_traffic_policy: Text = ""
    load_balancer_class: Text = ""
    load_balancer_source_ranges: UnorderedTexts = field(default_factory=list)
    gateway: Annotated[ParentGateway, parsed(ParentGateway)] = ParentGateway()
    route_api: Text = "gateway.networking.k8s.io/v1"
    ingress_class: Text = ""
    ingress_annotations: Labels = field(default_factory=dict)
    route_annotations: Labels = field(default_factory=dict)
    gateway_image: Text = ""
    gateway_resources: Amounts = field(default_factory=dict)
    gateway_max_connections: Number = 2000
    gateway_max_body_bytes: Number = 8388608
    gateway_max_site_calls: Number = 64
    gateway_source_rate: Number = 0
    gateway_denied_sources: Texts = field(default_factory=list)
    gateway_access_log: Flag = False
    gateway_secret: Text = ""
    gateway_names: Texts = field(default_factory=list)
    client_certificates: Text = "required"
    certificates_source: Text = ""
    certificate_secret: Text = ""
    certificate_names: Texts = field(default_factory=list)
    certificate_internal_names: Flag = True
    certificate_days: Number = 90
    renew_before: Annotated[datetime.timedelta | None, duration] = None
    issuer: Annotated[Issuer, parsed(Issuer)] = Issuer()
    allowed_sources: Unordered = field(default_factory=list)
    serverapp_egress: Unordered = field(default_factory=list)

    @classmethod
    def parse(cls, given: Mapping[str, Any], **more: Any) -> HubSpec:
        """See C(Parsed). Its rules are in checks/hub_rules.py."""
        return super().parse(given, pods=PodsSpec.parse(given), serverapp=PodsSpec.parse(serverapp_of(given)), **more)

    @property
    def asks(self) -> str:
        """Whether the port for sites requests client certificates: C(required), C(optional) or C(none)."""
        return "none" if self.insecure else self.client_certificates

    @property
    def gateway_namespace(self) -> str:
        """The namespace of the Gateway to which a route is attached."""
        return self.gateway.namespace or self.namespace

    def names_of_certificate(self, must: Iterable[str] = ()) -> list[str]:
        """Names in a certificate of the gateway, DNS names first.

        Without C(certificate_internal_names) only those that sites verify and C(certificate_names): public CAs sign no others.

        Args:
            must: the names that sites verify.
        """
        own: list[str] = []
        if self.certificate_internal_names:
            own = [self.fixed_name, "superlink", f"superlink.{self.namespace}.svc"]
            own += [self.server_name, self.host, self.superlink_address]
        found = certificate_names([*own, *must, *self.certificate_names])
        return [*found["dns"], *found["ip"]]
