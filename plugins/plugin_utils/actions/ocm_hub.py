# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps on the hub of Open Cluster Management: enable a feature, find the sites of the inventory, and delete what no cluster uses any more."""

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
from ..ocm import api, app_versions, hub_reader, leaving, statuses
from ..ocm.addon_objects import addon_labels
from ..ocm.apps import Apps
from ..sites.registry import access_of
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
            access = access_of(variables)
            named = [name for name in (action._variable_of(variables, one) for one in _VARIABLES) if name]
        except ClusterError:
            continue  # the checks of the sites report it
        found[site] = str([*named, site][0]) if access.delivery == OCM else ""
    return found


def enable_gate(run: ClusterAction, hub: Cluster, seconds: float) -> str:
    """Enable the feature by which ClientApps are delivered, and wait until the operator has applied it; in check mode only say so.

    Args:
        seconds: how long the operator may take.

    Returns:
        The feature; empty where it is enabled already, or the hub has no ClusterManager, whose administrators do it.

    Raises:
        ClusterError: the operator has not applied it in time.
    """
    manager = hub_reader.manager_of(hub)
    if manager is None or api.is_enabled(manager):
        return ""
    if run.check:
        return api.GATE
    for attempt in range(1, _ATTEMPTS + 1):
        # The complete list, if it has not changed since it was read.
        meta, gates = manager["metadata"], {"featureGates": api.with_gate(manager)}
        body = {"metadata": {"resourceVersion": meta["resourceVersion"]}, "spec": {api.PART: gates}}
        try:
            generation = int(hub.patch(api.OPERATOR, "ClusterManager", meta["name"], None, body)["metadata"]["generation"])
            break
        except Conflict:
            if attempt == _ATTEMPTS:
                raise
            manager = hub_reader.manager_of(hub) or manager
    run.note(words=[f"enabled {api.GATE} in ClusterManager {manager['metadata']['name']}"])
    clock = Clock(seconds)
    while not (state := hub_reader.operator_state(hub_reader.manager_of(hub) or {}, generation)).ready:
        if not clock.tick():
            raise ClusterError(
                f"{run.inventory_host}: the operator of Open Cluster Management on {hub.name} has not applied the feature {api.GATE} after "
                f"{seconds:g} s: {state.why}. It stays enabled; run again when it has."
            )
    return api.GATE


