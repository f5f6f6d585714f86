# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Runs the job of C(manifests/site_jobs.py) in a site's cluster: start, wait, report faults, remove."""

from __future__ import annotations

import contextlib
import secrets
import string
from collections.abc import Mapping
from typing import Any

from ..apply.readiness import job as job_state
from ..apply.wait import Clock, Waiter
from ..base.errors import ClusterError
from ..base.labels import query
from ..base.names import PUBLIC_KEYS
from ..kube.api_errors import Conflict, Forbidden
from ..kube.client import Cluster
from ..kube.pod_health import pod_faults
from ..manifests import site_jobs
from ..spec.site_spec import SiteSpec
from . import public, shipped

_JOB = ("batch/v1", "Job", site_jobs.NAME)
# A job is suspended while its objects are created, for one or two seconds. After this time its control node has died.
_ORPHANED = 15.0
# The control node times out first, while the pod with the reason still exists.
_HEADROOM = 60
# A pod that cannot be created now (a quota, a policy of the cluster) usually cannot be created later either.
_NO_POD = 20.0
# Why a container waits when waiting longer will not help.
_HOPELESS = frozenset(
    ["ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError"]
)


class AtSite:
    """Access to a site's job through the site's own API server, see C(site_keygen.Place).

    Args:
        site: a connection to it.
    """

    def __init__(self, site: Cluster, spec: SiteSpec) -> None:
        self.site, self.spec, self.name = site, spec, site.name

    def read(self) -> public.Public:
        """What the site reports now."""
        return read(self.site, self.spec.namespace)

    def make_room(self, seconds: float) -> bool:
        """See C(make_room) below."""
        return make_room(self.site, self.spec.namespace, seconds)

    def run(self, request: Mapping[str, Any], seconds: int) -> None:
        """See C(run) below."""
        run(self.site, self.spec, request, seconds)


def read(site: Cluster, namespace: str) -> public.Public:
    """What a site reports now."""
    return public.read(site.get("v1", "ConfigMap", PUBLIC_KEYS, namespace))


def make_room(site: Cluster, namespace: str, seconds: float) -> bool:
    """Wait for an earlier job, or remove it if its run has died; returns whether there was one.

    Raises:
        ClusterError: it is still there when time is up.
    """
    clock, suspended = Clock(seconds), Clock(_ORPHANED)
    there = site.get(*_JOB, namespace)
    if there is None:
        return False
    while there is not None:
        spec, going = there["spec"], there["metadata"].get("deletionTimestamp")
        if not spec.get("suspend"):
            suspended = Clock(_ORPHANED)
        if not going and (_is_over(there) or suspended.is_over()):
            _delete(site, there)
        if not clock.tick():
            raise ClusterError(
                f"job {namespace}/{site_jobs.NAME} on {site.name}, which creates the site's keys, is still "
                f"{'being deleted' if going else 'running'} after {seconds:g} s. Another run of the role may have "
                "started it: wait for it, or delete the job, and run again."
            )
        there = site.get(*_JOB, namespace)
    return True


def _is_over(job: Mapping[str, Any]) -> bool:
    state = job_state(job)
    return state.failed or (state.ready and not job["spec"].get("suspend"))


def run(site: Cluster, spec: SiteSpec, request: Mapping[str, Any], seconds: int) -> None:
    """Let the site create its keys.

    Args:
        site: a connection to the site's cluster; needs no right on Secrets when C(given) below is true.
        request: see C(maker.py), without C(owner).
        seconds: how long the job may take, image pull included.

    Raises:
        ClusterError: with the end of the job's log, or what its pod waits for.
    """
    namespace = spec.namespace
    given = site.get("v1", "ServiceAccount", site_jobs.ACCESS, namespace) is not None
    suffix = "".join(secrets.choice(string.ascii_lowercase) for _letter in range(5))
    account = site_jobs.ACCESS if given else site_jobs.own_name(suffix)
    program = shipped.files()
    owner = site.apply(site_jobs.owner(spec))
    belongs = {name: owner[name] for name in ("apiVersion", "kind")}
    belongs |= {name: owner["metadata"][name] for name in ("name", "uid")}
    try:
        job = site.create(site_jobs.key_job(spec, account, suffix, program, seconds + _HEADROOM))
    except Conflict as error:
        raise ClusterError(
            f"another run of the role has just started to create keys on {site.name} ({error.text}); run again when it is complete."
        ) from error
    try:
        for item in site_jobs.belongings(spec, job, suffix, program, {**request, "owner": belongs}, given=given):
            _create(site, item)
        site.patch(*_JOB, namespace, {"spec": {"suspend": False}})
        _wait(site, job, seconds)
    finally:
        _delete(site, job)


def _create(site: Cluster, item: dict[str, Any]) -> None:
    try:
        site.create(item)
    except Forbidden as error:
        if item["kind"] not in ("Role", "RoleBinding"):
            raise
        raise ClusterError(
            f"the identity used for {site.name} may not grant rights to the job that creates the keys ({error.text}). Let "
            f"the site's administrators create service account {site_jobs.ACCESS}, a role and a role binding of that name "
            f"in namespace {item['metadata']['namespace']}: it replaces these."
        ) from error


def _delete(site: Cluster, job: Mapping[str, Any]) -> None:
    """Delete exactly this job, with the objects that belong to it."""
    with contextlib.suppress(Conflict):  # then it is deleted, and another run's job has its name
        site.delete(*_JOB, job["metadata"]["namespace"], uid=job["metadata"]["uid"])


def _wait(site: Cluster, started: Mapping[str, Any], seconds: int) -> None:
    namespace = started["metadata"]["namespace"]
    clock, unmade = Clock(seconds), Clock(_NO_POD)
    while True:
        job = site.get(*_JOB, namespace)
        if job is None or job["metadata"]["uid"] != started["metadata"]["uid"]:
            raise ClusterError(f"job {namespace}/{site_jobs.NAME} on {site.name} was deleted by someone else; run again.")
        state = job_state(job)
        if state.ready:
            return
        labels = query(job["spec"]["selector"]["matchLabels"])
        pods = site.list("v1", "Pod", namespace, labels=labels)
        refused = not pods and unmade.is_over() and "FailedCreate" in _reasons(site, job)
        if state.failed:
            raise ClusterError(_words(site, job, state.why, pods))
        if refused or any(map(_is_hopeless, pods)):
            raise ClusterError(_words(site, job, "its pod does not start", pods))
        if not clock.tick():
            raise ClusterError(_words(site, job, f"not done after {seconds} s", pods))


def _reasons(site: Cluster, job: Mapping[str, Any]) -> set[str]:
    """The state of exactly this job, for messages."""
    events = site.list(
        "v1", "Event", job["metadata"]["namespace"], fields=f"involvedObject.uid={job['metadata']['uid']}"
    )
    return {str(event.get("reason")) for event in events}


def _is_hopeless(pod: Mapping[str, Any]) -> bool:
    statuses = pod.get("status", {}).get("containerStatuses", [])
    return any(one.get("state", {}).get("waiting", {}).get("reason") in _HOPELESS for one in statuses)


def _words(site: Cluster, job: Mapping[str, Any], why: str, pods: list[dict[str, Any]]) -> str:
    namespace = job["metadata"]["namespace"]
    faults = [f"pod {pod['metadata']['name']}: {'; '.join(pod_faults(pod)) or 'no reason reported'}" for pod in pods]
    return (
        f"job {namespace}/{site_jobs.NAME} on {site.name} could not create the site's keys: "
        + ". ".join([why, *faults, *Waiter(site, 0).events([job, *pods])])
        + ". The state is consistent: run again after resolving it."
    )
