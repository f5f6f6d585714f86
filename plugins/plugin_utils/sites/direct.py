# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site whose own API server is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from ..apply.engine import apply_objects
from ..apply.order import Id, id_of
from ..apply.results import ApplyFailed
from ..base.errors import ClusterError
from ..base.formats import named_hosts
from ..base.labels import POOL_LABEL, query, selector
from ..base.object_names import SUPERNODE, TUNNEL_CONFIG
from ..base.platforms import AUTO
from ..base.problems import require
from ..base.values import Object
from ..checks import pod_needs
from ..kube import cluster_platform, pod_health, stuck_pods
from ..kube.api_errors import Conflict
from ..kube.client import Cluster
from ..manifests import clientapp, supernode
from ..marks import owners, proof
from ..rotation.site_proof import Proof
from ..spec.site_spec import DAEMON_SET
from ..state.ledger import NEW, Ledger
from . import direct_certificates, direct_checks, direct_connection, direct_pull, removing, workloads
from .key_sources import SOURCES, KeySource, away, made, note_secrets, wanted
from .site import DATA_FAULTS, Done, Facts, KeysMade, Looked, Pulled, Restart, Run, Site, unexpected

APPLYSET = "supernode"


class Way:
    """See C(site.Reach).

    Args:
        run: the run.
        site: the site.
    """

    def __init__(self, run: Run, site: Site) -> None:
        self.run, self.site = run, site
        self._cluster: Cluster | None = None
        self._login, self._obsolete = "", dict[str, str]()
        self._away: dict[str, list[str]] | None = None
        self._moved = False
        self._pods = proof.pods_query(site.federation, supernode.NAME)

    @property
    def cluster(self) -> Cluster:
        """The connection, which is opened on first use."""
        if self._cluster is None:
            self._cluster = self.run.connect(self.site.name)
            self._cluster.name = self.site.name
        return self._cluster

    def rest(self) -> None:
        """See C(site.Reach)."""
        if self._cluster is not None:
            self._cluster.close()

    def settle(self) -> None:
        """See C(site.Reach)."""
        if self.site.spec.platform in ("", AUTO):
            self.site.spec = self.site.spec.on(cluster_platform.find_platform(self.cluster))

    def preflight(self, hub: Facts) -> Looked:
        """See C(site.Reach)."""
        return Looked(**direct_checks.check_cluster(self.run, self.cluster, self.site, hub))

    def numbers(self) -> dict[str, tuple[int, int]]:
        """See C(site.Reach)."""
        labels = query(selector(self.site.federation, "supernode"))
        return supernode.numbers(self.cluster.list("apps/v1", "StatefulSet", self.site.namespace, labels=labels))

    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeysMade:
        """See C(site.Reach)."""
        needed, ready = wanted(
            self.site.name,
            self.site.spec,
            allocation,
            dead,
            self._list_nodes,
            self._running_on,
        )
        found, outcome = self._source.make(needed)
        self._login, self._obsolete = outcome.login, outcome.obsolete
        return made(found, outcome, ready)

    def _list_nodes(self) -> list[Object]:
        """The cluster's nodes. Those that are not ready are kept: nothing waits for pods there."""
        found = self.cluster.list("v1", "Node")
        self._away = away(self.site.spec, found)
        return found

    def _running_on(self, pool: str) -> set[str]:
        """Names of the nodes on which a pool has a pod."""
        found = self.cluster.list("v1", "Pod", self.site.namespace, labels=f"{self._pods},{POOL_LABEL}={pool}")
        return {str(pod["spec"].get("nodeName")) for pod in found if not pod["metadata"].get("deletionTimestamp")}

    @property
    def _source(self) -> KeySource:
        return SOURCES[self.site.access.key_source](self.run, self.site, self.cluster)

    def apply(self, objects: Sequence[Object], gate: Callable[[], None]) -> Done:
        """See C(site.Reach)."""
        done = self._apply(objects, gate, self.site.seconds, refresh_pods=True)
        self._moved = not self.run.check and any(map(direct_certificates.is_changed, done.objects))
        if self._obsolete and not done.failed and not self.run.rendering:
            done.changed |= self.run.check or self._drop_obsolete()
        for pool, listed in (self._away or {}).items() if not self.run.rendering else ():
            words = f"pool {pool}: not ready are the nodes {', '.join(listed)}; their SuperNodes are not waited for"
            done.warnings.append(named_hosts(self.site.name, words))
        return self._try_proxy(done)

    def _drop_obsolete(self) -> bool:
        """Delete exactly the Secrets that were seen; another one that has the name of one meanwhile stays. Returns whether any went."""
        gone = False
        for name, uid in self._obsolete.items():
            try:
                self.cluster.delete("v1", "Secret", name, self.site.namespace, uid=uid)
            except Conflict:
                continue
            gone |= note_secrets(self.run, self.site, {name: "deleted"})
        return gone

    def _try_proxy(self, done: Done) -> Done:
        """Whether the hub is reached through the HTTP proxy; asked when something of it changed, since pods still count as online then.

        Pods that do not become ready may wait for the proxy: what their tunnel says is added to the message.
        """
        if not self.site.spec.has_proxy or self.run.check or self.run.rendering:
            return done
        changed = self._login or any(one["name"] == TUNNEL_CONFIG and one["change"] != "unchanged" for one in done.objects)
        if not changed and not done.failed:
            return done
        pods = self.cluster.list("v1", "Pod", self.site.namespace, labels=self._pods)
        if done.failed:
            return replace(done, msg=done.msg + direct_connection.words(self.cluster, self.site.spec, pods))
        fault, warning = direct_connection.tried(self.cluster, self.site.spec, pods, self._login)
        done.warnings += [warning] if warning else []
        return replace(done, failed=True, msg=fault) if fault else done

    def pull(self, objects: Sequence[Object], seconds: int) -> Pulled:
        """See C(site.Reach)."""
        if self.site.spec.needs_nodes:
            self._list_nodes()
        away_nodes = {name for listed in (self._away or {}).values() for name in listed}
        return direct_pull.pull(self.run, self.cluster, self.site, objects, seconds, away_nodes)

    def apply_apps(self, objects: Sequence[Object], gate: Callable[[], None], seconds: int) -> Done:
        """See C(site.Reach)."""
        warnings = []
        if not self.run.rendering:
            self._refuse_before_switch()
            # As the checks of a site do: a workload is accepted without these, and has lost its first pod when the next one cannot start.
            warnings = require(direct_checks.check_datasets(self.cluster, self.site.spec))
            require(pod_needs.classes(self.cluster, objects, "supernode"))
        done = self._apply(objects, gate, seconds, prune=False)  # the SuperNodes are members, too
        return replace(done, warnings=[*warnings, *done.warnings])

    def _refuse_before_switch(self) -> None:
        """Refuse ClientApps where the SuperNodes still have their own beside them, and would never serve these."""
        pool = next((pool.name for pool in self.site.spec.pools if pool.replicas), None)
        if pool is None or self.cluster.get("v1", "Service", clientapp.listener_service(pool, 0), self.site.namespace) is not None:
            return
        raise ClusterError(
            f"the SuperNodes in namespace {self.site.namespace} of {self.cluster.name} are not deployed for ClientApps in their own pods yet "
            "(flower_clientapp: workload), and only federated.flower.site changes that. Run that first."
        )

    def _apply(
        self,
        objects: Sequence[Object],
        gate: Callable[[], None],
        seconds: int,
        *,
        refresh_pods: bool = False,
        prune: bool | None = None,
    ) -> Done:
        if self.run.rendering:
            self.run.render(self.site.name, objects)
            return Done()
        if not self.run.check and self._replaces_apps(objects):
            gate()
        if self._away is None and not self.run.check and self.site.spec.needs_nodes:
            self._list_nodes()  # without TLS there are no keys, for which they would have been read
        try:
            result = apply_objects(
                self.cluster,
                objects,
                applyset=APPLYSET,
                applyset_namespace=self.site.namespace,
                prune=prune,
                check=self.run.check,
                show_diff=self.run.show_diff,
                owner=owners.deployment_notes(self.site.federation, self.site.name, self.site.identity) if refresh_pods else None,
                claim=self.site.claim,
                own_only=True,
                part=owners.PART_SITE,
                wait=True,  # a pod that is about to be replaced still counts as online at the hub
                wait_timeout=seconds,
                image_seconds=self.site.image_seconds,
                away=self._away_of(objects),
            )
        except ApplyFailed as error:
            return Done.of(error.result, failed=error.message)
        if refresh_pods and not self.run.check and (self._login or stuck_pods.are_files_changed(result.objects)):
            stuck_pods.touch_pods(self.cluster, self.site.namespace, self._pods)
        return Done.of(result)

    def _away_of(self, objects: Sequence[Object]) -> dict[Id, int]:
        """DaemonSet -> how many of its nodes are not ready."""
        found = self._away or {}
        pools = {id_of(item): item["metadata"]["labels"].get(POOL_LABEL, "") for item in objects if item["kind"] == DAEMON_SET}
        return {which: len(found[pool]) for which, pool in pools.items() if pool in found}

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
        """See C(site.Reach)."""
        if wanted.mark and not self.run.check:
            result["changed"] |= self._source.renew(wanted.mark)
        old = direct_certificates.old(self.cluster, self.site, wanted.files, self._source.digests, check=self.run.check)
        for pool, found in old.items():
            result["changed"] = True
            if self.run.check:
                result["restarted"] += [pod["metadata"]["name"] for pod in found]
                continue
            wanted.gate()
            result["restarted"] += direct_certificates.replace(
                self.cluster,
                self.site.namespace,
                self.site.federation,
                found,
                self.site.seconds,
                lambda **facts: self.run.note(self.site.name, **facts),
            )
            wanted.online(pool)
        result["renewed"] = bool(wanted.mark)

    def trust(self, wanted: Proof, result: Facts) -> None:
        """See C(site.Reach)."""
        direct_certificates.prove(self.run, self.cluster, self.site, wanted, result)

    def measure(self, published: Mapping[str, str], idle: float = 0) -> dict[str, Facts] | None:
        """See C(site.Reach)."""
        spec = self.site.spec
        address = spec.superlink_address or published["address"]
        return direct_connection.measure(self.cluster, spec, address, published["server_name"], idle)

    def offline(self) -> str:
        """See C(site.Reach)."""
        found = self.cluster.list("v1", "Pod", self.site.namespace, labels=self._pods)
        return f"Pods on {self.site.name}: {pod_health.summary(found)}.{direct_connection.words(self.cluster, self.site.spec, found)}"

    def cut_off(self) -> tuple[str, str]:
        """See C(site.Reach)."""
        if not self._moved or self.site.spec.has_proxy:  # C(_try_proxy) has asked
            return "", ""
        found = self.cluster.list("v1", "Pod", self.site.namespace, labels=self._pods)
        return direct_certificates.tried(self.cluster, self.site.spec, found, self.site.seconds)

    def pods(self) -> list[Object] | None:
        """See C(site.Reach)."""
        return self.cluster.list("v1", "Pod", self.site.namespace, labels=self._pods)

    def restart_pods(self, pods: Sequence[Object]) -> None:
        """See C(site.Reach)."""
        direct_certificates.delete(
            self.cluster, self.site.namespace, pods, lambda **facts: self.run.note(self.site.name, **facts)
        )

    def drop_keys(self, extra: Mapping[str, Sequence[str]]) -> None:
        """See C(site.Reach)."""
        self._source.drop(extra)

    def remove(self, *, volumes: bool) -> Done:
        """See C(site.Reach)."""
        wanted = removing.Wanted(
            self.site.namespace,
            SUPERNODE,
            self.site.federation,
            site=self.site.name,
            identity=self._identity(),
            claim=self.site.claim,
            credentials=True,
            volumes=volumes,
            skupper=self.site.access.connectivity == "skupper",
            key_source=self.site.access.key_source,
            seconds=self.site.seconds,
        )
        return removing.remove(self.cluster, wanted, check=self.run.check)

    def _identity(self) -> str:
        """The identity of the hub that the site records; empty where the hub has no ledger any more."""
        if self.site.claim:
            return ""
        try:
            with self.run.connect(self.site.hub) as hub:
                found = Ledger(hub, self.site.hub_namespace, self.site.federation).identity()
        except ClusterError as error:
            raise ClusterError(
                f"{error.message} If the hub is lost: -e flower_claim_sites=true removes the site without it."
            ) from error
        return "" if found == NEW else found


def statuses(run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
    """See C(site.Statuses). Several clusters are read at the same time."""

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
