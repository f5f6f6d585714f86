# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of a SuperExec: of ClientApps, in the SuperNode's pod or in a separate one, and of the ServerApp."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..base.object_names import SUPEREXEC, SUPEREXEC_SECRET
from ..base.ports import SUPEREXEC_HEALTH_PORT
from ..base.values import Object, compact
from ..spec.fields import merge_env
from ..spec.part_spec import FlowerSpec
from ..spec.pods_spec import PodsSpec
from . import datasets
from .pod import (
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
    made = merge_env(env, flower_env(spec, "/tmp"), datasets.env(pods), pods.gpu.env(), pods.env)
    return compact(
        {
            "name": NAME,
            "image": image(spec, "superexec", pods.image),
            "imagePullPolicy": spec.image_pull_policy,
            "args": args + pods.extra_args,
            "lifecycle": pods.lifecycle,
            "env": past_proxy(made, peer),
            "resources": pods.gpu.added_to(pods.resources),
            "securityContext": container_security_context(),
            **grpc_probes(SUPEREXEC_HEALTH_PORT, failures=failures),
            "volumeMounts": [*mounts, mount("superexec", "/superexec"), *compute_mounts(pods)],
        }
    )


def secret() -> Object:
    """The volume with the secret that SuperNode and SuperExec share."""
    return secret_volume("superexec", SUPEREXEC_SECRET)


def compute_mounts(pods: PodsSpec) -> list[Object]:
    """Mounts of the container that computes."""
    mounts = [mount("tmp", "/tmp", read_only=False)]
    if pods.shm_size:
        mounts.append(mount("shm", "/dev/shm", read_only=False))
    return mounts + datasets.mounts(pods) + pods.volume_mounts


def compute_volumes(pods: PodsSpec) -> list[Object]:
    """Volumes of its pod."""
    volumes = [scratch_volume("tmp")]
    if pods.shm_size:
        volumes.append(scratch_volume("shm", size=pods.shm_size, memory=True))
    return volumes + datasets.volumes(pods) + pods.volumes
