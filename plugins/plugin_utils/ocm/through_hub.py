# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Change a site through the hub: run its job, deploy its CA bundle, restart its SuperNodes.

A pod there can neither be queried nor deleted. But the site reports digests of its Secrets' content, and a change of
the pods' template makes their StatefulSet replace them, one after the other. So the template has a digest of these digests,
set when a key or secret was renewed, and kept by every other run: keys that join a pool restart no pod.
"""

from __future__ import annotations

import copy
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..apply.engine import apply_objects
from ..apply.results import Result
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.names import keys_secret
from ..base.object_names import TRUST_CONFIG
from ..kube.client import Cluster
from ..manifests import site_jobs
from ..rotation.authority import trust_bundle
from ..site_keys import keys, public, shipped
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, hub_reader, key_work, leaving, nodes_work
from . import statuses as works

Live = Mapping[str, Any]

# The site's own timeout is later than the control node's.
_HEADROOM = 60
# An agent retries what was refused: the namespace may be created a moment later.
_PATIENCE = 20.0

# A kubelet updates a changed ConfigMap after somewhat more than a minute (its sync period and its cache), and HAProxy then reloads.
PROPAGATION_SECONDS = 90.0


def addon_of(hub: Cluster, spec: SiteSpec) -> dict[str, Any] | None:
    """The site's ManagedClusterAddOn."""
    return hub.get(api.ADDONS, "ManagedClusterAddOn", spec.ocm_addon, spec.ocm_cluster)


def work_of(hub: Cluster, spec: SiteSpec, part: str = nodes_work.PART) -> dict[str, Any] | None:
    """One of the site's ManifestWorks, by default that with its SuperNodes."""
    return hub.get(api.WORKS, "ManifestWork", addon_objects.work_name(spec, part), spec.ocm_cluster)