class Cleanup:
    """What no cluster uses any more: versions of the add-on, and what is delivered to sites that left.

    Args:
        params: C(addon), C(federation) and C(namespace) of the add-on; C(sites) of the inventory, None to search for no other ones;
            C(forget), C(former) and C(max) as in M(federated.flower.ocm_addon).
    """

    def __init__(self, run: ClusterAction, params: Mapping[str, Any]) -> None:
        self._run, self._params = run, params
        self._labels = query(addon_labels(params["federation"]))
        self._options: dict[str, Any] = {"check": run.check, "show_diff": run.show_diff}
        self._warnings: list[str] = []
        self._results: list[Result] = []

    def clean(self) -> dict[str, Any]:
        """Remove what is left of sites without a host; then find all references to versions, and delete the rest.

        Returns:
            The result of the action.

        Raises:
            ClusterError: a site may not be forgotten, or what the hub delivers is not known.
        """
        params = self._params
        try:
            forget, former = forgetting.names(params["forget"]), forgetting.former_clusters(params["former"])
        except ValueError as error:
            raise ClusterError(f"{error}.") from error
        known: dict[str, Any] = {}
        unreadable: dict[str, str] = {}
        with self._run.connect() as hub:
            if forget:
                known, unreadable = Ledger(hub, params["namespace"], params["federation"]).read_sites()
                if refused := forgetting.forget_error(forget, {*known, *unreadable}, params["sites"], params["max"]):
                    raise ClusterError(f"{refused}.")
            try:
                left = self._left(hub, forget, former) if params["sites"] is not None else []
            except NotServed:
                return {"changed": False, "msg": f"{hub.name} is not an Open Cluster Management hub"}
            except Forbidden as error:
                if former or any(self._run.access_of(site).delivery == OCM for site in params["sites"]):
                    raise
                if doubtful := leaving.doubtful(forget, known, unreadable):
                    raise ClusterError(f"{leaving.doubt(doubtful, error.message)}.") from error
                # The rights that this fleet needs do not have it: nothing of it is delivered so, nor was what is forgotten.
                words = f"cannot determine whether Open Cluster Management still delivers objects to {', '.join(forget)}: {error.message}"
                return {"changed": False, "msg": "no site is behind Open Cluster Management", "warnings": [words] if forget else []}
            self._remove(hub, left)
            result = apply_objects(hub, self._unused(hub), state="absent", **self._options)
        return {**merged_results([*self._results, result]), "warnings": self._warnings, "msg": result.msg}

    def _left(self, hub: Cluster, forget: list[str], former: list[str]) -> list[dict[str, Any]]:
        """What is still delivered to sites that are not in the inventory, if they are forgotten; and what is left in the former clusters of sites that have
        moved, of these sites alone."""
        params = self._params
        manual = statuses.placement_references(hub.get(api.ADDONS, "ClusterManagementAddOn", params["addon"])) is None
        items, faults = hub_reader.works(hub, self._labels)
        self._warnings += faults.values()
        if manual:
            items += hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={params['addon']}")
        found: list[dict[str, Any]] = []
        for site, cluster in sorted(leaving.unlisted(items, params["sites"]).items()):
            self._warnings.append(leaving.unlisted_sentence(site, cluster, chosen=not manual, forget=site in forget))
            if site in forget:
                self._remove_apps(hub, site, cluster)
                found += [item for item in items if leaving.site_of(item) == site]
        there = [item for item in items if item["metadata"]["namespace"] in former]
        moved = leaving.moved(there, places(self._run, sorted({leaving.site_of(item) for item in there} & set(params["sites"]))))
        for site, cluster in moved:
            self._remove_apps(hub, site, cluster)
            found += [item for item in there if (leaving.site_of(item), item["metadata"]["namespace"]) == (site, cluster)]
            still = "" if manual else f"; a Placement still selects {cluster} unless its label was removed"
            self._warnings.append(f"what is left of {site} in its former cluster {cluster} is removed{still}")
        for name in sorted(set(former) - {cluster for _site, cluster in moved}):
            self._warnings.append(f"{forgetting.FORMER}: {name} is not the former cluster of a site of the inventory, so nothing is deleted there")
        return found

    def _remove_apps(self, hub: Cluster, site: str, cluster: str) -> None:
        if hub.get(api.CLUSTERS, "ManagedCluster", cluster) is not None:
            apps = Apps(hub, SiteSpec(cluster=site, ocm_cluster=cluster, federation=self._params["federation"]), [], **self._options)
            apps.remove(None)
            self._results += apps.results

    def _remove(self, hub: Cluster, left: list[dict[str, Any]]) -> None:
        """Delete what is left of sites, and record for each site, too, what was deleted of it: its leaving record is made of its own entries."""
        sites, gone = {}, []
        for item in left:
            meta = {key: item["metadata"][key] for key in ("name", "namespace")}
            gone.append({"apiVersion": item["apiVersion"], "kind": item["kind"], "metadata": meta})
            sites[item["kind"], meta["namespace"], meta["name"]] = leaving.site_of(item)
        removed = apply_objects(hub, gone, state="absent", **self._options)
        for one in removed.objects:
            self._run.note(sites[one["kind"], one["namespace"], one["name"]], objects=of_objects([one]))
        self._results.append(removed)

    def _unused(self, hub: Cluster) -> list[dict[str, Any]]:
        """Versions that nothing refers to. First the existing objects are listed: those that another run creates meanwhile are not among them."""
        params, label = self._params, app_versions.label(self._params["federation"])
        versions = hub.list(api.ADDONS, "AddOnTemplate", labels=self._labels)
        versions += hub.list(api.ADDONS, "AddOnDeploymentConfig", params["namespace"], labels=self._labels)
        try:  # versions of the ClientApps; none on a hub without such objects, or without the right to read them
            selector = query(app_versions.labels(params["federation"]))
            sets = hub.list(api.REPLICA_SETS, "ManifestWorkReplicaSet", params["namespace"], labels=selector)
        except (NotServed, Forbidden):
            sets = []
        managements = hub.list(api.ADDONS, "ClusterManagementAddOn")
        names = app_versions.addon_names(versions, params["addon"])
        addons = [one for name in names for one in hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={name}")]
        clusters = hub.list(api.CLUSTERS, "ManagedCluster", labels=label) if sets else []
        return app_versions.unused(versions, managements, addons) + app_versions.unused_apps(sets, clusters, label)
