# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of a ClientApp SuperExec, in the SuperNode's pod or in one of its own.

Keys of a pool used here (see supernode.py): C(superexec_image), C(superexec_resources), C(superexec_extra_args), C(env),
C(gpu), C(volumes), C(volume_mounts), C(shm_size), C(runtime_dependency_installation).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..base.ports import SUPEREXEC_HEALTH_PORT
from ..base.values import Object, Spec, boolean, compact, text
from . import gpu
from .pod import (
    container_security_context,
    flower_env,
    grpc_probes,
    image,
    merge_env,
    mount,
    scratch_volume,
    secret_volume,
)

SECRET = "supernode-superexec"


def container(
    spec: Spec,
    pool: Mapping[str, Any],
    runtime: Iterable[str],
    *,
    env: Iterable[Object] = (),
    mounts: Iterable[Object] = (),
) -> Object:
    """The container.

    :arg runtime: arguments that say where the SuperNode's Runtime API is, and how it is trusted.
    :arg env: variables that these arguments refer to.
    :arg mounts: what they need besides.
    """
    args = [
        *runtime,
        "--superexec-auth-secret-file", "/superexec/secret",
        "--health-server-address", f"0.0.0.0:{SUPEREXEC_HEALTH_PORT}",
    ]  # fmt: skip
    if boolean(pool.get("runtime_dependency_installation")):
        args.append("--allow-runtime-dependency-installation")
    return compact(
        {
            "name": "superexec",
            "image": image(spec, "superexec", pool.get("superexec_image")),
            "imagePullPolicy": spec.get("image_pull_policy"),
            "args": args + [text(arg) for arg in pool.get("superexec_extra_args") or []],
            "env": merge_env(env, flower_env(spec, "/tmp"), pool.get("env")),
            "resources": gpu.with_devices(pool.get("superexec_resources"), pool.get("gpu")),
            "securityContext": container_security_context(),
            **grpc_probes(SUPEREXEC_HEALTH_PORT, failures=3),
            "volumeMounts": [*mounts, mount("superexec", "/superexec"), *compute_mounts(pool)],
        }
    )


def secret() -> Object:
    """The volume with the secret that SuperNode and SuperExec share."""
    return secret_volume("superexec", SECRET)


def compute_mounts(pool: Mapping[str, Any]) -> list[Object]:
    """Mounts of the container that computes."""
    mounts = [mount("tmp", "/tmp", read_only=False)]
    if pool.get("shm_size"):
        mounts.append(mount("shm", "/dev/shm", read_only=False))
    return mounts + (pool.get("volume_mounts") or [])


def compute_volumes(pool: Mapping[str, Any]) -> list[Object]:
    """Volumes of its pod."""
    volumes = [scratch_volume("tmp")]
    if pool.get("shm_size"):
        volumes.append(scratch_volume("shm", size=pool["shm_size"], memory=True))
    return volumes + (pool.get("volumes") or [])
