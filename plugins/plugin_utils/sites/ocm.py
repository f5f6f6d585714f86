# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A site that only the hub of Open Cluster Management reaches. Its cluster is never contacted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..apply.results import Result
from ..base import object_names
from ..base.errors import ClusterError
from ..base.object_names import SUPERNODE
from ..base.platforms import AUTO
from ..base.problems import require
from ..base.values import Object
from ..checks import dataset_checks, rehearsal
from ..kube.client import Cluster
from ..manifests import datasets, supernode
from ..ocm import api, clusters, health, hub_reader, nodes_work, through_hub
from ..ocm.delivery import Delivery
from ..ocm.through_hub import ThroughHub
from ..rotation.site_proof import Proof
from ..site_keys import keys, site_keygen
from ..spec.part_spec import NOTHING
from ..spec.site_spec import SiteSpec
from ..state.audit_notes import of_objects
from . import beside_hub, direct_connection, removing
from .direct_certificates import require_own
from .key_sources import made, note_secrets, wanted
from .site import Done, Facts, KeysMade, Looked, Pulled, Restart, Run, Site

_HUB_SECONDS = 30  # a hub is read for many sites at once


class Way:
    """See C(site.Reach).

    Args:
        run: the run.
        site: the site.
    """

    def __init__(self, run: Run, site: Site) -> None:
        self.run, self.site = run, site
        self._hub: Cluster | None = None
        self._version = ""  # of Kubernetes, as far as the hub knows it
        self._shared: SiteSpec | None = None  # as its variables have it, where it is in the hub's namespace

    @property
    def hub(self) -> Cluster:
        """The connection to the hub, which is opened on first use."""
        if self._hub is None:
            self._hub = self.run.connect(self.site.hub)
        return self._hub

    def rest(self) -> None:
        """See C(site.Reach)."""
        if self._hub is not None:
            self._hub.close()

    def settle(self) -> None:
        """See C(site.Reach). What the hub knows of the managed cluster says what it is, and whether it is the hub's own one."""
        is_open, may_share = self.site.spec.platform in ("", AUTO), beside_hub.is_possible(self.site)
        if not (is_open or may_share):
            return
        seen = self.hub.get(api.CLUSTERS, "ManagedCluster", self.site.spec.ocm_cluster) or {}
        self._version = _version(seen)
        if is_open:
            self.site.spec = self.site.spec.on(clusters.platform(seen))
        if may_share and clusters.is_hub(seen, self.hub.server):
            self._shared, self.site.spec = self.site.spec, beside_hub.without_level(self.site.spec)

    def preflight(self, hub: Facts) -> Looked:
        """See C(site.Reach)."""
        name = self.site.spec.ocm_cluster
        if self._shared is not None:
            beside_hub.refuse_level(self.hub, self._shared, hub.get("pod_security"))
        warnings = hub_reader.at_site(self.hub, self.site.spec, hub.get("ocm") or {}, claim=self.site.claim)
        other = self.run.claim(self.site.name, [f"managed cluster {self.hub.server} {name}"])
        if other:
            raise ClusterError(
                f"this host and {other} are the same managed cluster {name}: they would overwrite each other. Deploy one of them in another "
                "place (ocm_name), or take it out of the inventory."
            )
        if any(pool.datasets for pool in self.site.spec.pools):
            mounted = [one for item in nodes_work.sets_of(self._nodes_work()) for one in object_names.mounted_datasets(item)]
            warnings += require(dataset_checks.unseen(self.site.spec, mounted))
        warnings += direct_connection.unseen(self.site.spec)
        warnings += self._rehearse()
        return Looked(f"the ManagedCluster {name} can be reached through {self.hub.name}", warnings)

    def _rehearse(self) -> list[str]:
        """Have the hub's API server test the site's workloads, since nothing asks that of the site; returns warnings."""
        wanted = supernode.objects(self.site.spec.complete())
        require(rehearsal.too_old(self._version, wanted))
        workloads = [item for item in wanted if item["kind"] in rehearsal.WORKLOADS]
        try:
            # Not in a namespace of that name: what the hub has there has nothing to do with the site.
            rehearsal.rehearse(self.hub, workloads, {self.site.namespace}, SUPERNODE)
        except ClusterError as error:
            own = self._version or _version(self.hub.get(api.CLUSTERS, "ManagedCluster", self.site.spec.ocm_cluster))
            hubs = str(self.hub.request("GET", "/version")["gitVersion"])
            tried = f"tried on the hub (Kubernetes {hubs}), since the site (Kubernetes {own or 'unknown'}) cannot be asked: {error.message}"
            if own and rehearsal.release(own) > rehearsal.release(hubs):
                return [tried]  # what is new there is unknown to the hub
            raise ClusterError(tried) from error
        return []

    def numbers(self) -> dict[str, tuple[int, int]]:
        """See C(site.Reach)."""
        return supernode.numbers(nodes_work.sets_of(self._nodes_work()))

    def make_keys(self, allocation: Mapping[str, Any], dead: Sequence[str]) -> KeysMade:
        """See C(site.Reach). The site's namespace is part of the add-on."""
        run, spec = self.run, self.site.spec
        needed, ready = wanted(self.site.name, spec, allocation, dead, lambda: self.hub.list("v1", "Node"))
        # The certificate is issued for the key that is created now; it is not part of the add-on's template.
        drafted = replace(spec, client_certificate=spec.client_certificate or NOTHING)
        delivery = Delivery(self.hub, drafted, supernode.objects(drafted), check=run.check, show_diff=run.show_diff)
        place = self._place(drafted, delivery)
        if run.check:
            outcome = site_keygen.foresee(place, drafted, needed)
        else:
            outcome = site_keygen.make(place, drafted, needed, self.site.seconds, lambda: None)
        if not run.rendering:  # it looks at the add-on, whose configuration may be another one in the repository
            place.settle()
        results = [*delivery.results, *place.written]
        objects = [one for one in _objects(results) if one["change"] != "unchanged"]
        return made(
            outcome.found,
            KeysMade(
                changed=bool(outcome.found.reasons) or any(result.changed for result in results),
                diff=outcome.diff(self.site.namespace) if run.show_diff else [],
                objects=objects + outcome.objects(self.site.namespace),
            ),
            ready,
        )

    def _place(self, spec: SiteSpec, delivery: Delivery) -> ThroughHub:
        return ThroughHub(
            self.hub, spec, delivery.bring_addon, seconds=self.site.seconds, check=self.run.check, first=delivery.first
        )

    def apply(self, objects: Sequence[Object], gate: Callable[[], None]) -> Done:
        """See C(site.Reach)."""
        delivery = self._delivery(objects)
        if self.run.rendering:
            self.run.render(self.site.hub, delivery.configs, self.site.name)
            return Done()
        delivery.bring_nodes(delivery.bring_addon())
        try:
            if not self.run.check:
                delivery.wait(self.site.seconds)
            delivery.bring_apps(self.site.seconds, gate)
        except ClusterError as error:
            return self._done(delivery, error.message)
        return self._done(delivery)

    def pull(self, objects: Sequence[Object], seconds: int) -> Pulled:
        """See C(site.Reach)."""
        return Pulled(skipped="its nodes are reached by the agent of its cluster only: its images are pulled when its SuperNodes are replaced")

    def apply_apps(self, objects: Sequence[Object], gate: Callable[[], None], seconds: int) -> Done:
        """See C(site.Reach)."""
        delivery = self._delivery(objects)
        try:
            delivery.bring_apps(seconds, gate)
        except ClusterError as error:
            return self._done(delivery, error.message)
        return self._done(delivery)

    def _delivery(self, objects: Sequence[Object]) -> Delivery:
        return Delivery(self.hub, self.site.spec, objects, check=self.run.check, show_diff=self.run.show_diff)

    @staticmethod
    def _done(delivery: Delivery, failed: str = "") -> Done:
        told = delivery.result()
        return Done(**{**told, "msg": failed or told["msg"]}, failed=bool(failed))

    def restart(self, wanted: Restart, result: Facts) -> None:
        """See C(site.Reach). All pools at once: a pod there cannot be deleted."""
        spec, seconds = self.site.spec, self.site.seconds
        place = through_hub.place(self.hub, spec, seconds, check=self.run.check)
        if wanted.mark and not self.run.check:
            became = site_keygen.renew(place, spec, [keys.SUPEREXEC], wanted.mark, seconds)
            result["changed"] |= note_secrets(self.run, self.site, became)
        present = through_hub.mark(spec, place.read(), through_hub.bundle_of(self._nodes_work()))
        old = through_hub.old(self.hub, spec, present)
        if old:
            result["changed"] = True
            if not self.run.check:
                wanted.gate()
                through_hub.restart(self.hub, spec, present, seconds)
                words = [f"restarted pod {self.site.namespace}/{name}" for name in old]
                self.run.note(self.site.name, words=words)
                for pool in spec.pools:
                    wanted.online(pool.name)
            result["restarted"] = old
        result["renewed"] = bool(wanted.mark)

    def trust(self, wanted: Proof, result: Facts) -> None:
        """See C(site.Reach). Its pods cannot be asked: what its cluster has counts as accepted, once they were restarted if they read it at their start."""
        spec = self.site.spec
        held, objects = through_hub.bring(self.hub, spec, "" if wanted.own_bundle else wanted.bundle, wanted.seconds, check=self.run.check)
        if not self.run.check:
            self.run.note(self.site.name, objects=of_objects(objects))
        result.update(changed=bool(objects), trust=held)
        if wanted.own_bundle and wanted.bundle:
            require_own(held, wanted.bundle)
            result["trust"] = wanted.bundle
        if wanted.bundle and not spec.has_sidecar and not self.run.check:
            place = through_hub.place(self.hub, spec, wanted.seconds)
            if through_hub.old(self.hub, spec, through_hub.mark(spec, place.read(), held)):
                result.update(stale=True, trouble="its SuperNodes still run with the CA bundle of their start")
                return
            seen = nodes_work.state(self._nodes_work())
            if not seen.ready:
                raise ClusterError(f"whether its SuperNodes were restarted with its CA bundle is not known: {seen.why}")
        result.update(
            accepts=sorted({serial for serial in wanted.wanted.values() if serial}),
            msg="its pods were not asked: it is reached through Open Cluster Management, and has their CA bundle",
        )

    def measure(self, published: Mapping[str, str], idle: float = 0) -> dict[str, Facts] | None:
        """See C(site.Reach). Its pods cannot be asked."""
        return None

    def offline(self) -> str:
        """See C(site.Reach)."""
        spec = self.site.spec
        work = self._nodes_work()
        told = nodes_work.trouble(work) or nodes_work.state(work).why or "ready, according to its agent's last report"
        return f"Pods on {spec.ocm_cluster}: {told}."

    def cut_off(self) -> tuple[str, str]:
        """See C(site.Reach)."""
        return "", ""

    def _nodes_work(self) -> Object | None:
        return through_hub.work_of(self.hub, self.site.spec)

    def pods(self) -> list[Object] | None:
        """See C(site.Reach). Only the agent of its cluster reaches them."""
        return None

    def restart_pods(self, pods: Sequence[Object]) -> None:
        """See C(site.Reach)."""
        raise ClusterError(f"{self.site.name}: its pods are reached by the agent of its cluster only")

    def drop_keys(self, extra: Mapping[str, Sequence[str]]) -> None:
        """See C(site.Reach)."""
        place = self._place(self.site.spec, self._delivery(supernode.objects(self.site.spec)))
        for name, change in site_keygen.drop(place, self.site.spec, extra, self.site.seconds).items():
            note_secrets(self.run, self.site, {name: change})

    def remove(self, *, volumes: bool) -> Done:
        """See C(site.Reach). Its keys are deleted with the other objects; claims of datasets stay."""
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


def _objects(results: Iterable[Result]) -> list[dict[str, str]]:
    return [one for result in results for one in result.objects]


def statuses(run: Run, sites: Sequence[Site], seconds: int, workers: int) -> dict[str, Facts]:
    """See C(site.Statuses). One list of each kind at the hub, for any number of sites."""
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
            found |= {name: health.silent(f"{name}: {error.message}") for name in own}
    return found
