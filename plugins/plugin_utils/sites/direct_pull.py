# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Have the nodes of a site pull new images before its pods are replaced.

A job for each node and workload, see C(manifests/site_jobs.py). They are deleted at the end. Those of a run that was interrupted are deleted by
the next one, or by the cluster some time after they ended; their network policy, which selects nothing then, by the next one.
"""

from __future__ import annotations

import time
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ..apply.wait import Clock, Waiter
from ..base.errors import ClusterError
from ..base.formats import counted
from ..base.labels import query, selector
from ..base.object_names import SUPERNODE
from ..base.values import Object
from ..kube import pod_health
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import site_jobs
from ..marks import proof
from ..rights import ask, grants
from ..rights.need import UPGRADE
from .site import PullResult, Run, Site

_KINDS = ("StatefulSet", "DaemonSet")
# The control node ends a job first, while its pod still says what it waits for.
_HEADROOM = 60
# A pull that fails once may succeed with the next attempt.
_IMAGE_SECONDS = 20.0
# A pod that cannot be created now (a quota, a policy of the cluster) usually cannot be created later either.
_NO_POD = 15.0
_SHOWN = 3  # nodes in a message
_WITHOUT = "To upgrade this site without pulling its images first, set flower_upgrade_pull: false for it."


def pull(run: Run, cluster: Cluster, site: Site, objects: Sequence[Object], seconds: int, away: Collection[str] = ()) -> PullResult:
    """See C(site.SiteBackend).

    Args:
        away: names of nodes that are not ready. They pull nothing, and the deployment does not wait for them either.

    Raises:
        ClusterError: rights are missing, or a node does not get an image; no pod of the site was touched.
    """
    jobs = [job for job in _jobs(cluster, site, objects, seconds) if _node(job) not in away]
    images = list(dict.fromkeys(one["image"] for job in jobs for one in job["spec"]["template"]["spec"]["containers"]))
    nodes = sorted({_node(job) for job in jobs})
    done = PullResult(images=images, nodes=nodes)
    if not jobs:
        done.msg = "nothing to pull: its nodes have these images"
        return done
    try:
        ask.require(cluster, grants.controller_rights(SUPERNODE, site.spec, works=[UPGRADE]))
    except ask.MissingRights as error:
        raise ClusterError(f"{error.message} {_WITHOUT}") from error
    where = f"{', '.join(images)} on {counted(len(nodes), 'node')} of {cluster.name}"
    if run.check:
        done.msg = f"to be pulled: {where}"
        return done
    left = _left(cluster, site)  # new ones have the same names
    for item in left:
        _delete(cluster, item)
    Waiter(cluster, _NO_POD).until_gone(left)
    begun = time.monotonic()
    started: list[Object] = []
    try:
        for item in [*site_jobs.pull_network_policies(site.spec), *jobs]:
            try:
                started.append({"apiVersion": item["apiVersion"], "kind": item["kind"], **cluster.create(item)})
            except Conflict as error:
                raise ClusterError(
                    f"{item['kind']} {site.namespace}/{item['metadata']['name']}, which is needed to pull images, already exists ({error.text}). "
                    "Another run may have created it, or it is being deleted: run again."
                ) from error
        trouble = _wait(cluster, site, started[-len(jobs) :], seconds)
    finally:
        for item in reversed(started):
            _delete(cluster, item)
    if trouble:
        raise ClusterError(unpulled(trouble))
    done.msg = f"pulled {where} in {time.monotonic() - begun:.0f} s"
    return done


def unpulled(trouble: Sequence[str]) -> str:
    """The message of nodes that did not get their images: a clause for each of the first, and the remedy."""
    more = f"; and {len(trouble) - _SHOWN} more" if len(trouble) > _SHOWN else ""
    return (
        f"the new images cannot be pulled, and its SuperNodes were not changed: {'; '.join(trouble[:_SHOWN])}{more}. Correct the image, the "
        f"registry or supernode_image_pull_secrets. {_WITHOUT}"
    )


def _jobs(cluster: Cluster, site: Site, objects: Sequence[Object], seconds: int) -> list[Object]:
    """One for each node of each workload with other images than it has."""
    found = []
    for wanted in objects:
        if wanted["kind"] not in _KINDS:
            continue
        meta = wanted["metadata"]
        chosen = query(wanted["spec"]["selector"]["matchLabels"])
        listed = cluster.list(wanted["apiVersion"], wanted["kind"], site.namespace, labels=chosen)
        live = next((one for one in listed if one["metadata"]["name"] == meta["name"]), None)
        new = site_jobs.new_images(wanted, live) if live else {}
        if not new:
            continue  # a new workload has no nodes yet
        pods = cluster.list("v1", "Pod", site.namespace, labels=chosen)
        places = {str(pod["spec"].get("nodeName") or "") for pod in pods if not pod["metadata"].get("deletionTimestamp")}
        found += [site_jobs.pull_job(site.spec, wanted, new, node, seconds + _HEADROOM) for node in sorted(places) if node]
    return found


def _node(job: Mapping[str, Any]) -> str:
    return str(job["spec"]["template"]["spec"]["nodeName"])


def _delete(cluster: Cluster, item: Mapping[str, Any]) -> None:
    meta = item["metadata"]
    cluster.delete(item["apiVersion"], item["kind"], meta["name"], meta["namespace"], uid=meta["uid"], propagation="Background")


def _left(cluster: Cluster, site: Site) -> list[Object]:
    """What an interrupted run left."""
    labels = query(selector(site.federation, site_jobs.PULL_APPLICATION))
    kinds = [("batch/v1", "Job")] + [(one["apiVersion"], one["kind"]) for one in site_jobs.pull_network_policies(site.spec)]
    found = [{"apiVersion": api, "kind": kind, **one} for api, kind in kinds for one in cluster.list(api, kind, site.namespace, labels=labels)]
    return [one for one in found if proof.may_delete(one, site.federation)]


def _wait(cluster: Cluster, site: Site, jobs: Sequence[Object], seconds: int) -> list[str]:
    """Wait until each node has its images; returns a clause for each that has not."""
    labels = query(selector(site.federation, site_jobs.PULL_APPLICATION))
    clock, unmade = Clock(seconds), Clock(_NO_POD)
    waiting = {job["metadata"]["uid"]: job for job in jobs}
    since: dict[str, float] = {}
    lost: dict[str, str] = {}
    while waiting:
        over = not clock.tick()
        listed = cluster.list("v1", "Pod", site.namespace, labels=labels)
        pods = {str(owner["uid"]): pod for pod in listed for owner in pod["metadata"].get("ownerReferences") or []}
        for uid, job in list(waiting.items()):
            why, final = trouble_of(pods.get(uid), since)
            if pods.get(uid) and pod_health.has_images(pods[uid]):
                del waiting[uid]
            elif uid not in pods and unmade.is_over():
                events = Waiter(cluster, 0).events([job])
                final, why = "FailedCreate" in " ".join(events), "; ".join(events)
            if uid in waiting and (final or over):
                words = why or f"not done after {seconds} s (flower_upgrade_pull_timeout)"
                lost[uid] = f"node {_node(job)}: {words}"
                del waiting[uid]
    return [lost[job["metadata"]["uid"]] for job in jobs if job["metadata"]["uid"] in lost]


def trouble_of(pod: Object | None, since: dict[str, float]) -> tuple[str, bool]:
    """Why a pod has not got its images, and whether that is final. C(since): when that of a pod began."""
    if pod is None:
        return "", False
    status, uid = pod.get("status") or {}, pod["metadata"]["uid"]
    if status.get("phase") == "Failed" and not status.get("containerStatuses"):
        return f"its kubelet refuses the pod: {status.get('reason')}: {status.get('message')}", True
    images = pod_health.unpulled_images(pod)
    if images:
        now = time.monotonic()
        return "; ".join(images), now - since.setdefault(uid, now) >= _IMAGE_SECONDS
    # Between two attempts a container waits as if nothing had been: the time counts from the first that failed.
    return "; ".join(pod_health.pod_faults(pod)), False
