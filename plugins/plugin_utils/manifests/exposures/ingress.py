# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""An Ingress whose controller passes TLS through to the gateway."""

from __future__ import annotations

from ...base.certificate_names import next_server_name
from ...base.values import Object, compact
from ...spec.hub_spec import HubSpec
from ..common_objects import metadata
from .base_exposure import ROUTED_PORT, SERVICE, Exposure, Live, join


class Ingress(Exposure):
    """See C(base_exposure.Exposure). Annotations tell the controller to pass TLS through."""

    name = "ingress"
    options = ("ingress_class",)
    passes_tls = True
    needs_host = True

    def objects(self, spec: HubSpec) -> list[Object]:
        """See C(Exposure). It also routes a second name to the gateway, under which sites test the next CA's certificate."""
        backend = {"service": {"name": SERVICE, "port": {"name": "fleet"}}}
        hosts = [spec.host, next_server_name(spec.host)]
        return [
            {
                "apiVersion": "networking.k8s.io/v1",
                "kind": "Ingress",
                "metadata": metadata(spec, SERVICE, "superlink", annotations=spec.ingress_annotations),
                "spec": compact(
                    {
                        "ingressClassName": spec.ingress_class,
                        "rules": [
                            {"host": host, "http": {"paths": [{"path": "/", "pathType": "Prefix", "backend": backend}]}}
                            for host in hosts
                        ],
                        "tls": [{"hosts": hosts}],
                    }
                ),
            }
        ]

    def address(self, spec: HubSpec, live: Live) -> str:
        """See C(Exposure)."""
        return join(spec.host, ROUTED_PORT)
