# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClientApps in their own workload beside the SuperNodes (C(clientapp: workload)): a SuperExec for each SuperNode.

The pods of a pool are numbered from 0, with any numbers of the SuperNodes, so that sites with the same settings
have the same ClientApps to the byte. Pod N serves the SuperNode behind the Service C(listener_service(pool, N)), which is the site's.

The only version of the workload is that of its content: account, policy and Services belong to the site and stay when one
version replaces another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..base.labels import selector
from ..base.names import CLIENTAPP, KEY_SOURCE, SITE
from ..base.ports import NODE_LISTENER_PORT
from ..base.values import Object
from ..spec.pool_spec import PoolSpec
from ..spec.site_spec import SiteSpec
from . import package_report, sidecar, superexec
from .objects import metadata
from .pod import mount, pod_template, secret_volume

# Label that Kubernetes puts on every pod of a StatefulSet.
POD_NAME = "statefulset.kubernetes.io/pod-name"
TRUST_VOLUME, TRUST_DIR = "runtime-ca", "/runtime-ca"


def listener_service(pool: str, number: int | str) -> str:
    """Name of the Service in front of a pool's SuperNode; numbers start at 0."""
    return f"supernode-{pool}-runtime-{number}"


def is_one(item: Mapping[str, Any]) -> bool:
    """Whether an object is a ClientApp's workload."""
    labels = (item.get("metadata") or {}).get("labels") or {}
    return item.get("kind") == "StatefulSet" and labels.get("app.kubernetes.io/name") == CLIENTAPP


def workload(spec: SiteSpec, pool: PoolSpec) -> Object:
    """The StatefulSet of a pool."""
    name = f"{CLIENTAPP}-{pool.name}"
    # The secret that it shares with the SuperNode changes with that.
    notes = {KEY_SOURCE: SITE} if spec.makes_keys else {}
    address = f"{listener_service(pool.name, '$(FLOWER_INDEX)')}.{spec.namespace}.svc:{NODE_LISTENER_PORT}"
    path = "metadata.labels['apps.kubernetes.io/pod-index']"
    container = superexec.container(
        spec,
        pool.superexec,
        ["--runtime-api-address", address, "--root-certificates", f"{TRUST_DIR}/ca.crt"],
        env=[{"name": "FLOWER_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}],
        mounts=[mount(TRUST_VOLUME, TRUST_DIR)],
    )
    template = pod_template(
        spec,
        CLIENTAPP,
        pool,
        init_containers=package_report.init_containers(spec, pool, others=1 + pool.added_containers),
        containers=[container],
        volumes=[
            secret_volume(TRUST_VOLUME, sidecar.LOCAL_TLS, keys=["ca.crt"]),
            superexec.secret(),
            *superexec.compute_volumes(pool),
        ],
        runtime_class=pool.gpu.runtime_class,
        grace=pool.termination_grace_period,
        pool=pool.name,
        notes=notes,
    )
    return {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": metadata(spec, name, CLIENTAPP, pool=pool.name),
        "spec": {
            "replicas": pool.replicas,
            "serviceName": CLIENTAPP,  # the API requires a name; a ClientApp is never called
            "podManagementPolicy": "Parallel",
            "ordinals": {"start": 0},
            "selector": {"matchLabels": selector(spec.federation, CLIENTAPP, pool=pool.name)},
            "updateStrategy": {"type": "RollingUpdate"},
            "template": template,
        },
    }
