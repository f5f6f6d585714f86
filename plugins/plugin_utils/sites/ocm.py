# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site that only the hub of Open Cluster Management reaches. Its cluster is never contacted."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..base import object_names
from ..base.errors import ClusterError
from ..base.object_names import SUPERNODE
from ..base.platforms import AUTO
from ..base.problems import require
from ..base.values import Object
from ..checks import dataset_checks, rehearsal
from ..manifests import common_objects, datasets, supernode
from ..ocm import api, clusters, health, hub_reader, nodes_work, through_hub
from ..ocm.delivery import Delivery
from ..ocm.through_hub import ThroughHub
from ..rotation.site_proof import Proof
from ..site_keys import site_keygen
from ..spec.part_spec import NOTHING
from ..spec.site_spec import SiteSpec
from ..state.audit_notes import of_objects
from . import direct_connection, removing
from .direct_certificates import require_own
from .direct_checks import refuse_level
from .key_sources import AtSite, key_result, wanted
from .site import Facts, KeyResult, PreflightResult, Restart, Run, Site, SiteBackend, StepResult

_HUB_SECONDS = 30  # a hub is read for many sites at once


class Backend(SiteBackend):
    """See C(site.SiteBackend)."""

    NO_PODS = "only the agent of its cluster can reach its pods"

    def __init__(self, run: Run, site: Site) -> None:
        super().__init__(run, site)
        self._version = ""  # of Kubernetes, as far as the hub knows it
        self._shared: SiteSpec | None = None  # as its variables have it, where it is in the hub's namespace

    def detect_platform(self) -> None:
        """See C(site.SiteBackend). What the hub knows of the managed cluster says what it is, and whether it is the hub's own one."""
        spec = self.site.spec
        sets_level = bool(common_objects.namespace_objects(spec)) and bool(common_objects.security_levels(spec))
        is_open, may_share = spec.platform in ("", AUTO), sets_level and self.site.namespace == self.site.hub_namespace
        if not (is_open or may_share):
            return
        seen = self.cluster.get(api.CLUSTERS, "ManagedCluster", spec.ocm_cluster) or {}
        self._version = _version(seen)
        if is_open:
            self.site.spec = spec.on(clusters.platform(seen))
        if may_share and clusters.is_hub(seen, self.cluster.server):  # the agent would undo the level that the hub alone decides
            self._shared, self.site.spec = self.site.spec, replace(self.site.spec, pod_security="")

    def preflight(self, hub: Facts) -> PreflightResult:
        """See C(site.SiteBackend)."""
        name = self.site.spec.ocm_cluster
        if self._shared is not None:
            refuse_level(self.cluster, self._shared, hub.get("pod_security"))
        warnings = hub_reader.at_site(self.cluster, self.site.spec, hub.get("ocm") or {}, claim=self.site.claim)
        other = self.run.claim(self.site.name, [f"managed cluster {self.cluster.server} {name}"])
        if other:
            raise ClusterError(
                f"this host and {other} are the same managed cluster {name}: they would overwrite each other. Deploy one of them in another "
                "place (ocm_name), or remove it from the inventory."
            )
        if any(pool.datasets for pool in self.site.spec.pools):
            mounted = [one for item in nodes_work.sets_of(self._nodes_work()) for one in object_names.mounted_datasets(item)]
            warnings += require(dataset_checks.unseen(self.site.spec, mounted))
        warnings += direct_connection.unseen(self.site.spec)
        warnings += self._rehearse()
        return PreflightResult(f"the ManagedCluster {name} can be reached through {self.cluster.name}", warnings)

    def _rehearse(self) -> list[str]:
        """Have the hub's API server test the site's workloads, since nothing asks that of the site; returns warnings."""
        wanted = supernode.objects(self.site.spec.complete())
        require(rehearsal.too_old(self._version, wanted))
        workloads = [item for item in wanted if item["kind"] in rehearsal.WORKLOADS]
        try:
            # Not in a namespace of that name: what the hub has there has nothing to do with the site.
            rehearsal.rehearse(self.cluster, workloads, {self.site.namespace}, SUPERNODE)
        except ClusterError as error:
            own = self._version or _version(self.cluster.get(api.CLUSTERS, "ManagedCluster", self.site.spec.ocm_cluster))
            hubs = str(self.cluster.request("GET", "/version")["gitVersion"])
            tried = f"tried on the hub (Kubernetes {hubs}), because the site (Kubernetes {own or 'unknown'}) cannot be queried: {error.message}"
            if own and rehearsal.release(own) > rehearsal.release(hubs):
                return [tried]  # what is new there is unknown to the hub
            raise ClusterError(tried) from error
        return []

    def numbers(self) -> dict[str, tuple[int, int]]:
        """See C(site.SiteBackend)."""
        return supernode.numbers(nodes_work.sets_of(self._nodes_work()))

    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeyResult:
        """See C(site.SiteBackend). The site's namespace is part of the add-on."""
        run, spec = self.run, self.site.spec
        needed, ready = wanted(self.site.name, spec, allocation, dead, lambda: self.cluster.list("v1", "Node"))
        # The certificate is issued for the key that is created now; it is not part of the add-on's template.
        drafted = replace(spec, client_certificate=spec.client_certificate or NOTHING)
        delivery = Delivery(self.cluster, drafted, supernode.objects(drafted), check=run.check, show_diff=run.show_diff)
        place = self._place(drafted, delivery)
        outcome = site_keygen.make(place, drafted, needed, self.site.seconds, check=run.check)
        if not run.rendering:  # it looks at the add-on, whose configuration may be another one in the repository
            place.apply_idle_work()
        results = [*delivery.results, *place.written]
        objects = [one for result in results for one in result.objects if one["change"] != "unchanged"]
        return key_result(
            outcome.found,
            KeyResult(
                changed=bool(outcome.found.reasons) or any(result.changed for result in results),
                diff=outcome.diff(self.site.namespace) if run.show_diff else [],
                objects=objects + outcome.objects(self.site.namespace),
            ),
            ready,
        )

    def _place(self, spec: SiteSpec, delivery: Delivery) -> ThroughHub:
        return ThroughHub(
            self.cluster, spec, delivery.apply_addon, seconds=self.site.seconds, check=self.run.check, first=delivery.first
        )

    def apply(self, objects: Sequence[Object], gate: Callable[[], None]) -> StepResult:
        """See C(site.SiteBackend)."""
        delivery = self._delivery(objects)
        if self.run.rendering:
            self.run.render(self.site.hub, delivery.configs, self.site.name)
            return StepResult()
        delivery.apply_nodes(delivery.apply_addon())
        try:
            if not self.run.check:
                delivery.wait(self.site.seconds)
            delivery.apply_apps(self.site.seconds, gate)
        except ClusterError as error:
            return self._done(delivery, error.message)
        return self._done(delivery)

    def apply_apps(self, objects: Sequence[Object], gate: Callable[[], None], seconds: int) -> StepResult:
        """See C(site.SiteBackend)."""
        delivery = self._delivery(objects)
        try:
            delivery.apply_apps(seconds, gate)
        except ClusterError as error:
            return self._done(delivery, error.message)
        return self._done(delivery)

    def _delivery(self, objects: Sequence[Object]) -> Delivery:
        return Delivery(self.cluster, self.site.spec, objects, check=self.run.check, show_diff=self.run.show_diff)

    @staticmethod
    def _done(delivery: Delivery, failed: str = "") -> StepResult:
        outcome = delivery.result()
        return StepResult(**{**outcome, "msg": failed or outcome["msg"]}, failed=bool(failed))

    def restart(self, wanted: Restart, result: Facts) -> None:
        """See C(site.SiteBackend). All pools at once: a pod there cannot be deleted."""
        spec, seconds = self.site.spec, self.site.seconds
        place = through_hub.job_access(self.cluster, spec, seconds, check=self.run.check)
        if wanted.mark and not self.run.check:
            result["changed"] |= AtSite(self.run, self.site, self.cluster, place).renew(wanted.mark)
        present = through_hub.mark(spec, place.read(), through_hub.bundle_of(self._nodes_work()))
        old = through_hub.outdated_pods(self.cluster, spec, present)
        if old:
            result["changed"] = True
            if not self.run.check:
                wanted.gate()
                through_hub.restart(self.cluster, spec, present, seconds)
                words = [f"restarted pod {self.site.namespace}/{name}" for name in old]
                self.run.note(self.site.name, words=words)
                for pool in spec.pools:
                    wanted.online(pool.name)
            result["restarted"] = old
        result["renewed"] = bool(wanted.mark)

    def trust(self, wanted: Proof, result: Facts) -> None:
        """See C(site.SiteBackend). Its pods cannot be queried: what its cluster has counts as accepted, after the restart of those that read it at start."""
        spec = self.site.spec
        trust, objects = through_hub.apply_trust(self.cluster, spec, "" if wanted.own_bundle else wanted.bundle, wanted.seconds, check=self.run.check)
        if not self.run.check:
            self.run.note(self.site.name, objects=of_objects(objects))
        result.update(changed=bool(objects), trust=trust)
        if wanted.own_bundle and wanted.bundle:
            require_own(trust, wanted.bundle)
            result["trust"] = wanted.bundle
        if wanted.bundle and not spec.has_sidecar and not self.run.check:
            place = through_hub.job_access(self.cluster, spec, wanted.seconds)
            if through_hub.outdated_pods(self.cluster, spec, through_hub.mark(spec, place.read(), trust)):
                result.update(stale=True, trouble="its SuperNodes still run with the CA bundle of their start")
                return
            seen = nodes_work.state(self._nodes_work())
            if not seen.ready:
                raise ClusterError(f"cannot determine whether its SuperNodes were restarted with its CA bundle: {seen.why}")
        result.update(
            accepts=sorted({serial for serial in wanted.wanted.values() if serial}),
            msg="its pods were not checked: it is reached through Open Cluster Management, and has the CA bundle",
        )

    def pod_summary(self) -> str:
        """See C(site.SiteBackend)."""
        spec = self.site.spec
        work = self._nodes_work()
        state = nodes_work.trouble(work) or nodes_work.state(work).why or "ready, according to its agent's last report"
        return f"Pods on {spec.ocm_cluster}: {state}."

    def _nodes_work(self) -> Object | None:
        return through_hub.work_of(self.cluster, self.site.spec)

    def drop_keys(self, extra: Mapping[str, Sequence[str]]) -> None:
        """See C(site.SiteBackend)."""
        place = self._place(self.site.spec, self._delivery(supernode.objects(self.site.spec)))
        AtSite(self.run, self.site, self.cluster, place).drop(extra)

    def remove(self, *, volumes: bool) -> StepResult:
        """See C(site.SiteBackend). Its keys are deleted with the other objects; claims of datasets stay."""
        delivery = self._delivery([])
        delivery.remove(self.site.seconds)
        done = self._done(delivery)
        claims = [one.claim_name for one in datasets.created(self.site.spec)]
        if done.changed and not self.run.check:
            done.volumes = removing.facts(self.site.namespace, dict.fromkeys(claims, removing.UNKNOWN), claims, wanted=volumes)
        kept = ", ".join(claims)
        if volumes and kept:
            done.warnings.append(
                f"{self.site.name}: the claims {kept} stay in namespace {self.site.namespace} of the managed cluster "
                f"{self.site.spec.ocm_cluster}: Open Cluster Management does not delete data. Its administrators can"
            )
        return done


def _version(cluster: Mapping[str, Any] | None) -> str:
    """The version of Kubernetes that a ManagedCluster reports; empty while it does not."""
    return str((((cluster or {}).get("status") or {}).get("version") or {}).get("kubernetes") or "")


def statuses(run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
    """See C(registry.Delivery). One list of each kind at the hub, for any number of sites."""
    groups: dict[tuple[str, str, str], dict[str, str]] = {}
    for site in sites:
        key = (site.hub, site.federation, site.spec.ocm_addon)
        groups.setdefault(key, {})[site.name] = site.spec.ocm_cluster
    found: dict[str, Facts] = {}
    for (host, federation, addon), own in groups.items():
        try:
            with run.connect(host, timeout=max(seconds, _HUB_SECONDS)) as hub:
                found |= health.read(hub, federation, addon, own)
        except ClusterError as error:
            found |= {name: health.unreachable_state(f"{name}: {error.message}") for name in own}
    return found
