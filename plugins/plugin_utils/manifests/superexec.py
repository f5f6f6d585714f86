# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""SuperExecs, which start the processes of apps: their container, and what apps have in it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.object_names import SUPEREXEC, SUPEREXEC_HEALTH_PORT, SUPEREXEC_SECRET
from ..base.values import Object, compact
from ..spec.part_spec import FlowerSpec, merge_env
from ..spec.pods_spec import PodsSpec
from . import datasets
from .pod import (
    AppParts,
    container_security_context,
    flower_env,
    grpc_probes,
    image,
    mount,
    past_proxy,
    scratch_volume,
    secret_volume,
)

NAME = SUPEREXEC  # of the container


def container(
    spec: FlowerSpec,
    pods: PodsSpec,
    runtime: Sequence[str],
    *,
    env: Iterable[Object] = (),
    mounts: Iterable[Object] = (),
    failures: int = 3,
) -> Object:
    """The container.

    Args:
        pods: its settings.
        runtime: arguments with the address of the Runtime API, the first of which is its option, and how it is trusted.
        env: variables that these arguments refer to.
        mounts: what they need besides.
        failures: failed liveness checks before it is restarted.
    """
    args = [
        *runtime,
        "--superexec-auth-secret-file", "/superexec/secret",
        "--health-server-address", f"0.0.0.0:{SUPEREXEC_HEALTH_PORT}",
    ]  # fmt: skip
    if pods.runtime_dependency_installation:
        args.append("--allow-runtime-dependency-installation")
    peer = f"{'http' if '--insecure' in runtime else 'https'}://{runtime[1].rpartition(':')[0]}"
    parts = compute_parts(pods)
    return compact(
        {
            "name": NAME,
            "image": image(spec, "superexec", pods.image),
            "imagePullPolicy": spec.image_pull_policy,
            "args": args + pods.extra_args,
            "lifecycle": pods.lifecycle,
            "env": past_proxy(merge_env(env, flower_env(spec, "/tmp"), parts.env, pods.env), peer),
            "resources": pods.gpu.added_to(pods.resources),
            "securityContext": container_security_context(),
            **grpc_probes(SUPEREXEC_HEALTH_PORT, failures=failures),
            "volumeMounts": [*mounts, mount("superexec", "/superexec"), *parts.mounts],
        }
    )


def secret() -> Object:
    """The volume with the secret that SuperNode and SuperExec share."""
    return secret_volume("superexec", SUPEREXEC_SECRET)


def compute_parts(pods: PodsSpec) -> AppParts:
    """What the container that computes has, and its pod: scratch and shared memory, datasets, devices, and the user's volumes."""
    data = datasets.parts(pods)
    mounts, volumes = [mount("tmp", "/tmp", read_only=False)], [scratch_volume("tmp")]
    if pods.shm_size:
        mounts.append(mount("shm", "/dev/shm", read_only=False))
        volumes.append(scratch_volume("shm", size=pods.shm_size, memory=True))
    return AppParts(data.env + pods.gpu.env(), mounts + data.mounts + pods.volume_mounts, volumes + data.volumes + pods.volumes)
