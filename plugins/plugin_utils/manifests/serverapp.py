# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The ServerApp's pod, with process isolation: a SuperExec that reaches Runtime calls through the gateway and no more.

Keys of the superlink spec used here, all beginning with C(serverapp_): C(image), C(resources), C(gpu), C(shm_size),
C(env), C(extra_args), C(volumes), C(volume_mounts), C(node_selector), C(tolerations), C(affinity), C(priority_class),
C(pod_labels), C(pod_annotations); and C(runtime_dependency_installation).
"""

from __future__ import annotations

from ..base.labels import selector
from ..base.ports import RUNTIME_PORT, SUPEREXEC_HEALTH_PORT
from ..base.values import Object, Spec, boolean, compact, text
from . import gpu
from .exposure import RUNTIME_SERVICE
from .objects import metadata, service_account
from .pod import (
    container_security_context,
    flower_env,
    grpc_probes,
    image,
    merge_env,
    mount,
    pod_spec,
    pod_template,
    scratch_volume,
    secret_volume,
)

NAME = "serverapp"


def objects(spec: Spec) -> list[Object]:
    """ServiceAccount and Deployment; nothing with subprocess isolation, where SuperLink starts ServerApps itself."""
    if spec["isolation"] != "process":
        return []
    return [service_account(spec, NAME), deployment(spec)]


def deployment(spec: Spec) -> Object:
    """One SuperExec, replaced and never doubled."""
    own = {key[len("serverapp_") :]: value for key, value in spec.items() if key.startswith("serverapp_")}
    args = [
        "--runtime-api-address", f"{RUNTIME_SERVICE}:{RUNTIME_PORT}",
        "--root-certificates", "/internal-ca/ca.crt",
        "--superexec-auth-secret-file", "/superexec/secret",
        "--health-server-address", f"0.0.0.0:{SUPEREXEC_HEALTH_PORT}",
    ]  # fmt: skip
    if boolean(spec.get("runtime_dependency_installation")):
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
    if own.get("shm_size"):
        mounts.append(mount("shm", "/dev/shm", read_only=False))
        volumes.append(scratch_volume("shm", size=own["shm_size"], memory=True))
    container = compact(
        {
            "name": "superexec",
            "image": image(spec, "superexec", own.get("image")),
            "imagePullPolicy": spec.get("image_pull_policy"),
            "args": args + [text(arg) for arg in own.get("extra_args") or []],
            "env": merge_env(flower_env(spec, "/tmp"), own.get("env")),
            "resources": gpu.with_devices(own.get("resources"), own.get("gpu")),
            "securityContext": container_security_context(),
            **grpc_probes(SUPEREXEC_HEALTH_PORT, failures=6),
            "volumeMounts": mounts + (own.get("volume_mounts") or []),
        }
    )
    pod = pod_spec(
        spec,
        own,
        service_account_name=NAME,
        containers=[container],
        volumes=volumes + (own.get("volumes") or []),
        runtime_class=gpu.runtime_class(own.get("gpu")),
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": metadata(spec, NAME, NAME),
        "spec": {
            "replicas": 1,
            "strategy": {"type": "Recreate"},
            "selector": {"matchLabels": selector(spec, NAME)},
            "template": pod_template(
                spec, NAME, pod, pod_labels=own.get("pod_labels"), pod_annotations=own.get("pod_annotations")
            ),
        },
    }
