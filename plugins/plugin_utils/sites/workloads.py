# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What runs in a site's cluster, and a summary of its workloads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..base.kinds import images_of
from ..base.names import CLIENTAPP
from ..base.object_names import SERVERAPP, SUPEREXEC, SUPERLINK, SUPERNODE
from ..base.plain_data import canonical
from ..base.secret_data import entries
from ..kube import pod_health as site_pods
from ..kube import workload_facts
from ..kube.api_errors import Forbidden, NotServed
from ..kube.client import Cluster
from ..kube.stuck_pods import refusal
from ..manifests import clientapp
from ..manifests.skupper import API
from ..pki import library
from ..skupper import network
from ..spec.part_spec import PROCESS

_MOST = 256 * 1024  # bytes of JSON of what one site reports: the results of all sites are in memory several times


def workload(obj: Mapping[str, Any]) -> dict[str, Any]:
    """What a Deployment, StatefulSet or DaemonSet wants and has.

    Returns:
        What C(workload_facts.facts) returns, and C(apart): whether its SuperNodes compute nothing themselves, so that there must be ClientApps in their
        own pods.
    """
    spec, status = obj["spec"], obj.get("status", {})
    daemon = obj["kind"] == "DaemonSet"
    containers = spec["template"]["spec"]["containers"]
    desired = status.get("desiredNumberScheduled", 0) if daemon else spec.get("replicas", 1)
    return {
        **workload_facts.facts(obj, desired, status.get("numberReady" if daemon else "readyReplicas", 0)),
        "apart": SUPEREXEC not in images_of(obj) and any(one["name"] == SUPERNODE and PROCESS in (one.get("args") or []) for one in containers),
    }


def trouble(
    found: Sequence[Mapping[str, Any]],
    namespace: str,
    pods: Callable[[], Sequence[Mapping[str, Any]]],
    refusals: Callable[[], Sequence[str]],
) -> str:
    """Why workloads are not ready; empty when they all are.

    Args:
        pods: lists their pods; called only where one is not ready.
        refusals: why the cluster created no pods of some; called only where pods are missing.
    """
    waiting = [one for one in found if one["ready"] < one["desired"]]
    if not waiting:
        return ""
    try:
        listed = [pod for pod in pods() if (pod.get("status") or {}).get("phase") != "Succeeded"]
    except Forbidden as error:
        return f"{', '.join(one['name'] for one in waiting)}: not all pods are ready, and the cause cannot be read: {error.text}"
    lacking = len(listed) < sum(one["desired"] for one in found)
    refused = "; ".join(filter(None, refusals())) if lacking else ""
    unready = [pod for pod in listed if not site_pods.is_ready(pod)]
    if unready:
        return "; ".join(filter(None, (refused, site_pods.summary(unready))))
    if refused or not lacking:
        return refused  # none: they became ready after their workload was read
    names = " ".join(f"{one['kind'].lower()}/{one['name']}" for one in waiting)
    return f"not all pods were created: kubectl -n {namespace} describe {names} shows the cause, for example an exhausted quota"


def missing(items: Sequence[Mapping[str, Any]]) -> str:
    """What of a deployed hub does not exist, or was scaled to nothing; empty where that is not so."""
    there = {item["metadata"]["name"]: item for item in items}
    found = [f"{name} is scaled to 0" for name, item in there.items() if item["spec"].get("replicas") == 0]
    if SUPERLINK not in there:
        found.append("there is no SuperLink: its StatefulSet was deleted")
    elif SERVERAPP not in there and PROCESS in (there[SUPERLINK]["spec"]["template"]["spec"]["containers"][0].get("args") or []):
        found.append("there is no ServerApp, so no run starts: its workload was deleted")
    return "; ".join(found)


def unknown(*, skupper: bool = False) -> dict[str, Any]:
    """The answer of a site of which nothing is known yet."""
    return {"reachable": True, "error": "", "workloads": [], "clientapps": [], "trouble": "", "skupper": skupper, "network": {}}


def read(site: Cluster, namespace: str, result: dict[str, Any]) -> None:
    """Read the pools and their pods; completes the result of C(unknown).

    Args:
        result: of C(unknown).

    Raises:
        ClusterError: the cluster does not answer, or refuses, or reports more than any site has.
    """
    selector = f"app.kubernetes.io/name in (supernode,{CLIENTAPP})"
    items = [{"kind": kind, **item} for kind in ("StatefulSet", "DaemonSet") for item in site.list("apps/v1", kind, namespace, labels=selector)]
    for one in items:
        result["clientapps" if clientapp.is_one(one) else "workloads"].append(workload(one))
    pods = partial(site.list, "v1", "Pod", namespace, labels=selector)
    found = trouble(result["workloads"] + result["clientapps"], namespace, pods, lambda: [refusal(site, one) for one in items])
    result["trouble"] = cleaned(found)
    if result["skupper"]:
        result["network"] = _network(site, namespace)
    if len(canonical(result)) > _MOST:
        result.update(unknown(skupper=result["skupper"]))
        raise ClusterError(
            f"{site.name}: what it reports of its workloads in namespace {namespace} is larger than {_MOST >> 10} KiB. To list its "
            f"objects: kubectl get statefulsets,daemonsets,pods -n {namespace}"
        )


def _network(site: Cluster, namespace: str) -> dict[str, Any]:
    library.require()

    def listed(kind: str) -> list[dict[str, Any]]:
        try:
            return site.list(API, kind, namespace)
        except NotServed:
            return []

    links, listeners = listed("Link"), listed("Listener")
    hosts = {str(one["spec"].get("host")) for one in listeners}
    credentials = {str((one.get("spec") or {}).get("tlsCredentials") or "") for one in links} - {""}
    return network.of_site(
        listed("Site"),
        links,
        listeners,
        {host: site.get("v1", "Service", host, namespace) for host in hosts},
        {name: entries(site.get("v1", "Secret", name, namespace)) for name in credentials},
    )
