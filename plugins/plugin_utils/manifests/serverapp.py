# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ServerApp's pod, with process isolation: a SuperExec that reaches Runtime calls through the gateway and no more."""

from __future__ import annotations

from ..base.labels import selector
from ..base.ports import RUNTIME_PORT
from ..base.values import Object
from ..spec.hub_spec import HubSpec
from . import superexec
from .exposure import RUNTIME_SERVICE
from .objects import metadata, service_account
from .pod import mount, pod_template, secret_volume

NAME = "serverapp"


def objects(spec: HubSpec) -> list[Object]:
    """ServiceAccount and Deployment; nothing with subprocess isolation, where SuperLink starts ServerApps itself."""
    if not spec.is_process:
        return []
    return [service_account(spec, NAME), deployment(spec)]


def deployment(spec: HubSpec) -> Object:
    """One SuperExec, replaced and never doubled."""
    own = spec.serverapp
    runtime = [
        "--runtime-api-address",
        f"{RUNTIME_SERVICE}:{RUNTIME_PORT}",
        "--root-certificates",
        "/internal-ca/ca.crt",
    ]
    trust = [mount("internal-ca", "/internal-ca")]
    template = pod_template(
        spec,
        NAME,
        own,
        containers=[superexec.container(spec, own, runtime, mounts=trust, failures=6)],
        volumes=[
            secret_volume("internal-ca", "superlink-internal", keys=["ca.crt"]),
            secret_volume("superexec", "superlink-superexec"),
            *superexec.compute_volumes(own),
        ],
        runtime_class=own.gpu.runtime_class,
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(spec, NAME, NAME),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": selector(spec.federation, NAME)},
            "template": template,
        },
    }
