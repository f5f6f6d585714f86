# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Deliver a site's objects to a managed cluster through the hub, as its template engine renders them, and wait until its SuperNodes are ready.

Source: C(pkg/addon/templateagent/template_agent.go) of open-cluster-management.io/ocm (the same in 0.16 and 1.2; with 1.3.1 values that
break templates arrived complete, too): the JSON text of each manifest goes through C(fasttemplate) with the marks C({{)
and C(}}). What is between two marks is the exact name of a variable; an unknown one becomes empty, and values are
inserted into the JSON without escaping. A C({{) without a following C(}}) makes C(fasttemplate.New) panic. Nothing can
be escaped. So a manifest arrives as it is if its text has no C({{), which JSON itself never has, and in no other case.

So templates of this collection have no variables, and what the engine would change is delivered in another way (C(split)).
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ..apply.engine import apply_objects
from ..apply.readiness import updated
from ..apply.results import Result, merged_results
from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.object_names import CLIENT_CONFIG, TRUST_CONFIG
from ..base.values import Object
from ..kube.client import Cluster
from ..manifests import clientapp
from ..manifests.clientapp import POD_NAME
from ..spec.hub_spec import MANUAL, PLACEMENTS
from ..spec.site_spec import MODES, SiteSpec
from . import addon_objects, api, checks, hub_reader, nodes_work, statuses, through_hub
from .apps import Apps

# They must stay when the add-on is deleted, which the site's ManifestWork says (C(addon_objects.STORAGE)).
_DATA = ("PersistentVolume", "PersistentVolumeClaim")
# Numbers of a site, and what a rotation of certificates changes while the rest stays.
_OWN_MAPS = (TRUST_CONFIG, CLIENT_CONFIG)

# With the strategy Placements OCM creates the add-on of a cluster, a moment after the Placement has selected it.
_CHOSEN = 60.0
# It creates up to ten of them per second: a fleet of hundreds takes minutes.
_CREATED = 900.0
# An agent retries what was refused: the namespace may be created a moment later.
_PATIENCE = 30.0


def split(objects: Iterable[Object]) -> tuple[list[Object], list[Object]]:
    """A site's objects in two parts, each in the original order: for the add-on's template, and for the site's ManifestWork.

    The first part is the same for all sites with the same settings.
    """
    common: list[Object] = []
    own: list[Object] = []
    for item in objects:
        kind, name = item["kind"], item["metadata"]["name"]
        # A Service in front of a single pod has the number of that, which is the site's.
        is_of_pod = kind == "Service" and POD_NAME in (item["spec"].get("selector") or {})
        is_own = is_of_pod or kind in MODES or kind in _DATA or (kind == "ConfigMap" and name in _OWN_MAPS) or "{{" in json.dumps(item)
        (own if is_own else common).append(item)
    return common, own


class Delivery:
    """The delivery of one site's objects.

    Args:
        objects: all of the site's objects.
        check: nothing is written, and nothing waited for.
        show_diff: keep what differs.
    """

    def __init__(self, hub: Cluster, spec: SiteSpec, objects: Sequence[Object], *, check: bool = False, show_diff: bool = False) -> None:
        self.hub, self.spec, self.check, self.show_diff = hub, spec, check, show_diff
        self.results: list[Result] = []
        apps = [item for item in objects if clientapp.is_one(item)]
        common, own = split(item for item in objects if not clientapp.is_one(item))
        self.apps = Apps(hub, spec, apps, check=check, show_diff=show_diff)
        self._has_apps = bool(apps)
        # A Namespace that cannot be in a template must exist before the keys are created, so it is delivered with them.
        self.first = [item for item in own if item["kind"] == "Namespace"]
        self.own = [item for item in own if item["kind"] != "Namespace"]
        self.configs = addon_objects.configs(spec, common)
        self.references = [addon_objects.config_reference(item) for item in self.configs]

    def apply_addon(self) -> dict[str, Any] | None:
        """Apply template, config and the cluster's add-on; returns the latter, None if it does not exist yet.

        Raises:
            ClusterError: the Placement does not select the cluster.
        """
        self._apply(self.configs)
        live = self._addon()
        if live is None and self.spec.ocm_install == PLACEMENTS:
            if self.check:
                return None
            live = self._wait_addon()
        elif live is None and not self.check:
            self._wait_deleted()
        annotations = (live or {}).get("metadata", {}).get("annotations") or {}
        self._has_apps = self._has_apps or addon_objects.APPS_NOTE in annotations
        self._apply_addon()
        return live or through_hub.addon_of(self.hub, self.spec)

    def _apply_addon(self) -> None:
        self._apply([addon_objects.managed_addon(self.spec, self.references, apps=self._has_apps)])

    def apply_apps(self, seconds: float | None, gate: Callable[[], None]) -> None:
        """Apply the site's ClientApps if they are in their own pods; remove those that are not wanted.

        Call it when its SuperNodes are ready. See C(Apps.bring).
        """
        if self.spec.has_separate_clientapps:
            self.apps.bring(seconds, gate)
        elif self._has_apps:
            self.apps.remove(seconds)
            self._has_apps = False
            self._apply_addon()

    def apply_nodes(self, owner: Mapping[str, Any] | None) -> None:
        """Apply the ManifestWork with the site's own objects. Pods keep the mark of their last restart."""
        live = through_hub.work_of(self.hub, self.spec)
        wanted = nodes_work.build(self.spec, self.own, owner, nodes_work.mark_of(live))
        self._apply([hub_reader.with_watches(self.hub, wanted, live)])

    def wait(self, seconds: float) -> None:
        """Wait until the cluster has everything and all SuperNode pods are ready.

        Raises:
            ClusterError: not within this time, or the cluster refuses something.
        """
        spec, clock, patience = self.spec, Clock(seconds), Clock(_PATIENCE)
        while True:
            addon = statuses.addon_state(through_hub.addon_of(self.hub, spec), self.references)
            work = through_hub.work_of(self.hub, spec)
            nodes = nodes_work.state(work)
            for item in nodes_work.live_sets(work):
                clock.follow(item["metadata"]["name"], updated(item))
            if addon.ready and nodes.ready:
                return
            refused = addon.failed or statuses.applied(work).failed
            if not (refused and patience.is_over()) and clock.tick():
                continue
            why = "; ".join(filter(None, [addon.why and f"add-on {spec.ocm_addon}: {addon.why}", nodes.why, nodes_work.trouble(work)]))
            raise ClusterError(
                f"{spec.cluster}: the managed cluster {spec.ocm_cluster} refuses what was delivered: {why}. Rights for kinds that its work agent may "
                'not write come from a ClusterRole there with the label open-cluster-management.io/aggregate-to-work: "true".'
                if refused
                else f"{spec.cluster}: the SuperNodes of the managed cluster {spec.ocm_cluster} are not ready after {clock.seconds:g} s: {why}."
            )

    def remove(self, seconds: float | None) -> None:
        """Remove the site's add-on and works; unless C(seconds) is None, wait until they are deleted in the cluster.

        With the strategy Placements the add-on itself belongs to the Placement, which must no longer select the cluster.
        """
        for problem in checks.owner_problems(self.spec, through_hub.addon_of(self.hub, self.spec)):
            raise ClusterError(f"{self.spec.cluster}: nothing is deleted: {problem}.")
        names = [("ManifestWork", api.WORKS, addon_objects.work_name(self.spec, part)) for part in ("nodes", "keys")]
        if self.spec.ocm_install == MANUAL:
            names.append(("ManagedClusterAddOn", api.ADDONS, self.spec.ocm_addon))
        gone = [{"apiVersion": version, "kind": kind, "metadata": {"namespace": self.spec.ocm_cluster, "name": name}} for kind, version, name in names]
        if self.hub.get(api.CLUSTERS, "ManagedCluster", self.spec.ocm_cluster) is not None:
            self.apps.remove(seconds)
        self._apply(gone, state="absent", wait=seconds is not None, wait_timeout=seconds or 0)

    def result(self) -> dict[str, Any]:
        """What was done, in the format of C(apply)."""
        found = merged_results([*self.results, *self.apps.results])
        changed = sum(one["change"] not in ("unchanged", "failed") for one in found["objects"])
        return {**found, "msg": f"{changed} of {len(found['objects'])} objects changed on the hub for {self.spec.ocm_cluster}"}

    def _apply(self, objects: Sequence[Object], **options: Any) -> None:
        self.results.append(apply_objects(self.hub, objects, check=self.check, show_diff=self.show_diff, **options))

    def _addon(self) -> dict[str, Any] | None:
        """The add-on, unless it is being deleted: objects that belong to it would be deleted with it."""
        live = through_hub.addon_of(self.hub, self.spec)
        return None if (live or {}).get("metadata", {}).get("deletionTimestamp") else live

    def _wait_deleted(self) -> None:
        """Wait until a previous add-on is gone."""
        clock = Clock(_CHOSEN)
        while through_hub.addon_of(self.hub, self.spec) is not None:
            if not clock.tick():
                raise ClusterError(
                    f"{self.spec.cluster}: the add-on {self.spec.ocm_addon} of the managed cluster {self.spec.ocm_cluster} is "
                    f"still being deleted after {_CHOSEN:g} s: its agent must clean up first. Run again when it is gone."
                )

    def _wait_addon(self) -> dict[str, Any]:
        """Wait until Open Cluster Management has created the add-on."""
        spec, clock, patience = self.spec, Clock(_CHOSEN), Clock(_CREATED)
        while True:
            live = self._addon()
            if live is not None:
                return live
            if clock.tick():
                continue
            management = self.hub.get(api.ADDONS, "ClusterManagementAddOn", spec.ocm_addon)
            if spec.ocm_cluster not in (hub_reader.chosen(self.hub, management) or ()):
                raise ClusterError(
                    f"{spec.cluster}: no Placement has selected the managed cluster {spec.ocm_cluster} for the add-on "
                    f"{spec.ocm_addon} within {_CHOSEN:g} s. Compare its labels and claims with ocm_addon_predicates (by default the label "
                    f"{addon_objects.FEDERATION_LABEL}={spec.federation}), its taints with ocm_addon_tolerations, and the number of clusters with "
                    "ocm_addon_number_of_clusters; or remove the host from the inventory."
                )
            if patience.is_over():
                raise ClusterError(
                    f"{spec.cluster}: the Placement has selected the managed cluster {spec.ocm_cluster}, and Open Cluster "
                    f"Management has not created its add-on {spec.ocm_addon} within {_CREATED:g} s: check that the hub's add-on manager is running."
                )
            clock = Clock(_CHOSEN)
