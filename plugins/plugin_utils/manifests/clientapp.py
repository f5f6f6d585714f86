# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The separate workload for ClientApps beside the SuperNodes (C(clientapp: workload)).

The pods of a pool are numbered from 0, with any numbers of the SuperNodes, so that sites with the same settings
have the same ClientApps to the byte. Pod N serves the SuperNode behind the Service C(listener_service(pool, N)), which is the site's.

The only version of the workload is that of its content: account, policy and Services belong to the site and stay when one
version replaces another.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace
from typing import Any

from ..base.labels import selector
from ..base.names import CLIENTAPP, KEY_SOURCE, SITE
from ..base.object_names import LOCAL_TLS_SECRET, NODE_LISTENER_PORT, RUNTIME_CA_DIR, RUNTIME_CA_VOLUME, TUNNEL
from ..base.values import Object
from ..spec.site_spec import PoolSpec, SiteSpec
from . import superexec
from .common_objects import api_object
from .pod import mount, pod_template, secret_volume

# Label that Kubernetes puts on every pod of a StatefulSet.
POD_NAME = "statefulset.kubernetes.io/pod-name"

# Containers of the pods of SuperNodes only.
_OF_SUPERNODE = ("supernode", "sidecar", TUNNEL)
_LISTS = ("containers", "initContainers")


def listener_service(pool: str, number: int | str) -> str:
    """Name of the Service in front of a pool's SuperNode; numbers start at 0."""
    return f"supernode-{pool}-runtime-{number}"


def is_one(item: Mapping[str, Any]) -> bool:
    """Whether an object is a ClientApp's workload."""
    labels = (item.get("metadata") or {}).get("labels") or {}
    return item.get("kind") == "StatefulSet" and labels.get("app.kubernetes.io/name") == CLIENTAPP


def supernode_part(pool: PoolSpec, volumes: Iterable[Object]) -> PoolSpec:
    """A pool as the pods of its SuperNodes have it: without what belongs to the ClientApps, which compute in other pods.

    These are containers that mount a volume of the code that computes, and entries of the pod template for its containers.

    Args:
        volumes: those of the pods of its SuperNodes.
    """
    here = {volume["name"] for volume in volumes} | _names(pool.pod_template, ["volumes"])
    elsewhere = {volume["name"] for volume in superexec.compute_parts(pool).volumes} - here

    def stays(container: Mapping[str, Any]) -> bool:
        return not any(one.get("name") in elsewhere for one in container.get("volumeMounts") or [])

    gone = [one["name"] for one in (*pool.init_containers, *pool.extra_containers) if not stays(one)]
    return replace(
        _without(pool, (superexec.NAME, *gone)),
        init_containers=list(filter(stays, pool.init_containers)),
        extra_containers=list(filter(stays, pool.extra_containers)),
    )


def _without(pool: PoolSpec, containers: Collection[str]) -> PoolSpec:
    """The pool without entries of its pod template for some containers, which are in other pods of it."""
    body = pool.pod_template.get("spec")
    if not isinstance(body, Mapping) or not _names(pool.pod_template, _LISTS) & set(containers):
        return pool
    kept = {
        key: [entry for entry in value if not (isinstance(entry, Mapping) and entry.get("name") in containers)]
        for key, value in body.items()
        if key in _LISTS and isinstance(value, list)
    }
    return replace(pool, pod_template={**pool.pod_template, "spec": {**body, **kept}})


def _names(template: Mapping[str, Any], lists: Iterable[str]) -> set[str]:
    """Names of entries of some lists in a partial pod template."""
    body = template.get("spec")
    listed = [body.get(key) for key in lists] if isinstance(body, Mapping) else []
    return {str(entry.get("name")) for value in listed if isinstance(value, list) for entry in value if isinstance(entry, Mapping)}


def workload(spec: SiteSpec, pool: PoolSpec) -> Object:
    """The StatefulSet of a pool."""
    pool = _without(pool, _OF_SUPERNODE)
    # The secret that it shares with the SuperNode changes with that.
    notes = {KEY_SOURCE: SITE} if spec.makes_keys else {}
    address = f"{listener_service(pool.name, '$(FLOWER_INDEX)')}.{spec.namespace}.svc:{NODE_LISTENER_PORT}"
    path = "metadata.labels['apps.kubernetes.io/pod-index']"
    container = superexec.container(
        spec,
        pool.superexec,
        ["--runtime-api-address", address, "--root-certificates", f"{RUNTIME_CA_DIR}/ca.crt"],
        env=[{"name": "FLOWER_INDEX", "valueFrom": {"fieldRef": {"fieldPath": path}}}],
        mounts=[mount(RUNTIME_CA_VOLUME, RUNTIME_CA_DIR)],
    )
    template = pod_template(
        spec,
        CLIENTAPP,
        pool,
        containers=[container],
        volumes=[secret_volume(RUNTIME_CA_VOLUME, LOCAL_TLS_SECRET, keys=["ca.crt"]), superexec.secret(), *superexec.compute_parts(pool).volumes],
        runtime_class=pool.gpu.runtime_class,
        grace=pool.termination_grace_period,
        pool=pool.name,
        notes=notes,
    )
    body = {
        "replicas": pool.replicas,
        "serviceName": CLIENTAPP,  # the API requires a name; a ClientApp is never called
        "podManagementPolicy": "Parallel",
        "ordinals": {"start": 0},
        "selector": {"matchLabels": selector(spec.federation, CLIENTAPP, pool=pool.name)},
        "updateStrategy": {"type": "RollingUpdate"},
        "template": template,
    }
    return api_object(spec, "apps/v1/StatefulSet", f"{CLIENTAPP}-{pool.name}", CLIENTAPP, {"spec": body}, pool=pool.name)