class ThroughHub:
    """A site that is reached through the hub only.

    Args:
        owner: returns the live ManagedClusterAddOn, after applying it.
        first: see C(key_work.idle_work).
        seconds: how long to wait until the site has reported anything.
        check: nothing is written, and nothing waited for.
    """

    def __init__(
        self, hub: Cluster, spec: SiteSpec, owner: Callable[[], Live | None], *, first: Sequence[Live] = (), seconds: float, check: bool = False
    ) -> None:
        self.hub, self.spec, self.first = hub, spec, [dict(item) for item in first]
        self.seconds, self.check = seconds, check
        self.name = spec.cluster
        #: What became of the ManifestWork.
        self.written: list[Result] = []
        self._apply_owner, self._owner_is_known = owner, False
        self._owner: Live | None = None
        self._pending: public.Public | None = None

    def read(self) -> public.Public:
        """What the site reports now: nothing before the first request.

        Raises:
            ClusterError: it does not answer.
        """
        if self._pending is not None:
            reported, self._pending = self._pending, None
            return reported
        live = self._live()
        if live is not None and not self.check:
            live = self._answered(live, Clock(self.seconds))
        return key_work.result(live, self.spec.namespace)

    def make_room(self, seconds: float) -> bool:
        """Wait for the job of another run, for as long as it may take, and remove it."""
        clock, live = Clock(seconds), self._live()
        if not key_work.job_of(live):
            return False
        while key_work.job_of(live):
            state = key_work.job_state(live)
            if state.ready or state.failed or not clock.tick():
                break  # after that time its run has died, or the site does not report: replace it
            live = self._live()
        self.apply_idle_work()
        return True

    def run(self, request: Mapping[str, Any], seconds: int) -> None:
        """Let the site create its keys, and remove the job."""
        clock = Clock(seconds)
        idle = key_work.idle_work(self.spec, request["secrets"], self._addon(), self.first)
        self._apply(idle)
        live = self._answered(self._live(), clock)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": site_jobs.OWNER, "uid": key_work.owner_uid(live)}
        complete = {**request, "owner": reference}
        wanted = key_work.keygen_work(self.spec, complete, shipped.files(), seconds + _HEADROOM, self._addon(), self.first)
        try:
            self._apply(wanted)
            self._pending = key_work.result(self._wait(key_work.job_of(wanted), clock), self.spec.namespace)
        finally:
            self._apply(idle)

    def apply_idle_work(self) -> None:
        """Apply the idle ManifestWork in its current form: labels are updated, and a left-over job is removed."""
        live = self._live()
        if live is not None:
            pools = {pool.name for pool in self.spec.pools} | {pool.name for pool in key_work.result(live, self.spec.namespace).pools}
            names = sorted(site_jobs.secret_names(pools))
            self._apply(key_work.idle_work(self.spec, names, self._addon(), self.first), live)

    def _addon(self) -> Live | None:
        if not self._owner_is_known:
            self._owner, self._owner_is_known = self._apply_owner(), True
        return self._owner

    def _live(self) -> dict[str, Any] | None:
        return work_of(self.hub, self.spec, key_work.PART)

    def _apply(self, wanted: dict[str, Any], live: Live | None = None) -> None:
        wanted = hub_reader.with_watches(self.hub, wanted, live or self._live())
        self.written.append(apply_objects(self.hub, [wanted], check=self.check))

    def _answered(self, live: dict[str, Any] | None, clock: Clock) -> dict[str, Any] | None:
        """The ManifestWork once the site has reported something about its current form."""
        while not (works.applied(live).ready and key_work.owner_uid(live)):
            if not clock.tick():
                raise ClusterError(
                    f"{self.name}: the agents of the managed cluster {self.spec.ocm_cluster} have not applied the "
                    f"ManifestWork {addon_objects.work_name(self.spec, key_work.PART)} ({works.applied(live).why or 'no values were reported'}). "
                    "Check that the cluster is available, and that its work agent has the rights for the refused objects. Then run again."
                )
            live = self._live()
        return live

    def _wait(self, job: str, clock: Clock) -> dict[str, Any] | None:
        patience = Clock(_PATIENCE)
        while True:
            live = self._live()
            if key_work.job_of(live) != job:
                raise ClusterError(f"{self.name}: another run is creating keys there; run again when it is complete.")
            state, there = key_work.job_state(live), works.applied(live)
            if state.ready:
                return live
            if state.failed or (there.failed and patience.is_over()) or not clock.tick():
                why = there.why if there.failed else state.why
                raise ClusterError(
                    f"{self.name}: job {self.spec.namespace}/{job} on the managed cluster {self.spec.ocm_cluster} could not "
                    f"create the site's keys: {why}. Its log is available in its pod, in that cluster: kubectl logs -n "
                    f"{self.spec.namespace} job/{job}. The state is consistent: run again after resolving it."
                )


def job_access(hub: Cluster, spec: SiteSpec, seconds: float, *, check: bool = False) -> ThroughHub:
    """The connection to the job of a site to which SuperNodes were delivered."""
    first = [item for item in works.listed_manifests(work_of(hub, spec, key_work.PART)) if item.get("kind") == "Namespace"]

    def owner() -> dict[str, Any]:
        found = addon_of(hub, spec)
        if found is None:
            raise ClusterError(
                f"{spec.cluster}: the managed cluster {spec.ocm_cluster} does not have the add-on {spec.ocm_addon}: deploy the site first."
            )
        return found

    return ThroughHub(hub, spec, owner, first=first, seconds=seconds, check=check)


# ---- the CA bundle ---------------------------------------------------------------------------------------------------


def _trust_of(work: Live | None) -> dict[str, Any] | None:
    """The ConfigMap with the CA bundle in a ManifestWork."""
    which = ("ConfigMap", TRUST_CONFIG)
    return next((item for item in works.listed_manifests(work) if (item.get("kind"), item["metadata"]["name"]) == which), None)


