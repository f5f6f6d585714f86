# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site whose own API server is reached."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..apply.engine import apply_objects
from ..apply.order import id_of
from ..apply.results import ApplyFailed
from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.labels import POOL_LABEL, query, selector
from ..base.object_names import SUPERNODE, TUNNEL_CONFIG
from ..base.platforms import AUTO
from ..base.problems import require
from ..base.values import Object
from ..checks import pod_needs
from ..kube import cluster_platform, nodes, pod_health, stuck_pods
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import clientapp, supernode
from ..marks import owners, proof
from ..rotation import outdated_pods
from ..rotation.site_proof import Proof
from ..spec.site_spec import DAEMON_SET
from ..state.ledger import NEW, Ledger
from . import direct_acceptance, direct_certificates, direct_checks, direct_connection, direct_pull, removing, workloads
from .key_sources import SOURCES, AtController, AtSite, away, key_result, note_secrets, wanted
from .site import (
    DATA_FAULTS,
    Facts,
    KeyResult,
    PreflightResult,
    PullResult,
    Restart,
    Run,
    Site,
    SiteBackend,
    StepResult,
    on_first_use,
    unexpected,
)

APPLYSET = "supernode"


class Backend(SiteBackend):
    """See C(site.SiteBackend)."""

    def __init__(self, run: Run, site: Site) -> None:
        super().__init__(run, site)
        self._login, self._obsolete = "", dict[str, str]()
        self._moved = False
        self._pods = proof.pods_query(site.federation, supernode.NAME)

    @on_first_use
    def cluster(self) -> Cluster:
        """The connection to the site's own API server, which is opened on first use."""
        cluster = self.run.connect(self.site.name)
        cluster.name = self.site.name
        return cluster

    def detect_platform(self) -> None:
        """See C(site.SiteBackend)."""
        if self.site.spec.platform in ("", AUTO):
            self.site.spec = self.site.spec.on(cluster_platform.find_platform(self.cluster))

    def preflight(self, hub: Facts) -> PreflightResult:
        """See C(site.SiteBackend)."""
        return direct_checks.check_cluster(self.run, self.cluster, self.site, hub)

    def numbers(self) -> dict[str, tuple[int, int]]:
        """See C(site.SiteBackend)."""
        labels = query(selector(self.site.federation, "supernode"))
        return supernode.numbers(self.cluster.list("apps/v1", "StatefulSet", self.site.namespace, labels=labels))

    @on_first_use
    def _nodes(self) -> list[Object]:
        return [nodes.shortened(node) for node in self.cluster.list("v1", "Node")]

    @on_first_use
    def _away(self) -> dict[str, list[str]]:
        """DaemonSet pool -> names of its nodes that are not ready. Nothing waits for pods there."""
        return away(self.site.spec, self._nodes) if self.site.spec.needs_nodes and not self.run.rendering else {}

    def _live_pods(self) -> list[Object]:
        """The pods of the site's SuperNodes."""
        return self.cluster.list("v1", "Pod", self.site.namespace, labels=self._pods)

    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeyResult:
        """See C(site.SiteBackend)."""

        def running_on(pool: str) -> set[str]:
            pods = self.cluster.list("v1", "Pod", self.site.namespace, labels=f"{self._pods},{POOL_LABEL}={pool}")
            return {str(pod["spec"].get("nodeName")) for pod in pods if not pod["metadata"].get("deletionTimestamp")}

        needed, ready = wanted(self.site.name, self.site.spec, allocation, dead, lambda: self._nodes, running_on)
        found, outcome = self._source.make(needed)
        self._login, self._obsolete = outcome.login, outcome.obsolete
        return key_result(found, outcome, ready)

    @property
    def _source(self) -> AtController | AtSite:
        return SOURCES[self.site.access.key_source](self.run, self.site, self.cluster)

    def apply(self, objects: Sequence[Object], gate: Callable[[], None]) -> StepResult:
        """See C(site.SiteBackend)."""
        done = self._apply(objects, gate, self.site.seconds, refresh_pods=True)
        self._moved = not self.run.check and any(map(direct_certificates.is_changed, done.objects))
        if self.run.rendering:
            return done
        for name, uid in self._obsolete.items() if not done.failed else ():
            if self.run.check:
                done.changed = True
                continue
            with contextlib.suppress(Conflict):  # another one has its name meanwhile, and stays
                self.cluster.delete("v1", "Secret", name, self.site.namespace, uid=uid)
                done.changed |= note_secrets(self.run, self.site, {name: "deleted"})
        for pool, listed in self._away.items():
            words = f"pool {pool}: the nodes {', '.join(listed)} are not ready; this run does not wait for their SuperNodes"
            done.warnings.append(named_hosts(self.site.name, words))
        changed = self._login or any(one["name"] == TUNNEL_CONFIG and one["change"] != "unchanged" for one in done.objects)
        if not self.site.spec.has_proxy or self.run.check or not (changed or done.failed):
            return done
        # Pods that do not become ready may wait for the proxy. Where something of it changed, pods still count as online.
        pods = self._live_pods()
        if done.failed:
            return replace(done, msg=done.msg + direct_connection.words(self.cluster, self.site.spec, pods))
        fault, warning = direct_connection.tried(self.cluster, self.site.spec, pods, self._login)
        done.warnings += [warning] if warning else []
        return replace(done, failed=True, msg=fault) if fault else done

    def pull(self, objects: Sequence[Object], seconds: int) -> PullResult:
        """See C(site.SiteBackend)."""
        away_nodes = {name for listed in self._away.values() for name in listed}
        return direct_pull.pull(self.run, self.cluster, self.site, objects, seconds, away_nodes)

    def apply_apps(self, objects: Sequence[Object], gate: Callable[[], None], seconds: int) -> StepResult:
        """See C(site.SiteBackend)."""
        warnings, spec = [], self.site.spec
        if not self.run.rendering:
            pool = next((pool.name for pool in spec.pools if pool.replicas), None)
            # SuperNodes that still have their own ClientApps beside them would never serve these.
            if pool is not None and self.cluster.get("v1", "Service", clientapp.listener_service(pool, 0), self.site.namespace) is None:
                raise ClusterError(
                    f"the SuperNodes in namespace {self.site.namespace} of {self.cluster.name} are not deployed for ClientApps in their own pods yet "
                    "(flower_clientapp: workload), and only federated.flower.site changes that. Run that first."
                )
            # As the checks of a site do: a workload is accepted without these, and has lost its first pod when the next one cannot start.
            warnings = require(direct_checks.check_datasets(self.cluster, spec))
            require(pod_needs.classes(self.cluster, objects, "supernode"))
        done = self._apply(objects, gate, seconds, prune=False)  # the SuperNodes are members, too
        return replace(done, warnings=[*warnings, *done.warnings])

    def remove_apps(self, seconds: float) -> StepResult:
        """See C(site.SiteBackend)."""
        apps = [item for item in supernode.clientapps(self.site.spec.complete()) if clientapp.is_one(item)]
        check, diff = self.run.check, self.run.show_diff
        gone = apply_objects(self.cluster, apps, state="absent", own_only=True, check=check, show_diff=diff, wait=True, wait_timeout=seconds)
        return StepResult.of(gone)

    def _apply(
        self,
        objects: Sequence[Object],
        gate: Callable[[], None],
        seconds: int,
        *,
        refresh_pods: bool = False,
        prune: bool | None = None,
    ) -> StepResult:
        run, site = self.run, self.site
        if run.rendering:
            run.render(site.name, objects)
            return StepResult()
        if not run.check and self._replaces_apps(objects):
            gate()
        daemons = {id_of(item): item["metadata"]["labels"].get(POOL_LABEL, "") for item in objects if item["kind"] == DAEMON_SET}
        try:
            result = apply_objects(
                self.cluster,
                objects,
                applyset=APPLYSET,
                applyset_namespace=site.namespace,
                prune=prune,
                check=run.check,
                show_diff=run.show_diff,
                owner=owners.deployment_notes(site.federation, site.name, site.identity) if refresh_pods else None,
                claim=site.claim,
                own_only=True,
                part=owners.PART_SITE,
                # A pod that is about to be replaced still counts as online at the hub. Without a hub, keys are registered after this.
                wait=not site.has_other_superlink,
                wait_timeout=seconds,
                image_seconds=site.image_seconds,
                away={which: len(self._away[pool]) for which, pool in daemons.items() if pool in self._away},
            )
        except ApplyFailed as error:
            return StepResult.of(error.result, failed=error.message)
        if refresh_pods and not run.check and (self._login or stuck_pods.are_files_changed(result.objects)):
            stuck_pods.touch_pods(self.cluster, site.namespace, self._pods)
        return StepResult.of(result)

    def _replaces_apps(self, objects: Sequence[Object]) -> bool:
        """Whether ClientApps in their own pods will be replaced."""
        apps = [item for item in objects if clientapp.is_one(item)]
        if not apps:
            return False
        # With the label of the set, as they are applied: without it, each of them would differ.
        foreseen = apply_objects(
            self.cluster, apps, applyset=APPLYSET, applyset_namespace=self.site.namespace, prune=False, check=True
        )
        return any(one["change"] == "changed" for one in foreseen.objects)

    def restart(self, wanted: Restart, result: Facts) -> None:
        """See C(site.SiteBackend)."""
        site = self.site
        if wanted.mark and not self.run.check:
            result["changed"] |= self._source.renew(wanted.mark)
        old = direct_certificates.old(self.cluster, site, wanted.files, self._source.digests, check=self.run.check)
        for pool, found in old.items():
            result["changed"] = True
            if self.run.check:
                result["restarted"] += [pod["metadata"]["name"] for pod in found]
                continue
            wanted.gate()
            result["restarted"] += outdated_pods.replace_pods(self.cluster, site.namespace, site.federation, found, site.seconds, self._note)
            wanted.online(pool)
        result["renewed"] = bool(wanted.mark)

    def _note(self, **facts: Any) -> None:
        self.run.note(self.site.name, **facts)

    def trust(self, wanted: Proof, result: Facts) -> None:
        """See C(site.SiteBackend)."""
        direct_certificates.prove(self.run, self.cluster, self.site, wanted, result)

    def measure(self, published: Mapping[str, str], idle: float = 0) -> dict[str, Facts] | None:
        """See C(site.SiteBackend)."""
        address = self.site.spec.superlink_address or published["address"]
        return direct_connection.measure(self.cluster, self.site.spec, address, published["server_name"], idle)

    def pod_summary(self) -> str:
        """See C(site.SiteBackend)."""
        found = self._live_pods()
        return f"Pods on {self.site.name}: {pod_health.summary(found)}.{direct_connection.words(self.cluster, self.site.spec, found)}"

    def connectivity_error(self) -> tuple[str, str]:
        """See C(site.SiteBackend)."""
        if not self._moved or self.site.spec.has_proxy:  # C(apply) has asked
            return "", ""
        return direct_certificates.tried(self.cluster, self.site.spec, self._live_pods(), self.site.seconds)

    def accepted(self, keys: Sequence[Facts], expected: int) -> tuple[int, str]:
        """See C(site.SiteBackend)."""
        return direct_acceptance.watch(self.cluster, self.site, self._live_pods, keys, expected)

    def pods(self) -> list[Object] | None:
        """See C(site.SiteBackend)."""
        return self._live_pods()

    def restart_pods(self, pods: Sequence[Object]) -> None:
        """See C(site.SiteBackend)."""
        outdated_pods.delete_pods(self.cluster, self.site.namespace, pods, self._note)

    def drop_keys(self, extra: Mapping[str, Sequence[str]]) -> None:
        """See C(site.SiteBackend)."""
        self._source.drop(extra)

    def remove(self, *, volumes: bool) -> StepResult:
        """See C(site.SiteBackend)."""
        site, identity = self.site, self.site.identity
        if not site.claim and not site.has_other_superlink:
            try:
                with self.run.connect(site.hub) as hub:
                    identity = Ledger(hub, site.hub_namespace, site.federation).identity()
            except ClusterError as error:
                raise ClusterError(
                    f"{error.message} If the hub is lost: -e flower_claim_sites=true removes the site without it."
                ) from error
        wanted = removing.Removal(
            site.namespace,
            SUPERNODE,
            site.federation,
            site=site.name,
            identity="" if identity == NEW else identity,  # the hub has no ledger any more
            claim=site.claim,
            credentials=True,
            volumes=volumes,
            skupper=site.access.connectivity == "skupper",
            key_source=site.access.key_source,
            seconds=site.seconds,
        )
        return removing.remove(self.cluster, wanted, check=self.run.check)


def statuses(run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
    """See C(registry.Delivery). Several clusters are read at the same time."""

    def one(site: Site) -> Facts:
        found = workloads.unknown(skupper=site.access.connectivity == "skupper")
        try:
            with run.connect(site.name, timeout=seconds) as cluster:
                cluster.name = site.name
                workloads.read(cluster, site.namespace, found)
        except ClusterError as error:
            found.update(reachable=False, error=named_hosts(site.name, error.message))
        except DATA_FAULTS as error:
            found.update(reachable=False, error=named_hosts(site.name, unexpected(error)))
        return found

    with ThreadPoolExecutor(max(1, min(workers, len(sites)))) as pool:
        return dict(zip([site.name for site in sites], pool.map(one, sites)))
