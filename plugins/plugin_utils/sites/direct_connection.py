# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Measure a site's connection to the hub from its SuperNodes, also through an HTTP proxy."""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

from ..base import object_names
from ..base.addresses import split_address
from ..base.errors import ClusterError
from ..base.labels import POOL_LABEL
from ..base.names import CLIENTAPP
from ..base.object_names import SUPEREXEC, SUPERNODE
from ..checks import acceptance
from ..flower import in_pod
from ..kube import pod_health
from ..kube.api_errors import Forbidden
from ..kube.client import Cluster
from ..manifests import sidecar
from ..marks import proof
from ..programs import way_program
from ..rotation import outdated_pods, site_proof
from ..spec.site_spec import PoolSpec, SiteSpec
from .site import Facts

_TUNNEL_SECONDS = 180

_APPS_SECONDS = 90


class TunnelAnswer(NamedTuple):
    """What the tunnel of a pod says.

    Attributes:
        good: whether the hub answers through the proxy.
        ours: whether the proxy, or this site, is in the way.
        text: what it found, a sentence without its full stop.
    """

    good: bool
    ours: bool
    text: str


def check(cluster: Cluster, spec: SiteSpec, absent: Collection[str] = ()) -> list[str]:
    """Look at the Secret that the user names, before anything is changed. Returns warnings.

    Args:
        absent: namespaces that do not exist yet.

    Raises:
        ClusterError: it does not exist, or lacks an entry.
    """
    own = spec.http_proxy
    if not spec.has_proxy or not own.secret:
        return []
    what = f"Secret {spec.namespace}/{own.secret} (supernode_http_proxy.secret)"
    if spec.namespace in absent:
        raise ClusterError(
            f"{what} does not exist, nor does its namespace: create both first, or set supernode_http_proxy_credentials to have the Secret created."
        )
    try:
        found = cluster.get("v1", "Secret", own.secret, spec.namespace)
    except Forbidden:
        return [f"whether {what} exists is unknown: this identity cannot read it. Without it, SuperNodes do not start"]
    if found is None:
        raise ClusterError(f"{what} does not exist: create it with {own.username_key} and {own.password_key}.")
    lacking = [key for key in (own.username_key, own.password_key) if key not in (found.get("data") or {})]
    if lacking:
        raise ClusterError(
            f"{what} has no entry {' and no entry '.join(lacking)}: add it, or set username_key and password_key of supernode_http_proxy."
        )
    return []


def unseen(spec: SiteSpec) -> list[str]:
    """A warning about that Secret in a cluster that cannot be queried."""
    if not spec.has_proxy or not spec.http_proxy.secret:
        return []
    return [
        f"whether namespace {spec.namespace} has Secret {spec.http_proxy.secret} for its HTTP proxy is unknown before the deployment: the "
        "hub has no access to the managed cluster. If it is missing, SuperNodes do not start, and the message names it"
    ]


def ask_tunnel(cluster: Cluster, pod: Mapping[str, Any], target: str = "", mark: str = "") -> TunnelAnswer:
    """Have the tunnel of a running pod try the way.

    Args:
        target: the address with which it must run; empty for any.
        mark: that of the credentials with which it must run; empty for any.

    Raises:
        ClusterError: it cannot be queried.
    """
    meta = pod["metadata"]
    command = ["sh", sidecar.PROGRAM, "check", target, mark]
    answer = cluster.exec(meta["namespace"], meta["name"], sidecar.NAME, command, timeout=_TUNNEL_SECONDS)
    text = " ".join((answer.stdout or answer.stderr).decode("utf-8", "replace").split())
    return TunnelAnswer(answer.rc == 0, answer.rc == 1, text or f"it ended with code {answer.rc}")


def tried(cluster: Cluster, spec: SiteSpec, pods: Sequence[Mapping[str, Any]], mark: str) -> tuple[str, str]:
    """Whether a running pod reaches the hub through the proxy as the site's objects say now: a fault and a warning, either may be empty.

    Args:
        mark: of the credentials, if they changed.
    """
    pod = next(iter(_with_tunnel(pods)), None)
    if pod is None:
        return "", ""
    name = pod["metadata"]["name"]
    try:
        answer = ask_tunnel(cluster, pod, sidecar.target(spec), mark)
    except ClusterError as error:
        return "", f"cannot determine whether {name} reaches the hub through the HTTP proxy: its tunnel could not be queried: {error.message}"
    return (f"{name}: {answer.text}", "") if answer.ours else ("", "" if answer.good else f"{name}: {answer.text}")


