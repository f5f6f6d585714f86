# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""What an installation of Skupper for a whole cluster leaves there (§5): definitions, a namespace, a Deployment.

The Deployment's pod does nothing: the stand-in controls every cluster where it finds the Deployment, at the version
that it is labelled with. So an installation from a file of manifests can be tested with what ``manifests`` prints.
"""

from __future__ import annotations

from .crds import definitions
from .kube import Object
from .switches import Switches

NAMESPACE = "skupper"
CONTROLLER = "skupper-controller"
IMAGE = "docker.io/library/busybox:1.35"
VERSION_LABEL = "app.kubernetes.io/version"


def deployment(version: str, image: str = IMAGE) -> Object:
    """The sign of a controller of this version."""
    labels = {"application": CONTROLLER, "app.kubernetes.io/part-of": "skupper"}
    container = {
        "name": "controller",
        "image": image,
        "command": ["sleep", "2147483647"],
        "resources": {"requests": {"cpu": "1m", "memory": "4Mi"}},
        "securityContext": {
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "readOnlyRootFilesystem": True,
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
        },
    }
    pod = {
        "serviceAccountName": CONTROLLER,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 0,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [container],
    }
    metadata = {"name": CONTROLLER, "namespace": NAMESPACE, "labels": {**labels, VERSION_LABEL: version}}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"application": CONTROLLER}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def manifests(version: str = Switches().version) -> list[Object]:
    """Everything, in the order in which it is to be applied."""
    account = {"name": CONTROLLER, "namespace": NAMESPACE}
    return [
        *definitions(),
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account},
        deployment(version),
    ]
