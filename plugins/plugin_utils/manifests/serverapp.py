# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ServerApp's pod, with process isolation: a SuperExec that reaches Runtime calls through the gateway and no more."""

from __future__ import annotations

from ..base.labels import selector
from ..base.object_names import RUNTIME_PORT, SERVERAPP, SERVERAPP_POD
from ..base.values import Object
from ..spec.hub_spec import HubSpec
from . import outputs, superexec, tracking
from .common_objects import api_object, service_account
from .exposure import RUNTIME_SERVICE
from .pod import AppParts, mount, pod_template, secret_volume

NAME = SERVERAPP
POD = SERVERAPP_POD  # where outputs are kept


def app_parts(spec: HubSpec) -> AppParts:
    """What outputs and tracking add to the container that computes: SuperExec, or SuperLink with subprocess isolation."""
    kept, tracked = outputs.app_parts(spec), tracking.app_parts(spec)
    return AppParts(kept.env + tracked.env, kept.mounts + tracked.mounts, kept.volumes + tracked.volumes)


def objects(spec: HubSpec) -> list[Object]:
    """ServiceAccount and one SuperExec, replaced and never doubled; nothing with subprocess isolation, where SuperLink starts ServerApps itself.

    Where outputs are kept the SuperExec is a StatefulSet: rights on its pod can then be limited to its name.
    """
    if not spec.is_process:
        return []
    chosen = {"selector": {"matchLabels": selector(spec.federation, NAME)}}
    if spec.outputs_enabled:
        kind = "StatefulSet"
        # Not parallel, a pod that never becomes ready is not replaced when the template is corrected.
        body = {"replicas": 1, "serviceName": NAME, "podManagementPolicy": "Parallel", **chosen, "updateStrategy": {"type": "RollingUpdate"}}
    else:
        kind, body = "Deployment", {"replicas": 1, "strategy": {"type": "Recreate"}, **chosen}
    own, parts = spec.serverapp, app_parts(spec)
    runtime = ["--runtime-api-address", f"{RUNTIME_SERVICE}:{RUNTIME_PORT}", "--root-certificates", "/internal-ca/ca.crt"]
    mounts = [mount("internal-ca", "/internal-ca"), *parts.mounts]
    template = pod_template(
        spec,
        NAME,
        own,
        containers=[
            {**superexec.container(spec, own, runtime, env=parts.env, mounts=mounts, failures=6), **outputs.command(spec, "flower-superexec")},
            *outputs.readers(spec),
        ],
        volumes=[
            secret_volume("internal-ca", "superlink-internal", keys=["ca.crt"]),
            secret_volume("superexec", "superlink-superexec"),
            *parts.volumes,
            *superexec.compute_parts(own).volumes,
        ],
        runtime_class=own.gpu.runtime_class,
    )
    return [service_account(spec, NAME), api_object(spec, f"apps/v1/{kind}", NAME, NAME, {"spec": {**body, "template": template}})]
