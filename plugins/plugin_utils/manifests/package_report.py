# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""An init container that reports which packages the image of a pod's ClientApps holds, in the status of the pod.

For sites in whose pods no program can be executed: behind Open Cluster Management, or where exec is not granted. It needs no rights: the
kubelet reads the termination message, and an agent reports it. It never keeps a pod from starting, as long as the image has Python.
"""

from __future__ import annotations

import inspect

from ..base import package_program
from ..base.object_names import PACKAGE_REPORT
from ..base.values import Object, compact
from ..spec.fields import merge_env
from ..spec.pool_spec import PoolSpec
from ..spec.site_spec import SiteSpec
from . import superexec
from .pod import container_security_context, flower_env

NAME = PACKAGE_REPORT
_FILE = "/dev/termination-log"  # Kubernetes' default
# Bytes of a container's termination message, and of all of a pod, of which each container has the same part (Kubernetes,
# "Determine the Reason for Pod Failure").
_ONE_MESSAGE, _ALL_MESSAGES = 4096, 12288


def init_containers(spec: SiteSpec, pool: PoolSpec, others: int) -> list[Object]:
    """The init container of the pods in which the ClientApps of a pool compute, if the site's pods report their packages.

    Args:
        others: number of the other containers of such a pod.
    """
    if not spec.packages_report:
        return []
    # Packages can be on a volume, and variables decide where Python looks for them.
    pods = pool.superexec if pool.is_process else pool
    return [
        compact(
            {
                "name": NAME,
                "image": superexec.image_of(spec, pool),
                "imagePullPolicy": spec.image_pull_policy,
                "command": ["python", "-c", inspect.getsource(package_program)],
                "args": [_FILE, str(min(_ONE_MESSAGE, _ALL_MESSAGES // (others + 1)))],
                "env": merge_env(flower_env(spec, "/tmp"), pods.env),
                "resources": pods.resources,
                "securityContext": container_security_context(),
                "terminationMessagePath": _FILE,
                "volumeMounts": superexec.compute_mounts(pods),
            }
        )
    ]


def is_there(workload: Object) -> bool:
    """Whether the pods of a workload report their packages."""
    listed = workload["spec"]["template"]["spec"].get("initContainers") or []
    return any(one["name"] == NAME for one in listed)