def with_trust(work: Live, bundle: str) -> dict[str, Any] | None:
    """A ManifestWork with another trust, as it is applied; None when it has this one already. Pure."""
    wanted = {**nodes_work.identity(work), "spec": copy.deepcopy(work["spec"])}
    trust = _trust_of(wanted)
    if trust is None:
        raise ClusterError(f"the ManifestWork {work['metadata']['name']} has no ConfigMap {TRUST_CONFIG}: run site.yml for this site")
    if trust_bundle(trust["data"].get("ca.crt", "")) == trust_bundle(bundle):
        return None
    trust["data"]["ca.crt"] = bundle
    return wanted


def bundle_of(work: Live | None) -> str:
    """The CA bundle in a ManifestWork, PEM; empty where it has none. Pure."""
    return str(((_trust_of(work) or {}).get("data") or {}).get("ca.crt", ""))


def apply_trust(hub: Cluster, spec: SiteSpec, bundle: str, seconds: float, *, check: bool = False) -> tuple[str, list[dict[str, str]]]:
    """Have a site trust these CAs, and wait for as long as its pods need to notice.

    Args:
        spec: the site. Another federation may have one of the same name in the same cluster.
        bundle: PEM; empty to leave its trust alone.
        seconds: how long its agent may take.

    Returns:
        The CA bundle of the cluster now, and the changes of its ManifestWork in the format of C(apply); nothing if unchanged.

    Raises:
        ClusterError: nothing is delivered to it, or its agent does not take it over in time.
    """
    live = work_of(hub, spec)
    if live is None or leaving.site_of(live) != spec.cluster:
        raise ClusterError("nothing is delivered to it through Open Cluster Management: run site.yml for this site")
    wanted = with_trust(live, bundle) if bundle else None
    objects = apply_objects(hub, [wanted], check=check).objects if wanted else []
    if check:
        return (bundle if wanted else bundle_of(live)), objects
    clock = Clock(seconds)
    while not works.applied(live := work_of(hub, spec)).ready:
        if not clock.tick():
            raise ClusterError(f"its cluster {spec.ocm_cluster} has not applied its CA bundle: {works.applied(live).why}")
    if wanted:
        time.sleep(PROPAGATION_SECONDS)
    return bundle_of(live), objects


# ---- a restart -------------------------------------------------------------------------------------------------------


def mark(spec: SiteSpec, reported: public.Public, trusted: str = "") -> str:
    """The mark in the pods' template when all pods run with the current Secrets; C(trusted): and this CA bundle, if they read it at their start."""
    read = sorted([keys.SUPEREXEC, *(keys_secret(pool.name) for pool in spec.pools)])
    content: list[Any] = [[name, sorted(reported.digests.get(name, {}).items())] for name in read]
    if trusted and not spec.has_sidecar:
        content.append(trusted)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:12]


def outdated_pods(hub: Cluster, spec: SiteSpec, wanted: str) -> list[str]:
    """Names of the pods that do not have the mark yet."""
    live = work_of(hub, spec)
    return [] if nodes_work.mark_of(live) == wanted else nodes_work.pod_names(live)


def restart(hub: Cluster, spec: SiteSpec, wanted: str, seconds: float) -> None:
    """Have all pods replaced, and wait until those that take their place are ready.

    Raises:
        ClusterError: they are not ready in time.
    """
    live = work_of(hub, spec)
    if live is None:
        return  # deleted meanwhile, and the pods with it
    clock = Clock(seconds)
    apply_objects(hub, [nodes_work.remarked(live, wanted)])
    while not (state := nodes_work.state(live := work_of(hub, spec))).ready:
        if not clock.tick():
            why = "; ".join(filter(None, [state.why, nodes_work.trouble(live)]))
            raise ClusterError(
                f"pods of the managed cluster {spec.ocm_cluster} are being restarted and are not ready after {clock.seconds:g} s: {why}"
            )
