# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Have the SuperNodes of a site measure the way to the hub, and look at what their apps find."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from ..base import dataset_mounts
from ..base.addresses import split_address
from ..base.errors import ClusterError
from ..base.labels import POOL_LABEL
from ..base.names import CLIENTAPP
from ..base.object_names import SUPEREXEC, SUPERNODE
from ..flower import in_pod
from ..kube import pod_health
from ..kube.client import Cluster
from ..marks import proof
from ..preflight import acceptance
from ..programs import way_program
from ..rotation import restart, site_proof
from ..spec.pool_spec import PoolSpec
from ..spec.site_spec import SiteSpec
from . import direct_proxy
from .site import Facts

_SECONDS = 90


def measure(cluster: Cluster, spec: SiteSpec, address: str, server_name: str, idle: float = 0) -> dict[str, Facts]:
    """Pool -> what one of its SuperNodes measured, as C(preflight.acceptance.of_pool) takes it.

    Args:
        cluster: a connection to the site's cluster.
        spec: the site.
        address: where its SuperNodes reach the hub.
        server_name: the gateway's name.
        idle: seconds for which a connection is silent; 0 does not try.
    """
    pods = cluster.list("v1", "Pod", spec.namespace, labels=proof.pods_query(spec.federation, SUPERNODE, CLIENTAPP))
    found = {}
    for pool in spec.pools:
        if not pool.replicas and not pool.is_daemon:
            continue
        try:
            found[pool.name] = _pool(cluster, spec, pool, pods, (address, server_name, idle))
        except ClusterError as error:
            found[pool.name] = {"error": error.message}
    return found


def _pool(cluster: Cluster, spec: SiteSpec, pool: PoolSpec, pods: list[Any], hub: tuple[str, str, float]) -> Facts:
    address, server_name, idle = hub
    own = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(POOL_LABEL) == pool.name]
    running = sorted((pod for pod in own if site_proof.is_running(pod)), key=lambda one: str(one["metadata"]["name"]))
    if not running:
        return {"error": f"none of its SuperNodes runs: {pod_health.summary(own)}"}
    pod = running[0]
    hop = site_proof.argument(pod, "--superlink")
    host, port = split_address(hop)
    hub_host, hub_port = split_address(spec.http_proxy.address if spec.has_proxy else address)
    trusted = site_proof.argument(pod, "--root-certificates")
    request = {
        "hub": [hub_host, hub_port],
        "hop": {"host": host, "port": port, "trust": trusted},
        "bytes": acceptance.BODY,
        "idle": idle,
        "secure": bool(trusted),
    }
    way, clock = ask(cluster, pod, site_proof.CONTAINER, request)
    trust: Facts = {"serial": "none, since there is no TLS"}
    if trusted:
        asked = site_proof.request(pod, server_name, {site_proof.NOW: ""}, 1)
        trust = restart.held(cluster, pod, site_proof.CONTAINER, asked)["seen"][site_proof.NOW]
    proxy: Facts = {}
    if spec.has_proxy:
        proxy = {"proxy": direct_proxy.ask(cluster, pod)._asdict()}
    return {**proxy, "way": way, "clock": clock, "trust": trust, "apps": _apps(cluster, pool, own), "resource": pool.gpu.resource}


def _apps(cluster: Cluster, pool: PoolSpec, pods: list[Any]) -> Facts:
    """What apps find where they compute; nothing where there is nothing to look for, or where no pod computes now."""
    paths = {one.name: dataset_mounts.path_of(one.name) for one in pool.datasets}
    if not paths and not pool.gpu.is_used:
        return {}
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        statuses = (pod.get("status") or {}).get("containerStatuses") or []
        running = {one["name"] for one in statuses if "running" in (one.get("state") or {})}
        names = [name for name in (SUPEREXEC, SUPERNODE) if name in running]
        computes = pod["metadata"]["labels"].get("app.kubernetes.io/name") == CLIENTAPP or SUPEREXEC in running or not pool.is_process
        if names and computes and not pod["metadata"].get("deletionTimestamp"):
            answer, _clock = ask(cluster, pod, names[0], {"paths": paths, "devices": pool.gpu.is_used})
            return answer
    raise ClusterError("no container in which apps compute runs")


def ask(cluster: Cluster, pod: Mapping[str, Any], container: str, request: Facts) -> tuple[Facts, float]:
    """The answer of C(way_program) in a container, and by how many seconds its clock is ahead.

    Raises:
        ClusterError: it could not be run; the text has the pod.
    """
    meta = pod["metadata"]
    sent = time.time()
    output = in_pod.run(cluster, meta["namespace"], meta["name"], container, way_program, request, seconds=_SECONDS)
    received = time.time()
    answer = output.object()
    return answer, acceptance.offset(answer, sent, received)
