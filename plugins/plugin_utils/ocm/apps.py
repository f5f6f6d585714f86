# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliver a site's ClientApps to a managed cluster through the hub: move the cluster from one version to another, and wait.

Two ManifestWorks must not own the same workload: which of them wins, and whether the workload is deleted with the old one
(ocm, C(DeleteAppliedResources), decides by the owners that it sees at that moment), would be undefined. So the cluster leaves
the old version first, and gets the new one when the old one is gone there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..apply.engine import apply_objects
from ..apply.label import set_label
from ..apply.readiness import State
from ..apply.results import Result
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.object_names import OCM_PACE, REPLICA_SET_PREFIX
from ..base.values import Object
from ..kube.client import Cluster
from ..spec.site_spec import SiteSpec
from . import addon_objects, api, app_versions, checks, hub_reader, nodes_work, statuses

# An agent retries what was refused: the namespace may be created a moment later.
_PATIENCE = 30.0
# How long the controller of ManifestWorkReplicaSets may take to report any status.
_SILENCE = 30.0


class Apps:
    """The ClientApps of one site.

    Args:
        workloads: the site's ClientApps; empty for a site without them.
        check: nothing is written, and nothing waited for.
        show_diff: keep what differs.
    """

    def __init__(self, hub: Cluster, spec: SiteSpec, workloads: Sequence[Object], *, check: bool = False, show_diff: bool = False) -> None:
        self.hub, self.spec, self.workloads, self.check, self.show_diff = hub, spec, list(workloads), check, show_diff
        self.results: list[Result] = []
        self.label = app_versions.label(spec.federation)
        self.version = app_versions.version(spec, self.workloads) if self.workloads else ""
        self._name = app_versions.name_of(self.version)
        self._is_paced = spec.clientapp_pace == OCM_PACE

    def bring(self, seconds: float | None, gate: Callable[[], None]) -> None:
        """Make sure that the cluster has this version; unless C(seconds) is None, wait until all pods are ready.

        Args:
            gate: called before ClientApps that are there are replaced; waits until they may be.

        Raises:
            ClusterError: not within this time, or the cluster refuses something.
        """
        current = self._current()
        changes = self._changes()
        moves = current != self.version
        # Also versions whose label has gone, and whose ClientApps have not: an agent was silent when they were to be deleted.
        before = self._versions(current) - {self.version} if moves else {current}
        # A Placement alone changes no pod.
        restarts = moves or any(item["kind"] == "ManifestWorkReplicaSet" for item in changes)
        if restarts and any(before) and not self.check:
            # In a cluster that does not report, running ClientApps are better than none.
            if silent := checks.unavailable(self.spec.ocm_cluster, self._cluster()):
                raise ClusterError(f"{self.spec.cluster}: {silent}. Its ClientApps were not changed; run again then.")
            gate()
        if changes:
            self.results.append(apply_objects(self.hub, changes, check=self.check, show_diff=self.show_diff))
        clock = Clock(seconds or 0)
        if moves:
            self._leave(before, Clock(max(seconds or 0, _SILENCE)))
            self._set(self.version)
        if seconds is not None and not self.check:
            self._wait(clock)

    def remove(self, seconds: float | None) -> None:
        """Remove the ClientApps; unless C(seconds) is None, wait until they are deleted in the cluster."""
        current = self._current()
        self._leave(self._versions(current) if seconds is not None else {current}, None if seconds is None else Clock(seconds))

    # ---- the cluster's version ---------------------------------------------------------------------------------------

    def _cluster(self) -> dict[str, Any]:
        live = self.hub.get(api.CLUSTERS, "ManagedCluster", self.spec.ocm_cluster)
        if live is None:
            raise ClusterError(f"{self.spec.cluster}: {checks.cluster(self.spec.ocm_cluster, None)[0]}.")
        return live

    def _current(self) -> str:
        """The version in the cluster's label; empty for none."""
        return str((self._cluster()["metadata"].get("labels") or {}).get(self.label) or "")

    def _versions(self, current: str) -> set[str]:
        """The versions that the cluster has, by its label and by the ManifestWorks of this federation's hub, which may stay longer."""
        prefix = f"{self.spec.hub_namespace}.{REPLICA_SET_PREFIX}"
        works = self.hub.list(api.WORKS, "ManifestWork", self.spec.ocm_cluster, labels=api.REPLICA_SET_LABEL)
        found = [work["metadata"]["labels"][api.REPLICA_SET_LABEL] for work in works]
        return {current, *(one.removeprefix(prefix) for one in found if one.startswith(prefix))} - {""}

    def _works(self, version: str) -> list[dict[str, Any]]:
        selector = f"{api.REPLICA_SET_LABEL}={self.spec.hub_namespace}.{app_versions.name_of(version)}"
        return self.hub.list(api.WORKS, "ManifestWork", self.spec.ocm_cluster, labels=selector)

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
        self.results.append(set_label(self.hub, self._cluster(), self.label, version, check=self.check, show_diff=self.show_diff))

    # ---- the version on the hub --------------------------------------------------------------------------------------

    def _replica_set(self) -> dict[str, Any] | None:
        return self.hub.get(api.REPLICA_SETS, "ManifestWorkReplicaSet", self._name, self.spec.hub_namespace)

    def _changes(self) -> list[Object]:
        """Those of the version's objects that are not there as they should be."""
        if live := self._replica_set():
            options = live["spec"]["manifestWorkTemplate"].get("manifestConfigs") or []
            rules, watches = any(one.get("conditionRules") for one in options), hub_reader.is_watched(live)
        else:
            known = hub_reader.document(self.hub, api.REPLICA_SETS)
            rules, watches = api.supports_replica_set_rules(known), api.supports_replica_set_watch(known)
        if self._is_paced and not rules:
            raise ClusterError(
                f"{self.spec.cluster}: supernode_clientapp_pace is ocm, but ManifestWorkReplicaSets of this hub do not support "
                "conditionRules, and would not wait for pods: set it to play, or upgrade Open Cluster Management to 1.1 or later"
            )
        wanted = app_versions.objects(self.spec, self.workloads, rules=rules)
        if watches:
            body = wanted[-1]["spec"]
            body["manifestWorkTemplate"] = hub_reader.watched(body["manifestWorkTemplate"])
        dry_run = apply_objects(self.hub, wanted, check=True, show_diff=self.show_diff)
        changed = {one["kind"] for one in dry_run.objects if one["change"] != "unchanged"}
        return [item for item in wanted if item["kind"] in changed]

    def _wait(self, clock: Clock) -> None:
        """Where the hub paces, the time counts from the cluster's own turn, and before that from the last step of the rollout."""
        spec, patience, silence = self.spec, Clock(_PATIENCE), Clock(_SILENCE)
        wanted = sorted(addon_objects.content_of(addon_objects.with_content(item)) for item in self.workloads)
        steps: set[str] = set()
        while True:
            work = next(iter(self._works(self.version)), None)
            has_content = work is not None and sorted(map(addon_objects.content_of, nodes_work.sets_of(work))) == wanted
            state = nodes_work.state(work) if has_content else State(False, "")
            if state.ready:
                return
            if self._is_paced:
                step = "its own turn" if has_content else rollout_step(self._replica_set())
                if step not in steps:
                    steps.add(step)
                    clock, patience = Clock(clock.seconds), Clock(_PATIENCE)
            refused = statuses.applied(work).failed and patience.is_over()
            unprocessed = work is None and silence.is_over() and not (self._replica_set() or {}).get("status")
            if not refused and not unprocessed and clock.tick():
                continue
            if unprocessed:
                why = (
                    f"no controller has processed the ManifestWorkReplicaSet {self._name}: check that the feature {api.GATE} is enabled on the hub. "
                    f"{api.REMEDY}"
                )
            else:
                why = state.why or self._unplaced(work)
            raise ClusterError(
                f"{spec.cluster}: the ClientApps of the managed cluster {spec.ocm_cluster} are not ready after "
                f"{clock.seconds:g} s: {'; '.join(filter(None, [why, nodes_work.trouble(work)]))}.{self._goes_on()}"
            )

    def _goes_on(self) -> str:
        """What continues after a turn that failed."""
        return (
            f" The hub's own rollout continues with the next clusters as soon as this one is ready (ManifestWorkReplicaSet "
            f"{self.spec.hub_namespace}/{self._name}). To end it, run again with the previous image."
            if self._is_paced
            else ""
        )

    def _unplaced(self, work: dict[str, Any] | None) -> str:
        """Why there is no ManifestWork of the present form."""
        if work is not None:
            return f"the ManifestWork {work['metadata']['name']} is still outdated"
        if self.spec.ocm_cluster in statuses.decisions(hub_reader.slices(self.hub, self.spec.hub_namespace, self._name)):
            return f"the ManifestWorkReplicaSet {self._name} has not created a ManifestWork for it yet"
        return (
            f"the Placement {self._name} has not selected it: it needs the label {api.ADDON_LABEL}{self.spec.ocm_addon}, which Open Cluster "
            "Management puts on clusters with the add-on, a cluster set of supernode_clientapp_cluster_sets, and the "
            "labels of supernode_clientapp_predicates"
        )


def rollout_step(replica_set: dict[str, Any] | None) -> str:
    """Where a rollout that the hub paces is: the numbers of clusters in each state. Numbers that it had before are no progress: the pods of a cluster may
    crash again and again."""
    status = (replica_set or {}).get("status") or {}
    return str((status.get("summary"), status.get("placementSummary")))
