# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ServerApp's pod, with process isolation: a SuperExec that reaches Runtime calls through the gateway and no more."""

from __future__ import annotations

from ..base.labels import selector
from ..base.ports import RUNTIME_PORT, SUPEREXEC_HEALTH_PORT
from ..base.values import Object, compact
from ..spec.fields import merge_env
from ..spec.hub_spec import HubSpec
from .exposure import RUNTIME_SERVICE
from .objects import metadata, service_account
from .pod import (
    container_security_context,
    flower_env,
    grpc_probes,
    image,
    mount,
    pod_template,
    scratch_volume,
    secret_volume,
)

NAME = "serverapp"


def objects(spec: HubSpec) -> list[Object]:
    """ServiceAccount and Deployment; nothing with subprocess isolation, where SuperLink starts ServerApps itself."""
    if not spec.is_process:
        return []
    return [service_account(spec, NAME), deployment(spec)]


def deployment(spec: HubSpec) -> Object:
    """One SuperExec, replaced and never doubled."""
    own = spec.serverapp
    args = [
        "--runtime-api-address", f"{RUNTIME_SERVICE}:{RUNTIME_PORT}",
        "--root-certificates", "/internal-ca/ca.crt",
        "--superexec-auth-secret-file", "/superexec/secret",
        "--health-server-address", f"0.0.0.0:{SUPEREXEC_HEALTH_PORT}",
    ]  # fmt: skip
    if spec.runtime_dependency_installation:
        args.append("--allow-runtime-dependency-installation")
    mounts = [
        mount("internal-ca", "/internal-ca"),
        mount("superexec", "/superexec"),
        mount("tmp", "/tmp", read_only=False),
    ]
    volumes = [
        secret_volume("internal-ca", "superlink-internal", keys=["ca.crt"]),
        secret_volume("superexec", "superlink-superexec"),
        scratch_volume("tmp"),
    ]
    if own.shm_size:
        mounts.append(mount("shm", "/dev/shm", read_only=False))
        volumes.append(scratch_volume("shm", size=own.shm_size, memory=True))
    container = compact(
        {
            "name": "superexec",
            "image": image(spec, "superexec", own.image),
            "imagePullPolicy": spec.image_pull_policy,
            "args": args + own.extra_args,
            "env": merge_env(flower_env(spec, "/tmp"), own.env),
            "resources": own.gpu.added_to(own.resources),
            "securityContext": container_security_context(),
            **grpc_probes(SUPEREXEC_HEALTH_PORT, failures=6),
            "volumeMounts": mounts + own.volume_mounts,
        }
    )
    template = pod_template(
        spec, NAME, own, containers=[container], volumes=volumes + own.volumes, runtime_class=own.gpu.runtime_class
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
