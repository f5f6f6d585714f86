# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Deliver a site's ClientApps to a managed cluster through the hub: move the cluster from one version to another, and wait.

Two ManifestWorks must not own the same workload: which of them wins, and whether the workload is deleted with the old one
(ocm, C(DeleteAppliedResources), decides by the owners that it sees at that moment), would be undefined. So the cluster leaves
the old version first, and gets the new one when the old one is gone there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..apply.engine import apply_objects
from ..apply.label import set_label
from ..apply.results import Result
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.object_names import OCM_PACE, REPLICA_SET_PREFIX
from ..base.values import Object
from ..kube.client import Cluster
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, app_versions, checks, hub_features, hub_reader, nodes_work, statuses
from . import statuses as works

# An agent retries what was refused: the namespace may be created a moment later.
_PATIENCE = 30.0
# How long the controller of ManifestWorkReplicaSets may take to report any status.
_SILENCE = 30.0


class Pace:
    """Progress of a rollout that the hub paces, from the view of one cluster.

    Numbers of a cluster whose pods crash again and again do not count as progress.
    """

    _STEPS = 4  # changes of the numbers for each cluster: applied, progressing, available, and one to spare

    def __init__(self) -> None:
        self._seen: Any = None
        self._own = False
        self._moves = 0

    def moved(self, replica_set_of: Mapping[str, Any] | None) -> bool:
        """Whether there was progress since the last call: the numbers of clusters in each state have changed, or it is
        this cluster's turn.

        Args:
            replica_set_of: the ManifestWorkReplicaSet, live; None in the cluster's own turn.
        """
        if replica_set_of is None:
            first, self._own = not self._own, True
            return first
        reported = replica_set_of.get("status") or {}
        summary = reported.get("summary") or {}
        now = [summary, reported.get("placementSummary")]
        moved, self._seen = now != self._seen, now
        self._moves += moved
        return moved and self._moves <= self._STEPS * (1 + int(summary.get("total") or 0))


