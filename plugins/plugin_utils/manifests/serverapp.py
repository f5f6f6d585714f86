# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ServerApp's pod, with process isolation: a SuperExec that reaches Runtime calls through the gateway and no more."""

from __future__ import annotations

from ..base.labels import selector
from ..base.object_names import RUNTIME_PORT, SERVERAPP, SERVERAPP_POD
from ..base.values import Object
from ..spec.hub_spec import HubSpec
from . import clientapp, outputs, tracking
from .common_objects import metadata, service_account
from .exposure import RUNTIME_SERVICE
from .pod import mount, pod_template, secret_volume

NAME = SERVERAPP
POD = SERVERAPP_POD  # where outputs are kept


def objects(spec: HubSpec) -> list[Object]:
    """ServiceAccount and workload; nothing with subprocess isolation, where SuperLink starts ServerApps itself."""
    if not spec.is_process:
        return []
    return [service_account(spec, NAME), workload(spec)]


def workload(spec: HubSpec) -> Object:
    """One SuperExec, replaced and never doubled.

    Where outputs are kept it is a StatefulSet: rights on its pod can then be limited to its name.
    """
    if spec.outputs_enabled:
        return stateful_set(spec)
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(spec, NAME, NAME),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": selector(spec.federation, NAME)},
            "template": template(spec),
        },
    }


def stateful_set(spec: HubSpec) -> Object:
    """The same with outputs."""
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(spec, NAME, NAME),
        "spec": {
            "replicas": 1,
            "serviceName": NAME,
            # Without it, a pod that never becomes ready is not replaced when the template is corrected.
            "podManagementPolicy": "Parallel",
            "selector": {"matchLabels": selector(spec.federation, NAME)},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": template(spec),
        },
    }


def template(spec: HubSpec) -> Object:
    """The pod: SuperExec and, where outputs are kept, their reader."""
    own = spec.serverapp
    runtime = [
        "--runtime-api-address",
        f"{RUNTIME_SERVICE}:{RUNTIME_PORT}",
        "--root-certificates",
        "/internal-ca/ca.crt",
    ]
    env = [*outputs.env(spec), *tracking.env(spec)]
    mounts = [mount("internal-ca", "/internal-ca"), *outputs.mounts(spec), *tracking.mounts(spec)]
    return pod_template(
        spec,
        NAME,
        own,
        containers=[
            {**clientapp.superexec_container(spec, own, runtime, env=env, mounts=mounts, failures=6), **outputs.command(spec, "flower-superexec")},
            *outputs.readers(spec),
        ],
        volumes=[
            secret_volume("internal-ca", "superlink-internal", keys=["ca.crt"]),
            secret_volume("superexec", "superlink-superexec"),
            *outputs.volumes(spec),
            *tracking.volumes(spec),
            *clientapp.compute_volumes(own),
        ],
        runtime_class=own.gpu.runtime_class,
    )
