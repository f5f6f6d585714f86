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
from ..hub.authority import trust_bundle
from ..kube.client import Cluster
from ..manifests import site_jobs
from ..site_keys import keys, public, shipped
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, hub_features, key_work, leaving, nodes_work
from . import statuses as works

# The site's own timeout is later than the control node's.
_HEADROOM = 60
# An agent retries what was refused: the namespace may be created a moment later.
_PATIENCE = 20.0

# A kubelet updates a changed ConfigMap after somewhat more than a minute (its sync period and its cache), and HAProxy then reloads.
SETTLES = 90.0
_OURS = ("labels", "annotations", "ownerReferences", "name", "namespace")


class ThroughHub:
    """A site that is reached through the hub only.

    Args:
        hub: a connection to it.
        owner: returns the live ManagedClusterAddOn, after applying it.
        first: see C(key_work.idle_work).
        seconds: how long to wait until the site has reported anything.
        check: nothing is written, and nothing waited for.
    """

    def __init__(
        self,
        hub: Cluster,
        spec: SiteSpec,
        owner: Callable[[], Mapping[str, Any] | None],
        *,
        first: Sequence[Mapping[str, Any]] = (),
        seconds: float,
        check: bool = False,
    ) -> None:
        self.hub, self.spec, self.owner, self.first = hub, spec, owner, [dict(item) for item in first]
        self.seconds, self.check = seconds, check
        self.name = spec.cluster
        #: What became of the ManifestWork.
        self.written: list[Result] = []
        self._made: Mapping[str, Any] | None = None
        self._watches: bool | None = None  # whether the hub's ManifestWorks support them
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
        if live is None or self.check:
            return key_work.result(live, self.spec.namespace)
        return key_work.result(self._answered(live, Clock(self.seconds)), self.spec.namespace)

    def make_room(self, seconds: float) -> bool:
        """Wait for the job of another run, for as long as it may take, and remove it."""
        clock, live = Clock(seconds), self._live()
        if not key_work.job_of(live):
            return False
        while key_work.job_of(live) and not (key_work.job_state(live).done or key_work.job_state(live).failed):
            if not clock.tick():
                break  # its run has died, or the site does not report: replace it
            live = self._live()
        self.settle()
        return True

    def run(self, request: Mapping[str, Any], seconds: int) -> None:
        """Let the site create its keys, and remove the job."""
        clock = Clock(seconds)
        owner = self._owner()
        self._apply(key_work.idle_work(self.spec, request["secrets"], owner, self.first))
        live = self._answered(self._live(), clock)
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": site_jobs.OWNER, "uid": key_work.owner_uid(live)}
        complete = {**request, "owner": reference}
        wanted = key_work.keygen_work(self.spec, complete, shipped.files(), seconds + _HEADROOM, owner, self.first)
        try:
            self._apply(wanted)
            live = self._wait(key_work.job_of(wanted), clock)
            self._pending = key_work.result(live, self.spec.namespace)
        finally:
            self._apply(key_work.idle_work(self.spec, request["secrets"], owner, self.first))

    def settle(self) -> None:
        """Apply the idle ManifestWork in its current form: labels are updated, and a left-over job is removed."""
        live = self._live()
        if live is not None:
            names = sorted(self._secrets(live))
            self._apply(key_work.idle_work(self.spec, names, self._owner(), self.first), live)

    def _owner(self) -> Mapping[str, Any] | None:
        if self._made is None:
            self._made = self.owner()
        return self._made

    def _secrets(self, live: Mapping[str, Any] | None) -> set[str]:
        reported = key_work.result(live, self.spec.namespace)
        return {
            *site_jobs.secret_names(pool.name for pool in self.spec.pools),
            *site_jobs.secret_names(pool.name for pool in reported.pools),
        }

    def _live(self) -> dict[str, Any] | None:
        name = addon_objects.work_name(self.spec, key_work.PART)
        return self.hub.get(api.WORKS, "ManifestWork", name, self.spec.ocm_cluster)

    def _apply(self, wanted: Mapping[str, Any], live: Mapping[str, Any] | None = None) -> None:
        if self._watches is None:
            self._watches = hub_features.served(self.hub, live or self._live())
        if self._watches:
            wanted = {**wanted, "spec": hub_features.watched(wanted["spec"])}
        self.written.append(apply_objects(self.hub, [wanted], check=self.check))

    def _answered(self, live: dict[str, Any] | None, clock: Clock) -> dict[str, Any] | None:
        """The ManifestWork once the site has reported something about its current form."""
        while not (works.applied(live).done and key_work.owner_uid(live)):
            if not clock.tick():
                raise ClusterError(
                    f"{self.name}: the agents of the managed cluster {self.spec.ocm_cluster} have not applied the "
                    f"ManifestWork {addon_objects.work_name(self.spec, key_work.PART)} ({works.applied(live).why or 'no values were reported'}). "
                    "Is the cluster available, and may its work agent write what is refused? Run again then."
                )
            live = self._live()
        return live

    def _wait(self, job: str, clock: Clock) -> dict[str, Any] | None:
        patience = Clock(_PATIENCE)
        while True:
            live = self._live()
            if key_work.job_of(live) != job:
                raise ClusterError(f"{self.name}: another run is creating keys there; run again when it is complete.")
            state = key_work.job_state(live)
            if state.done:
                return live
            there = works.applied(live)
            refused = there.failed and patience.is_over()
            if state.failed or refused or not clock.tick():
                why = there.why if there.failed else state.words
                raise ClusterError(
                    f"{self.name}: job {self.spec.namespace}/{job} on the managed cluster {self.spec.ocm_cluster} could not "
                    f"create the site's keys: {why}. Its log is available in its pod, in that cluster: kubectl logs -n "
                    f"{self.spec.namespace} job/{job}. The state is consistent: run again after resolving it."
                )


