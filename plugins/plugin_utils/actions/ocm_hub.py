# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps on the hub of Open Cluster Management: enable features, find the sites of the inventory, and delete what no cluster uses any more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..apply.engine import apply_objects
from ..apply.results import Result, merged_results
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.labels import query
from ..base.object_names import OCM
from ..kube.api_errors import Conflict, Forbidden, NotServed
from ..kube.client import Cluster
from ..ocm import api, app_versions, checks, hub_features, leaving
from ..ocm.addon_objects import addon_labels
from ..ocm.apps import Apps
from ..sites.registry import access_of
from ..spec.hub_spec import PLACEMENTS
from ..spec.site_spec import SiteSpec
from ..state import forgetting
from ..state.audit_notes import of_objects
from ..state.ledger import Ledger
from .cluster_action import ClusterAction

# As the defaults of the role supernode have it, which the hub's tasks do not see.
_VARIABLES = ("supernode_ocm_cluster", "ocm_name")

# Another writer of the same list is the operator or a person: retry, with a limit.
_ATTEMPTS = 5


def places(action: ClusterAction, sites: Iterable[str]) -> dict[str, str]:
    """Site -> its ManagedCluster; empty for one that is delivered in another way. A site whose variables are wrong is not among them."""
    found = {}
    for site in sites:
        try:
            variables = action.variables_of(site)
            way = access_of(variables)
            named = [name for name in (action._variable_of(variables, one) for one in _VARIABLES) if name]
        except ClusterError:
            continue  # the checks of the sites report it
        found[site] = str([*named, site][0]) if way.delivery == OCM else ""
    return found


class Features:
    """Features of a hub of Open Cluster Management; those that others enabled stay.

    Args:
        run: the action.
        hub: a connection.
    """

    def __init__(self, run: ClusterAction, hub: Cluster) -> None:
        self._run, self._hub = run, hub

    def enable(self, features: list[str], seconds: float) -> str:
        """Write what is missing, and wait until the operator has applied it; in check mode only say so.

        Args:
            features: keys of C(hub_features.PARTS).
            seconds: how long the operator may take.

        Returns:
            The features that were missing, with commas; empty where all are enabled, or the hub has no ClusterManager, whose administrators do it.

        Raises:
            ClusterError: the operator has not applied them in time.
        """
        manager = self._manager(self._hub)
        missing = hub_features.missing_gates(manager, features) if manager else []
        done = ", ".join(missing)
        if manager and missing and not self._run.check:
            generation = self._write(self._hub, features)
            self._run.note(words=[f"enabled {done} in ClusterManager {manager['metadata']['name']}"])
            self._wait(self._hub, generation, seconds)
        return done

    @staticmethod
    def _manager(hub: Cluster) -> dict[str, Any] | None:
        try:
            return next(iter(hub.list(api.OPERATOR, "ClusterManager")), None)
        except NotServed:
            return None

    def _write(self, hub: Cluster, features: list[str]) -> int:
        """Write the lists, each complete, if they have not changed since they were read; returns the generation that has them."""
        for attempt in range(1, _ATTEMPTS + 1):
            manager = self._manager(hub) or {}
            wanted: dict[str, Any] = {}
            for feature in hub_features.missing_gates(manager, features):
                part = hub_features.PARTS[feature]
                wanted[part] = {
                    "featureGates": checks.with_gate({"spec": {**manager["spec"], **wanted}}, part, feature)
                }
            meta = manager["metadata"]
            body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "spec": wanted}
            try:
                written = hub.patch(api.OPERATOR, "ClusterManager", meta["name"], None, body)
                return int(written["metadata"]["generation"])
            except Conflict:
                if attempt == _ATTEMPTS:
                    raise
        raise AssertionError("not reached")

    def _wait(self, hub: Cluster, generation: int, seconds: float) -> None:
        clock = Clock(seconds)
        while True:
            manager = self._manager(hub) or {}
            done, why = hub_features.taken_over(manager, generation)
            if done:
                return
            if not clock.tick():
                raise ClusterError(
                    f"{self._run.inventory_host}: the operator of Open Cluster Management on {hub.name} has not applied the features after "
                    f"{seconds:g} s: {why}. They stay enabled; run again when it has."
                )


