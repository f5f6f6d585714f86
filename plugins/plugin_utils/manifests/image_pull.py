# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Jobs that have nodes pull the new images of a workload, while its pods run as before.

A kubelet pulls the images of a pod's containers before it creates them: a pod with these images is all that is needed, whatever becomes of its
containers. So the command may be missing in an image that is none of Flower's. Account, pull secrets, tolerations, security contexts, and
the users' labels and annotations, which policies of a cluster may demand, are those of the workload, so that what its pods could not pull,
this one cannot either. It requests next to nothing, no devices among it.

A pod has its node without a scheduler: the nodes are those on which the workload's pods are.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from ..base.images import images_of
from ..base.labels import POOL_LABEL, selector
from ..base.values import Object, compact
from ..spec.site_spec import SiteSpec
from .objects import labels, metadata
from .pod import container_security_context

APPLICATION = "supernode-pull"
# The cluster ends and deletes a job that the control node could not delete.
LINGER_SECONDS = 60
# A container ends at once, so its limits only have to let it start. A quota may require them.
_RESOURCES = {"limits": {"cpu": "200m", "memory": "64Mi"}, "requests": {"cpu": "1m", "memory": "8Mi"}}
# Of the workload's pods: what decides whether a pod is admitted, and whether it gets an image.
_OF_POD = ("serviceAccountName", "securityContext", "imagePullSecrets", "tolerations", "priorityClassName", "os")
_OF_CONTAINER = ("image", "imagePullPolicy", "securityContext")
_HAPROXY = ("sidecar", "tunnel")


def new_images(wanted: Mapping[str, Any], live: Mapping[str, Any]) -> dict[str, str]:
    """Container -> image of a rendered workload, where the live one has another. Each image once."""
    there = images_of(live)
    found: dict[str, str] = {}
    for container, image in images_of(wanted).items():
        if image != there.get(container) and image not in {*there.values(), *found.values()}:
            found[container] = image
    return found


def job(spec: SiteSpec, workload: Mapping[str, Any], containers: Mapping[str, str], node: str, seconds: int) -> Object:
    """The job for one node.

    Args:
        spec: the site.
        workload: as rendered.
        containers: of C(new_images).
        node: its name.
        seconds: after which the cluster ends it.
    """
    template = workload["spec"]["template"]
    given, noted = template["spec"], template["metadata"]
    every = [*(given.get("initContainers") or []), *given["containers"]]
    pool = (workload["metadata"].get("labels") or {}).get(POOL_LABEL)
    body = {
        **{name: given[name] for name in _OF_POD if name in given},
        "nodeName": node,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "restartPolicy": "Never",
        "terminationGracePeriodSeconds": 1,  # it has nothing that a sudden end could damage
        "containers": [_container(one) for one in every if one["name"] in containers],
    }
    own = "\n".join([workload["metadata"]["name"], node, *containers.values()])
    name = f"{APPLICATION}-{hashlib.sha256(own.encode()).hexdigest()[:10]}"
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata(spec, name, APPLICATION, pool=pool),
        "spec": {
            "backoffLimit": 0,
            "activeDeadlineSeconds": seconds,
            "ttlSecondsAfterFinished": LINGER_SECONDS,
            "template": {
                "metadata": {**noted, "labels": dict(sorted({**noted["labels"], **labels(spec, APPLICATION, pool=pool)}.items()))},
                "spec": compact(body),
            },
        },
    }


def network_policies(spec: SiteSpec) -> list[Object]:
    """The policy of these pods. They need no network, since the kubelet pulls. It is created before them and deleted after them."""
    if not spec.network_policies:
        return []
    body = {"podSelector": {"matchLabels": selector(spec.federation, APPLICATION)}, "policyTypes": ["Ingress", "Egress"]}
    return [
        {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "NetworkPolicy",
            "metadata": metadata(spec, APPLICATION, APPLICATION),
            "spec": body,
        }
    ]


def _container(given: Mapping[str, Any]) -> Object:
    command = ["haproxy", "-v"] if given["name"] in _HAPROXY else ["python", "-c", ""]
    kept = {name: given[name] for name in _OF_CONTAINER if name in given}
    return {"name": given["name"], "securityContext": container_security_context(), **kept, "command": command, "resources": _RESOURCES}