def with_trust(work: Mapping[str, Any], bundle: str) -> dict[str, Any] | None:
    """A ManifestWork with another trust, as it is applied; None when it has this one already. Pure."""
    wanted = copy.deepcopy(dict(work["spec"]))
    for item in wanted["workload"]["manifests"]:
        if (item.get("kind"), item["metadata"]["name"]) == ("ConfigMap", TRUST_CONFIG):
            if trust_bundle(item["data"].get("ca.crt", "")) == trust_bundle(bundle):
                return None
            item["data"]["ca.crt"] = bundle
            meta = {key: work["metadata"][key] for key in _OURS if work["metadata"].get(key)}
            return {"apiVersion": api.WORKS, "kind": "ManifestWork", "metadata": meta, "spec": wanted}
    raise ClusterError(
        f"the ManifestWork {work['metadata']['name']} has no ConfigMap {TRUST_CONFIG}: run site.yml for this site"
    )


def held(work: Mapping[str, Any] | None) -> str:
    """The CA bundle in a ManifestWork, PEM; empty where it has none. Pure."""
    for item in work["spec"]["workload"]["manifests"] if work else ():
        if (item.get("kind"), item["metadata"]["name"]) == ("ConfigMap", TRUST_CONFIG):
            return str(item["data"].get("ca.crt", ""))
    return ""