class Cleanup:
    """What no cluster uses any more: versions of the add-on, and what is delivered to sites that left.

    Args:
        run: the action.
    """

    def __init__(self, run: ClusterAction) -> None:
        self._run = run

    def clean(self, params: Mapping[str, Any]) -> dict[str, Any]:
        """Remove what is left of sites without a host; then find all references to versions, and delete the rest.

        Args:
            params: C(addon), C(federation) and C(namespace) of the add-on; C(sites) of the inventory, None to search for no other ones;
                C(forget), C(former) and C(max) as in M(federated.flower.ocm_addon).

        Returns:
            The result of the action.

        Raises:
            ClusterError: a site may not be forgotten, or what the hub delivers is not known.
        """
        labels = query(addon_labels(params["federation"]))
        try:
            forget = forgetting.names(params["forget"])
            self._former = forgetting.former_clusters(params["former"])
        except ValueError as error:
            raise ClusterError(f"{error}.") from error
        warnings: list[str] = []
        self._labels: list[Result] = []
        known: dict[str, Any] = {}
        unreadable: dict[str, str] = {}
        with self._run.connect() as hub:
            if forget:
                ledger = Ledger(hub, params["namespace"], params["federation"])
                known, unreadable = ledger.read_sites()
                refused = forgetting.refusal(forget, {*known, *unreadable}, params["sites"], params["max"])
                if refused:
                    raise ClusterError(f"{refused}.")
            try:
                left = self._left(hub, params, labels, forget, warnings)
            except NotServed:
                return {"changed": False, "msg": f"{hub.name} is not an Open Cluster Management hub"}
            except Forbidden as error:
                if self._former or any(self._run.access_of(site).delivery == OCM for site in params["sites"]):
                    raise
                doubtful = leaving.doubtful(forget, known, unreadable)
                if doubtful:
                    raise ClusterError(f"{leaving.doubt(doubtful, error.message)}.") from error
                # The rights that this fleet needs do not have it: nothing of it is delivered so, nor was what is forgotten.
                words = f"whether Open Cluster Management still delivers anything to {', '.join(forget)} is not known: {error.message}"
                return {"changed": False, "msg": "no site is behind Open Cluster Management", "warnings": [words] if forget else []}
            removed = apply_objects(hub, [_identity(item) for item in left], state="absent", check=self._run.check, show_diff=self._run.show_diff)
            self._note_sites(left, removed)
            # First list the existing objects: those that another run creates meanwhile are not among them.
            made = hub.list(api.ADDONS, "AddOnTemplate", labels=labels)
            made += hub.list(api.ADDONS, "AddOnDeploymentConfig", params["namespace"], labels=labels)
            sets = self._replica_sets(hub, params)
            managements = hub.list(api.ADDONS, "ClusterManagementAddOn")
            clusters: list[dict[str, Any]] = []
            for name in app_versions.addon_names(made, params["addon"]):
                clusters += hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={name}")
            gone = app_versions.unused(made, managements, clusters)
            if sets:
                label = app_versions.label(params["federation"])
                gone += app_versions.unused_apps(sets, hub.list(api.CLUSTERS, "ManagedCluster", labels=label), label)
            result = apply_objects(hub, gone, state="absent", check=self._run.check, show_diff=self._run.show_diff)
        return {**merged_results([*self._labels, removed, result]), "warnings": warnings, "msg": result.msg}

    @staticmethod
    def _replica_sets(hub: Cluster, params: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Versions of the ClientApps; none on a hub without such objects, or without the right to read them."""
        own = app_versions.labels(params["federation"])
        labels = query(own)
        try:
            return hub.list(api.REPLICA_SETS, "ManifestWorkReplicaSet", params["namespace"], labels=labels)
        except (NotServed, Forbidden):
            return []

    def _left(
        self, hub: Cluster, params: Mapping[str, Any], labels: str, forget: list[str], warnings: list[str]
    ) -> list[dict[str, Any]]:
        """What is still delivered to sites that are not in the inventory, if they are forgotten."""
        if params["sites"] is None:
            return []
        management = hub.get(api.ADDONS, "ClusterManagementAddOn", params["addon"])
        strategy = ((management or {}).get("spec") or {}).get("installStrategy") or {}
        manual = strategy.get("type") != PLACEMENTS
        items = hub.list(api.WORKS, "ManifestWork", labels=labels)
        if manual:
            items += hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={params['addon']}")
        found: list[dict[str, Any]] = []
        for site, name in sorted(leaving.unlisted(items, params["sites"]).items()):
            warnings.append(leaving.unlisted_sentence(site, name, chosen=None if manual else True, forget=site in forget))
            if site in forget:
                cluster = hub.get(api.CLUSTERS, "ManagedCluster", name)
                found += [item for item in items if leaving.site_of(item) == site]
                self._remove_apps(hub, cluster, SiteSpec(cluster=site, ocm_cluster=name, federation=params["federation"]))
        if self._former:
            found += self._left_behind(hub, params, items, warnings, manual=manual)
        return found

    def _note_sites(self, left: list[dict[str, Any]], removed: Result) -> None:
        """Record for each site, too, what was deleted of it: its leaving record is made of its own entries."""
        sites = {(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]): leaving.site_of(item) for item in left}
        for one in removed.objects:
            self._run.note(sites[one["kind"], one["namespace"], one["name"]], objects=of_objects([one]))

    def _remove_apps(self, hub: Cluster, cluster: dict[str, Any] | None, spec: SiteSpec) -> None:
        if cluster is not None:
            apps = Apps(hub, spec, [], check=self._run.check, show_diff=self._run.show_diff)
            apps.remove(None)
            self._labels += apps.results

    def _left_behind(
        self, hub: Cluster, params: Mapping[str, Any], items: list[dict[str, Any]], warnings: list[str], *, manual: bool
    ) -> list[dict[str, Any]]:
        """What is left in the former clusters of sites that have moved, of these sites alone."""
        found: list[dict[str, Any]] = []
        there = [item for item in items if item["metadata"]["namespace"] in self._former]
        moved = leaving.moved(there, places(self._run, sorted({leaving.site_of(item) for item in there} & set(params["sites"]))))
        for site, name in moved:
            cluster = hub.get(api.CLUSTERS, "ManagedCluster", name)
            found += [item for item in there if (leaving.site_of(item), item["metadata"]["namespace"]) == (site, name)]
            self._remove_apps(hub, cluster, SiteSpec(cluster=site, ocm_cluster=name, federation=params["federation"]))
            still = "" if manual else f"; a Placement still selects {name} unless its label was removed"
            warnings.append(f"what is left of {site} in its former cluster {name} is removed{still}")
        for name in sorted(set(self._former) - {cluster for _site, cluster in moved}):
            warnings.append(f"{forgetting.FORMER}: {name} is not the former cluster of a site of the inventory, so nothing is deleted there")
        return found


def _identity(item: dict[str, Any]) -> dict[str, Any]:
    meta = {key: item["metadata"][key] for key in ("name", "namespace")}
    return {"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": meta}