def _with_tunnel(pods: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Running pods with a tunnel, by name."""
    found = [pod for pod in pods if site_proof.is_running(pod) and any(one["name"] == sidecar.NAME for one in pod["spec"].get("initContainers") or [])]
    return sorted(found, key=lambda one: str(one["metadata"]["name"]))


def words(cluster: Cluster, spec: SiteSpec, pods: Sequence[Mapping[str, Any]]) -> str:
    """A sentence for a site whose SuperNodes are not online; empty without a proxy, or where no pod runs."""
    pod = next(iter(_with_tunnel(pods)), None) if spec.has_proxy else None
    if pod is None:
        return ""
    name = pod["metadata"]["name"]
    try:
        return f" The tunnel of {name}: {ask_tunnel(cluster, pod).text}."
    except ClusterError as error:
        return f" The log of container {sidecar.NAME} of {name} has messages about the HTTP proxy; its tunnel could not be queried: {error.message}"


def measure(cluster: Cluster, spec: SiteSpec, address: str, server_name: str, idle: float = 0) -> dict[str, Facts]:
    """Pool -> what one of its SuperNodes measured, as C(checks.acceptance.of_pool) takes it.

    Args:
        address: where its SuperNodes reach the hub.
        server_name: the gateway's name.
        idle: seconds for which a connection is silent; 0 does not try.
    """
    pods = cluster.list("v1", "Pod", spec.namespace, labels=proof.pods_query(spec.federation, SUPERNODE, CLIENTAPP))
    found = {}
    for pool in spec.pools:
        if pool.least_pods:
            try:
                found[pool.name] = _pool(cluster, spec, pool, pods, address, server_name, idle)
            except ClusterError as error:
                found[pool.name] = {"error": error.message}
    return found


def _pool(cluster: Cluster, spec: SiteSpec, pool: PoolSpec, pods: list[Any], address: str, server_name: str, idle: float) -> Facts:
    own = [pod for pod in pods if (pod["metadata"].get("labels") or {}).get(POOL_LABEL) == pool.name]
    running = [pod for pod in own if site_proof.is_running(pod)]
    if not running:
        return {"error": f"none of its SuperNodes runs: {pod_health.summary(own)}"}
    pod = min(running, key=lambda one: str(one["metadata"]["name"]))
    host, port = split_address(site_proof.container_argument(pod, "--superlink"))
    trusted = site_proof.container_argument(pod, "--root-certificates")
    request = {
        "hub": list(split_address(spec.http_proxy.address if spec.has_proxy else address)),
        "hop": {"host": host, "port": port, "trust": trusted},
        "bytes": acceptance.BODY,
        "idle": idle,
        "secure": bool(trusted),
    }
    measured, clock = ask_apps(cluster, pod, site_proof.CONTAINER, request)
    trust: Facts = {"serial": "none, since there is no TLS"}
    if trusted:
        asked = site_proof.probe_request(pod, server_name, {site_proof.NOW: ""}, 1)
        trust = site_proof.seen_by(outdated_pods.run_site_program(cluster, pod, site_proof.CONTAINER, asked), [site_proof.NOW])[site_proof.NOW]
    proxy: Facts = {"proxy": ask_tunnel(cluster, pod)._asdict()} if spec.has_proxy else {}
    return {**proxy, "way": measured, "clock": clock, "trust": trust, "apps": _apps(cluster, pool, own), "resource": pool.gpu.resource}


def _apps(cluster: Cluster, pool: PoolSpec, pods: list[Any]) -> Facts:
    """What apps find where they compute; nothing where there is nothing to look for, or where no pod computes now."""
    paths = {one.name: object_names.dataset_path(one.name) for one in pool.datasets}
    if not paths and not pool.gpu.is_used:
        return {}
    for pod in sorted(pods, key=lambda one: str(one["metadata"]["name"])):
        statuses = (pod.get("status") or {}).get("containerStatuses") or []
        running = {one["name"] for one in statuses if "running" in (one.get("state") or {})}
        names = [name for name in (SUPEREXEC, SUPERNODE) if name in running]
        computes = pod["metadata"]["labels"].get("app.kubernetes.io/name") == CLIENTAPP or SUPEREXEC in running or not pool.is_process
        if names and computes and not pod["metadata"].get("deletionTimestamp"):
            answer, _clock = ask_apps(cluster, pod, names[0], {"paths": paths, "devices": pool.gpu.is_used})
            return answer
    raise ClusterError("no container in which apps compute runs")


def ask_apps(cluster: Cluster, pod: Mapping[str, Any], container: str, request: Facts) -> tuple[Facts, float]:
    """The answer of C(way_program) in a container, and by how many seconds its clock is ahead.

    Raises:
        ClusterError: it could not be run; the text has the pod.
    """
    meta = pod["metadata"]
    sent = time.time()
    output = in_pod.run(cluster, meta["namespace"], meta["name"], container, way_program, request, seconds=_APPS_SECONDS)
    received = time.time()
    answer = output.object()
    return answer, acceptance.offset(answer, sent, received)