class Apps:
    """The ClientApps of one site.

    Args:
        hub: a connection to it.
        workloads: the site's ClientApps; empty for a site without them.
        check: nothing is written, and nothing waited for.
        show_diff: keep what differs.
    """

    def __init__(
        self, hub: Cluster, spec: SiteSpec, workloads: Sequence[Object], *, check: bool = False, show_diff: bool = False
    ) -> None:
        self.hub, self.spec, self.workloads, self.check, self.show_diff = hub, spec, list(workloads), check, show_diff
        self.results: list[Result] = []
        self.label = app_versions.label(spec.federation)
        self.version = app_versions.version(spec, self.workloads) if self.workloads else ""

    def bring(self, seconds: float | None, gate: Callable[[], None]) -> None:
        """Make sure that the cluster has this version; unless C(seconds) is None, wait until all pods are ready.

        Args:
            seconds: how long to wait.
            gate: called before ClientApps that are there are replaced; waits until they may be.

        Raises:
            ClusterError: not within this time, or the cluster refuses something.
        """
        current = self._current()
        changes = self._make()
        moves = current != self.version
        # Also versions whose label has gone, and whose ClientApps have not: an agent was silent when they were to be deleted.
        before = self._held(current) - {self.version} if moves else {current}
        # A Placement alone changes no pod.
        restarts = moves or any(item["kind"] == "ManifestWorkReplicaSet" for item in changes)
        if restarts and any(before) and not self.check:
            self._refuse_unheard()
            gate()
        if changes:
            self._apply(changes)
        clock = Clock(seconds or 0)
        if moves:
            self._leave(before, Clock(max(seconds or 0, _SILENCE)))
            self._set(self.version)
        if seconds is not None and not self.check:
            self._wait(clock)

    def remove(self, seconds: float | None) -> None:
        """Remove the ClientApps; unless C(seconds) is None, wait until they are deleted in the cluster."""
        current = self._current()
        self._leave(self._held(current) if seconds is not None else {current}, None if seconds is None else Clock(seconds))

    def _held(self, current: str) -> set[str]:
        """The versions that the cluster has, by its label and by the ManifestWorks of this federation's hub, which may stay longer."""
        prefix = f"{self.spec.hub_namespace}.{REPLICA_SET_PREFIX}"
        found = [
            work["metadata"]["labels"][api.REPLICA_SET_LABEL]
            for work in self.hub.list(api.WORKS, "ManifestWork", self.spec.ocm_cluster, labels=api.REPLICA_SET_LABEL)
        ]
        return {current, *(one.removeprefix(prefix) for one in found if one.startswith(prefix))} - {""}

    def _current(self) -> str:
        """The version that the cluster has; empty for none."""
        return str((self._cluster()["metadata"].get("labels") or {}).get(self.label) or "")

    def _cluster(self) -> dict[str, Any]:
        name = self.spec.ocm_cluster
        live = self.hub.get(api.CLUSTERS, "ManagedCluster", name)
        if live is None:
            raise ClusterError(f"{self.spec.cluster}: {checks.cluster(name, None)[0]}.")
        return live

    def _refuse_unheard(self) -> None:
        """In a cluster that does not report, running ClientApps are better than none."""
        silent = checks.unavailable(self.spec.ocm_cluster, self._cluster())
        if silent:
            raise ClusterError(f"{self.spec.cluster}: {silent}. Its ClientApps stay as they are; run again then.")

    def _make(self) -> list[Object]:
        """Those of the version's objects that are not there as they should be."""
        name = app_versions.name_of(self.version)
        live = self.hub.get(api.REPLICA_SETS, "ManifestWorkReplicaSet", name, self.spec.hub_namespace)
        known = {} if live else hub_features.document(self.hub, api.REPLICA_SETS)
        rules = _has_rules(live) if live else api.supports_replica_set_rules(known)
        watches = hub_features.is_watched(live) if live else api.supports_replica_set_watch(known)
        if self.spec.clientapp_pace == OCM_PACE and not rules:
            raise ClusterError(
                f"{self.spec.cluster}: supernode_clientapp_pace is ocm, but ManifestWorkReplicaSets of this hub do not support "
                "conditionRules, and would not wait for pods: set it to play, or upgrade Open Cluster Management to 1.1 or later"
            )
        wanted = app_versions.objects(self.spec, self.workloads, rules=rules)
        if watches:
            body = wanted[-1]["spec"]
            body["manifestWorkTemplate"] = hub_features.watched(body["manifestWorkTemplate"])
        foreseen = apply_objects(self.hub, wanted, check=True, show_diff=self.show_diff)
        changed = {one["kind"] for one in foreseen.objects if one["change"] != "unchanged"}
        return [item for item in wanted if item["kind"] in changed]

    def _leave(self, versions: Iterable[str], clock: Clock | None) -> None:
        """Remove the label, and wait until objects of versions are deleted in the cluster."""
        left = {version for version in versions if version}
        if left:
            self._set(None)
        while clock is not None and not self.check and (left := {one for one in left if self._works(one)}):
            if not clock.tick():
                names = ", ".join(sorted(map(app_versions.name_of, left)))
                raise ClusterError(
                    f"{self.spec.cluster}: the managed cluster {self.spec.ocm_cluster} has not deleted its previous ClientApps "
                    f"(ManifestWork {names}) after {clock.seconds:g} s: its agent must clean up first. Run again: the next run waits for it, too."
                )

    def _set(self, version: str | None) -> None:
        """The label that selects the version: the only field of the ManagedCluster that is written, which may have those of other federations."""
        live, options = self._cluster(), {"check": self.check, "show_diff": self.show_diff}
        self.results.append(set_label(self.hub, live, self.label, version, **options))

    def live(self) -> dict[str, Any] | None:
        """The cluster's ManifestWork with this version; None while there is none."""
        return next(iter(self._works(self.version)), None)

    def _works(self, version: str) -> list[dict[str, Any]]:
        where = f"{self.spec.hub_namespace}.{app_versions.name_of(version)}"
        return self.hub.list(
            api.WORKS, "ManifestWork", self.spec.ocm_cluster, labels=f"{api.REPLICA_SET_LABEL}={where}"
        )

    def _wait(self, clock: Clock) -> None:
        """Where the hub paces, the time counts from the cluster's own turn, and before that from the last step of the rollout."""
        patience, silence, pace = Clock(_PATIENCE), Clock(_SILENCE), Pace()
        while True:
            work = next(iter(self._works(self.version)), None)
            state = nodes_work.state(work) if _is_current(work, self._wanted()) else None
            if state is not None and state.ready:
                return
            if self._is_paced() and pace.moved(self._replica_set() if state is None else None):
                clock, patience = Clock(clock.seconds), Clock(_PATIENCE)
            refused = works.applied(work).failed and patience.is_over()
            nobody = work is None and silence.is_over() and self._nobody_works()
            if refused or nobody or not clock.tick():
                why = [nobody or (state.why if state else self._unplaced(work)), nodes_work.trouble(work)]
                raise ClusterError(
                    f"{self.spec.cluster}: the ClientApps of the managed cluster {self.spec.ocm_cluster} are not ready after "
                    f"{clock.seconds:g} s: {'; '.join(filter(None, why))}.{self._armed()}"
                )

    def _is_paced(self) -> bool:
        return self.spec.clientapp_pace == OCM_PACE

    def _armed(self) -> str:
        """What continues after a turn that failed."""
        if not self._is_paced():
            return ""
        return (
            f" The hub's own rollout continues with the next clusters as soon as this one is ready (ManifestWorkReplicaSet "
            f"{self.spec.hub_namespace}/{app_versions.name_of(self.version)}). To end it, run again with the previous image."
        )

    def _wanted(self) -> list[str]:
        """Digests of the present form of each workload."""
        return sorted(addon_objects.content_of(addon_objects.with_content(item)) for item in self.workloads)

    def _unplaced(self, work: Mapping[str, Any] | None) -> str:
        """Why there is no ManifestWork of the present form."""
        if work is not None:
            return f"the ManifestWork {work['metadata']['name']} is still outdated"
        name = app_versions.name_of(self.version)
        if self.spec.ocm_cluster in statuses.decisions(hub_reader.slices(self.hub, self.spec.hub_namespace, name)):
            return f"the ManifestWorkReplicaSet {name} has not created a ManifestWork for it yet"
        return (
            f"the Placement {name} has not selected it: it needs the label {api.ADDON_LABEL}{self.spec.ocm_addon}, which Open Cluster "
            "Management puts on clusters with the add-on, a cluster set of supernode_clientapp_cluster_sets, and the "
            "labels of supernode_clientapp_predicates"
        )

    def _replica_set(self) -> dict[str, Any]:
        name = app_versions.name_of(self.version)
        return self.hub.get(api.REPLICA_SETS, "ManifestWorkReplicaSet", name, self.spec.hub_namespace) or {}

    def _nobody_works(self) -> str:
        """Why no controller processes ManifestWorkReplicaSets; empty when one does."""
        return "" if self._replica_set().get("status") else checks.unworked(app_versions.name_of(self.version))

    def _apply(self, objects: Sequence[Object]) -> None:
        self.results.append(apply_objects(self.hub, objects, check=self.check, show_diff=self.show_diff))


def _has_rules(live: Mapping[str, Any]) -> bool:
    options = live["spec"]["manifestWorkTemplate"].get("manifestConfigs") or []
    return any(one.get("conditionRules") for one in options)


def _is_current(work: Mapping[str, Any] | None, wanted: Sequence[str]) -> bool:
    """Whether a ManifestWork has the current form of the workloads."""
    return work is not None and sorted(addon_objects.content_of(item) for item in nodes_work.sets_of(work)) == list(
        wanted
    )
