# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The hub: SuperLink, gateway and ServerApp."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from ..base.certificate_names import certificate_names
from ..base.ports import FLEET_PORT
from ..base.times import duration
from .addon_spec import OcmUse
from .fields import (
    Amounts,
    Flag,
    Labels,
    MaybeNumber,
    Number,
    Parsed,
    Text,
    Texts,
    Unordered,
    UnorderedTexts,
)  # fmt: skip
from .metrics_spec import Metrics, MetricsOf
from .part_spec import FlowerSpec
from .pods_spec import PodsSpec
from .tracking_spec import Tracking, TrackingServer

SERVERAPP = "serverapp_"
CERT_MANAGER_GROUP = "cert-manager.io"


@dataclass(frozen=True)
class Issuer(Parsed):
    """The issuer of cert-manager that signs."""

    name: Text = ""
    kind: Text = "Issuer"
    group: Text = CERT_MANAGER_GROUP


_Issuer = Annotated[Issuer, lambda value: Issuer.parse(value or {})]


def serverapp_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The ServerApp's variables, without their prefix."""
    shared = {key: given[key] for key in ("runtime_dependency_installation",) if key in given}
    return shared | {key[len(SERVERAPP) :]: value for key, value in given.items() if key.startswith(SERVERAPP)}


@dataclass(frozen=True)
class HubSpec(FlowerSpec, OcmUse):
    """The hub.

    Attributes:
        made_storage_size: that with which the volume of the database was made, found by the action C(certificates).
        outputs_claim: an existing claim for outputs; empty for one that is created.
        outputs_min_free: quantity; with less room than that, no run is submitted.
        tracking: server to which ServerApps report, and C(tracking_credentials) the names of the credentials for it that are in variables.
        gateway_secret: Secret with the certificate that the gateway serves, and C(gateway_names) those in it; both are found by the
            action C(certificates).
    """

    pods: PodsSpec = field(default_factory=PodsSpec)
    serverapp: PodsSpec = field(default_factory=PodsSpec)
    storage_size: Text = ""
    made_storage_size: Text = ""
    storage_class: Text = ""
    storage_access_mode: Text = "ReadWriteOnce"
    outputs_enabled: Flag = False
    outputs_size: Text = "10Gi"
    outputs_storage_class: Text = ""
    outputs_claim: Text = ""
    outputs_min_free: Text = "0"
    outputs_resources: Amounts = field(default_factory=dict)
    tracking: TrackingServer = Tracking()
    tracking_credentials: Texts = field(default_factory=list)
    metrics: MetricsOf = Metrics()
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
    issuer: _Issuer = Issuer()
    allowed_sources: Unordered = field(default_factory=list)
    serverapp_egress: Unordered = field(default_factory=list)

    @classmethod
    def parse(cls, given: Mapping[str, Any], **more: Any) -> HubSpec:
        """See C(Parsed). Faults of variables are in validate/superlink_faults.py."""
        return super().parse(given, pods=PodsSpec.parse(given), serverapp=PodsSpec.parse(serverapp_of(given)), **more)

    @property
    def asks(self) -> str:
        """Whether the port for sites requests client certificates: C(required), C(optional) or C(none)."""
        return "none" if self.insecure else self.client_certificates

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
