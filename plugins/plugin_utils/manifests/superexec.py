# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The container of a ClientApp SuperExec, in the SuperNode's pod or in a separate one."""

from __future__ import annotations

from collections.abc import Iterable

from ..base.ports import SUPEREXEC_HEALTH_PORT
from ..base.values import Object, compact
from ..spec.fields import merge_env
from ..spec.pool_spec import PoolSpec
from ..spec.site_spec import SiteSpec
from .pod import container_security_context, flower_env, grpc_probes, image, mount, scratch_volume, secret_volume

SECRET = "supernode-superexec"


def container(
    spec: SiteSpec, pool: PoolSpec, runtime: Iterable[str], *, env: Iterable[Object] = (), mounts: Iterable[Object] = ()
) -> Object:
    """The container.

    Args:
        runtime: arguments with the address of the SuperNode's Runtime API, and how it is trusted.
        env: variables that these arguments refer to.
        mounts: what they need besides.
    """
    args = [
        *runtime,
        "--superexec-auth-secret-file", "/superexec/secret",
        "--health-server-address", f"0.0.0.0:{SUPEREXEC_HEALTH_PORT}",
    ]  # fmt: skip
    if pool.runtime_dependency_installation:
        args.append("--allow-runtime-dependency-installation")
    return compact(
        {
            "name": "superexec",
            "image": image(spec, "superexec", pool.superexec_image),
            "imagePullPolicy": spec.image_pull_policy,
            "args": args + pool.superexec_extra_args,
            "env": merge_env(env, flower_env(spec, "/tmp"), pool.env),
            "resources": pool.gpu.added_to(pool.superexec_resources),
            "securityContext": container_security_context(),
            **grpc_probes(SUPEREXEC_HEALTH_PORT, failures=3),
            "volumeMounts": [*mounts, mount("superexec", "/superexec"), *compute_mounts(pool)],
        }
    )


def secret() -> Object:
    """The volume with the secret that SuperNode and SuperExec share."""
    return secret_volume("superexec", SECRET)


def compute_mounts(pool: PoolSpec) -> list[Object]:
    """Mounts of the container that computes."""
    mounts = [mount("tmp", "/tmp", read_only=False)]
    if pool.shm_size:
        mounts.append(mount("shm", "/dev/shm", read_only=False))
    return mounts + pool.volume_mounts


def compute_volumes(pool: PoolSpec) -> list[Object]:
    """Volumes of its pod."""
    volumes = [scratch_volume("tmp")]
    if pool.shm_size:
        volumes.append(scratch_volume("shm", size=pool.shm_size, memory=True))
    return volumes + pool.volumes