def bring(
    hub: Cluster, spec: SiteSpec, bundle: str, seconds: float, *, check: bool = False
) -> tuple[str, list[dict[str, str]]]:
    """Have a site trust these CAs, and wait for as long as its pods need to notice.

    Args:
        hub: a connection.
        spec: the site. Another federation may have one of the same name in the same cluster.
        bundle: PEM; empty to leave its trust alone.
        seconds: how long its agent may take.
        check: nothing is written.

    Returns:
        The CA bundle of the cluster now, and the changes of its ManifestWork in the format of C(apply); nothing if unchanged.

    Raises:
        ClusterError: nothing is delivered to it, or its agent does not take it over in time.
    """
    name, cluster = addon_objects.work_name(spec, nodes_work.PART), spec.ocm_cluster
    live = hub.get(api.WORKS, "ManifestWork", name, cluster)
    if live is None or leaving.site_of(live) != spec.cluster:
        raise ClusterError("nothing is delivered to it through Open Cluster Management: run site.yml for this site")
    wanted = with_trust(live, bundle) if bundle else None
    objects = apply_objects(hub, [wanted], check=check).objects if wanted else []
    if check:
        return (bundle if wanted else held(live)), objects
    clock = Clock(seconds)
    while True:
        live = hub.get(api.WORKS, "ManifestWork", name, cluster) or {}
        there = works.applied(live or None)
        if there.done:
            break
        if not clock.tick():
            raise ClusterError(f"its cluster {cluster} has not applied its CA bundle: {there.why}")
    if wanted:
        time.sleep(SETTLES)
    return held(live), objects


def place(hub: Cluster, spec: SiteSpec, seconds: float, *, check: bool = False) -> ThroughHub:
    """The way to the job of a site to which SuperNodes were delivered."""
    work = _live(hub, spec, key_work.PART)
    listed = ((((work or {}).get("spec") or {}).get("workload") or {}).get("manifests")) or []
    first = [item for item in listed if item.get("kind") == "Namespace"]
    return ThroughHub(hub, spec, lambda: _addon(hub, spec), first=first, seconds=seconds, check=check)


def _addon(hub: Cluster, spec: SiteSpec) -> dict[str, Any]:
    found = hub.get(api.ADDONS, "ManagedClusterAddOn", spec.ocm_addon, spec.ocm_cluster)
    if found is None:
        raise ClusterError(
            f"{spec.cluster}: the managed cluster {spec.ocm_cluster} does not have the add-on {spec.ocm_addon}: deploy the "
            "site first."
        )
    return found


def _live(hub: Cluster, spec: SiteSpec, part: str) -> dict[str, Any] | None:
    return hub.get(api.WORKS, "ManifestWork", addon_objects.work_name(spec, part), spec.ocm_cluster)


def mark(spec: SiteSpec, reported: public.Public, trusted: str = "") -> str:
    """The mark in the pods' template when all pods run with the current Secrets; C(trusted): and this CA bundle, if they read it at their start."""
    read = sorted([keys.SUPEREXEC, *(keys_secret(pool.name) for pool in spec.pools)])
    held: list[Any] = [[name, sorted(reported.digests.get(name, {}).items())] for name in read]
    if trusted and not spec.has_sidecar:
        held.append(trusted)
    return hashlib.sha256(json.dumps(held).encode()).hexdigest()[:12]


def old(hub: Cluster, spec: SiteSpec, wanted: str) -> list[str]:
    """Names of the pods that do not have the mark yet."""
    live = _live(hub, spec, nodes_work.PART)
    return [] if nodes_work.mark_of(live) == wanted else nodes_work.pod_names(live)


def restart(hub: Cluster, spec: SiteSpec, wanted: str, seconds: float) -> None:
    """Have all pods replaced, and wait until those that take their place are ready.

    Raises:
        ClusterError: they are not ready in time.
    """
    live = _live(hub, spec, nodes_work.PART)
    if live is None:
        return  # deleted meanwhile, and the pods with it
    clock = Clock(seconds)
    apply_objects(hub, [nodes_work.remarked(live, wanted)])
    while True:
        work: Mapping[str, Any] | None = _live(hub, spec, nodes_work.PART)
        state = nodes_work.state(work)
        if state.ready:
            return
        if not clock.tick():
            why = "; ".join(filter(None, [state.why, nodes_work.trouble(work)]))
            raise ClusterError(
                f"pods of the managed cluster {spec.ocm_cluster} are being restarted and are not ready after {clock.seconds:g} s: {why}"
            )
