# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Whether SuperNodes run that no hub of the inventory knows, as far as their pods report it."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Sequence

from ..apply.readiness import state
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.foreign_data import cleaned
from ..base.formats import moment
from ..base.values import Object
from ..kube import pod_health
from ..kube.client import Cluster
from ..manifests import supernode
from ..rotation.site_proof import CONTAINER
from .site import ACCEPTED_SECONDS, Facts, Site


def watch(cluster: Cluster, site: Site, live_pods: Callable[[], Sequence[Object]], keys: Sequence[Facts], expected: int) -> tuple[int, str]:
    """See C(site.SiteBackend.accepted). It ends early where a SuperNode has ended.

    Args:
        live_pods: lists the pods of the site's SuperNodes.

    Raises:
        ClusterError: pods are not ready in time, though none has ended: it is not their keys.
    """
    clock = Clock(site.seconds)
    while True:
        pods = [pod for pod in live_pods() if not pod["metadata"].get("deletionTimestamp")]
        accepted, ended = sum(_is_accepted(pod, cluster.skew) for pod in pods), any(map(_has_ended, pods))
        if ended or (accepted >= expected and _are_ready(cluster, site, keys)):
            break
        if not clock.tick():
            if sum(map(pod_health.is_ready, pods)) >= expected:
                break
            raise ClusterError(f"pods are not ready after {site.seconds} s: {cleaned(pod_health.summary(pods))}.")
    return accepted, "" if accepted >= expected else f"Pods: {cleaned(pod_health.summary(pods))}."


def _are_ready(cluster: Cluster, site: Site, keys: Sequence[Facts]) -> bool:
    """Whether no pod is about to be replaced. Nodes that are not ready do not count."""
    for pool in site.spec.pools:
        live = cluster.get("apps/v1", pool.mode, supernode.workload_name(pool.name), site.namespace)
        away = sum(key["pool"] == pool.name and not key["expected"] for key in keys)
        if live is None or not state(live, away=away).ready:
            return False
    return True


def _supernode(pod: Object) -> Object:
    """The state of a pod's SuperNode."""
    statuses = (pod.get("status") or {}).get("containerStatuses") or []
    return next((one.get("state") or {} for one in statuses if one["name"] == CONTAINER), {})


def _is_accepted(pod: Object, skew: float | None) -> bool:
    began = moment((_supernode(pod).get("running") or {}).get("startedAt"))
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=skew or 0)
    return began is not None and pod_health.is_ready(pod) and (now - began).total_seconds() >= ACCEPTED_SECONDS


def _has_ended(pod: Object) -> bool:
    found = _supernode(pod)
    return "terminated" in found or (found.get("waiting") or {}).get("reason") == "CrashLoopBackOff"
