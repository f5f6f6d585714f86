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
from . import public, reported, shipped

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


def read(site: Cluster, namespace: str) -> public.Public:
    """What a site reports now."""
    return reported.read(site.get("v1", "ConfigMap", PUBLIC_KEYS, namespace))


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
        state, going = job_state(there), there["metadata"].get("deletionTimestamp")
        if not there["spec"].get("suspend"):
            suspended = Clock(_ORPHANED)
        is_over = state.failed or (state.ready and not there["spec"].get("suspend"))
        if not going and (is_over or suspended.is_over()):
            _delete(site, there)
        if not clock.tick():
            raise ClusterError(
                f"job {namespace}/{site_jobs.NAME} on {site.name}, which creates the site's keys, is still "
                f"{'being deleted' if going else 'running'} after {seconds:g} s. Another run of the role may have "
                "started it: wait for it, or delete the job, and run again."
            )
        there = site.get(*_JOB, namespace)
    return True


def _delete(site: Cluster, job: Mapping[str, Any]) -> None:
    """Delete exactly this job, with the objects that belong to it."""
    with contextlib.suppress(Conflict):  # then it is deleted, and another run's job has its name
        site.delete(*_JOB, job["metadata"]["namespace"], uid=job["metadata"]["uid"])


class AtSite:
    """Access to a site's job through the site's own API server, see C(site_keygen.Place)."""

    def __init__(self, site: Cluster, spec: SiteSpec) -> None:
        self.site, self.spec, self.name = site, spec, site.name

    def read(self) -> public.Public:
        """What the site reports now."""
        return read(self.site, self.spec.namespace)

    def make_room(self, seconds: float) -> bool:
        """See C(make_room) above."""
        return make_room(self.site, self.spec.namespace, seconds)

    def run(self, request: Mapping[str, Any], seconds: int) -> None:
        """Let the site create its keys. Needs no right on Secrets when C(given) below is true.

        Args:
            request: see C(maker.py), without C(owner).
            seconds: how long the job may take, image pull included.

        Raises:
            ClusterError: with the end of the job's log, or what its pod waits for.
        """
        site, spec = self.site, self.spec
        given = site.get("v1", "ServiceAccount", site_jobs.ACCESS, spec.namespace) is not None
        suffix = "".join(secrets.choice(string.ascii_lowercase) for _letter in range(5))
        account = site_jobs.ACCESS if given else site_jobs.own_name(suffix)
        program = shipped.files()
        owner = site.apply(site_jobs.owner(spec))
        reference = {"apiVersion": owner["apiVersion"], "kind": owner["kind"], "name": owner["metadata"]["name"], "uid": owner["metadata"]["uid"]}
        try:
            job = site.create(site_jobs.key_job(spec, account, suffix, program, seconds + _HEADROOM))
        except Conflict as error:
            raise ClusterError(
                f"another run of the role has just started to create keys on {site.name} ({error.text}); run again when it is complete."
            ) from error
        try:
            for item in site_jobs.belongings(spec, job, suffix, program, {**request, "owner": reference}, given=given):
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
            site.patch(*_JOB, spec.namespace, {"spec": {"suspend": False}})
            self._wait(job["metadata"]["uid"], seconds)
        finally:
            _delete(site, job)

    def _wait(self, uid: str, seconds: int) -> None:
        site, namespace = self.site, self.spec.namespace
        what = f"job {namespace}/{site_jobs.NAME} on {site.name}"
        clock, unmade = Clock(seconds), Clock(_NO_POD)
        while True:
            job = site.get(*_JOB, namespace)
            if job is None or job["metadata"]["uid"] != uid:
                raise ClusterError(f"{what} was deleted by someone else; run again.")
            state = job_state(job)
            if state.ready:
                return
            pods = site.list("v1", "Pod", namespace, labels=query(job["spec"]["selector"]["matchLabels"]))
            waits = [one.get("state", {}).get("waiting", {}) for pod in pods for one in pod.get("status", {}).get("containerStatuses", [])]
            hopeless = any(one.get("reason") in _HOPELESS for one in waits)
            if not pods and unmade.is_over():
                events = site.list("v1", "Event", namespace, fields=f"involvedObject.uid={uid}")
                hopeless = any(event.get("reason") == "FailedCreate" for event in events)
            if state.failed or hopeless or not clock.tick():
                why = state.why if state.failed else "its pod does not start" if hopeless else f"not done after {seconds} s"
                faults = [f"pod {pod['metadata']['name']}: {'; '.join(pod_faults(pod)) or 'no reason reported'}" for pod in pods]
                raise ClusterError(
                    f"{what} could not create the site's keys: {'. '.join([why, *faults, *Waiter(site, 0).events([job, *pods])])}. "
                    "The state is consistent: run again after resolving it."
                )
