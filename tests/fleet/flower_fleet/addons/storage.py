# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Dynamic volumes: the default StorageClass ``standard``. The provisioner is a process of the node, ``clusters.volumes``."""

from __future__ import annotations

from ..settings import DOMAIN, Cluster
from .base import Addon

PROVISIONER = f"{DOMAIN}/directory"


def addon(cluster: Cluster) -> Addon:
    """The StorageClass."""
    return Addon(
        "storage",
        [
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "provisioner": PROVISIONER,
                "metadata": {
                    "name": "standard",
                    "annotations": {"storageclass.kubernetes.io/is-default-class": "true"},
                },
                "volumeBindingMode": "WaitForFirstConsumer",
                "reclaimPolicy": "Delete",
            },
        ],
    )
