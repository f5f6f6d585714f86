# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Dynamic volumes: the default StorageClass ``standard``. The provisioner itself runs as a process of the node."""

from __future__ import annotations

import json
from typing import Any

from ..settings import BUSYBOX_IMAGE, Cluster
from .base import Addon

NAMESPACE = "local-path-storage"
HELPER_CONFIG_MAP = "local-path-config"
PROVISIONER_CONFIG = {
    "nodePathMap": [{"node": "DEFAULT_PATH_FOR_NON_LISTED_NODES", "paths": ["/opt/local-path-provisioner"]}]
}
HELPER_POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "helper-pod"},
    "spec": {"containers": [{"name": "helper-pod", "image": BUSYBOX_IMAGE, "imagePullPolicy": "IfNotPresent"}]},
}


def addon(cluster: Cluster) -> Addon:
    """Namespace and scripts of the provisioner's helper pods, and the StorageClass."""
    # open to every user: pods that are not root mount these volumes, and host paths do not know fsGroup
    setup = '#!/bin/sh\nset -eu\nmkdir -m 0777 -p "$VOL_DIR"\n'
    teardown = '#!/bin/sh\nset -eu\nrm -rf "$VOL_DIR"\n'
    return Addon(
        "storage",
        [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "local-path-provisioner-service-account", "namespace": NAMESPACE},
            },
            {
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": HELPER_CONFIG_MAP, "namespace": NAMESPACE},
                "data": {
                    "config.json": json.dumps(PROVISIONER_CONFIG),
                    "setup": setup,
                    "teardown": teardown,
                    "helperPod.yaml": json.dumps(HELPER_POD),
                },
            },
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "provisioner": "rancher.io/local-path",
                "metadata": {
                    "name": "standard",
                    "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                },
                "volumeBindingMode": "WaitForFirstConsumer",
                "reclaimPolicy": "Delete",
            },
        ],
    )
