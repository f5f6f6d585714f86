# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Action of M(federated.flower.ocm_clean): delete unreferenced templates and configs of an add-on."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.actions.cluster_action import ClusterAction
from ansible_collections.federated.flower.plugins.plugin_utils.actions.ocm_places import places
from ansible_collections.federated.flower.plugins.plugin_utils.apply.engine import apply_objects
from ansible_collections.federated.flower.plugins.plugin_utils.apply.results import Result, merged
from ansible_collections.federated.flower.plugins.plugin_utils.audit.notes import of_objects
from ansible_collections.federated.flower.plugins.plugin_utils.base.choices import OCM
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.labels import query
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden, NotServed
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import forgetting
from ansible_collections.federated.flower.plugins.plugin_utils.ledger.store import Ledger
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api, leaving, replica_set, versions
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.addon_objects import addon_labels
from ansible_collections.federated.flower.plugins.plugin_utils.ocm.apps import Apps
from ansible_collections.federated.flower.plugins.plugin_utils.spec.addon_spec import PLACEMENTS
from ansible_collections.federated.flower.plugins.plugin_utils.spec.site_spec import SiteSpec


class ActionModule(ClusterAction):
    """See the module's documentation."""

    ARGS = {
        "addon": {"type": "str", "required": True},
        "federation": {"type": "str", "default": "flower"},
        "namespace": {"type": "str", "default": "flower"},
        "sites": {"type": "list", "elements": "str"},
        "forget": {"type": "raw"},
        "former": {"type": "raw"},
        "max": {"type": "int"},
    }

    def execute(self, params: dict[str, Any], task_vars: dict[str, Any]) -> dict[str, Any]:
        """Remove what is left of sites without a host; then find all references to versions, and delete the rest."""
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
        with self.connect() as hub:
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
                if self._former or any(self.access_of(site).delivery == OCM for site in params["sites"]):
                    raise
                doubtful = leaving.doubtful(forget, known, unreadable)
                if doubtful:
                    raise ClusterError(f"{leaving.doubt(doubtful, error.message)}.") from error
                # The rights that this fleet needs do not have it: nothing of it is delivered so, nor was what is forgotten.
                words = f"whether Open Cluster Management still delivers anything to {', '.join(forget)} is not known: {error.message}"
                return {"changed": False, "msg": "no site is behind Open Cluster Management", "warnings": [words] if forget else []}
            removed = apply_objects(hub, [_identity(item) for item in left], state="absent", check=self.check, show_diff=self.show_diff)
            self._note_sites(left, removed)
            # First list the existing objects: those that another run creates meanwhile are not among them.
            made = hub.list(api.ADDONS, "AddOnTemplate", labels=labels)
            made += hub.list(api.ADDONS, "AddOnDeploymentConfig", params["namespace"], labels=labels)
            sets = self._replica_sets(hub, params)
            managements = hub.list(api.ADDONS, "ClusterManagementAddOn")
            clusters: list[dict[str, Any]] = []
            for name in versions.addon_names(made, params["addon"]):
                clusters += hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={name}")
            gone = versions.unused(made, managements, clusters)
            if sets:
                label = replica_set.label(params["federation"])
                gone += versions.unused_apps(sets, hub.list(api.CLUSTERS, "ManagedCluster", labels=label), label)
            result = apply_objects(hub, gone, state="absent", check=self.check, show_diff=self.show_diff)
        return {**merged([*self._labels, removed, result]), "warnings": warnings, "msg": result.msg}

    @staticmethod
    def _replica_sets(hub: Cluster, params: dict[str, Any]) -> list[dict[str, Any]]:
        """Versions of the ClientApps; none on a hub without such objects, or without the right to read them."""
        own = replica_set.labels(params["federation"])
        labels = query(own)
        try:
            return hub.list(api.REPLICA_SETS, "ManifestWorkReplicaSet", params["namespace"], labels=labels)
        except (NotServed, Forbidden):
            return []

    def _left(
        self, hub: Cluster, params: dict[str, Any], labels: str, forget: list[str], warnings: list[str]
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
        """Record for each site, too, what was deleted of it: a statement on a site that left is taken from its records."""
        sites = {(item["kind"], item["metadata"]["namespace"], item["metadata"]["name"]): leaving.site_of(item) for item in left}
        for one in removed.objects:
            self.note(sites[one["kind"], one["namespace"], one["name"]], objects=of_objects([one]))

    def _remove_apps(self, hub: Cluster, cluster: dict[str, Any] | None, spec: SiteSpec) -> None:
        if cluster is not None:
            apps = Apps(hub, spec, [], check=self.check, show_diff=self.show_diff)
            apps.remove(None)
            self._labels += apps.results

    def _left_behind(
        self, hub: Cluster, params: dict[str, Any], items: list[dict[str, Any]], warnings: list[str], *, manual: bool
    ) -> list[dict[str, Any]]:
        """What is left in the former clusters of sites that have moved, of these sites alone."""
        found: list[dict[str, Any]] = []
        there = [item for item in items if item["metadata"]["namespace"] in self._former]
        moved = leaving.moved(there, places(self, sorted({leaving.site_of(item) for item in there} & set(params["sites"]))))
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
