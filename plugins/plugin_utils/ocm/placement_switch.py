# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Hand the add-on over to another Placement, from another one or from C(Manual), without removing it from any site, and change no Placement so that it
loses one.

OCM deletes an add-on in every cluster that no Placement of its ClusterManagementAddOn has selected (ocm, C(addon_install_reconciler.go)), and the
SuperNodes and their keys with it. A Placement that was just created has selected nothing yet, and OCM does not take that for an error. So the Placement is
applied first, and the ClusterManagementAddOn refers to it when it has selected every cluster with a site. The old one goes when OCM's add-on
manager reports that it uses the new one: to one that still had the former ClusterManagementAddOn in its cache, no cluster would be selected.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..apply.wait import Clock
from ..base.errors import ClusterError
from ..base.labels import query
from ..base.values import Object
from ..kube.client import Cluster
from ..spec.hub_spec import PLACEMENTS, AddonSpec
from . import addon_objects, api, checks, clusters, hub_reader, leaving, nodes_work, statuses

Live = Mapping[str, Any]

# How long a Placement may take to select its clusters.
SECONDS = 60.0
# A Placement does not say which of its generations its decisions are of, and OCM's add-on manager sees them somewhat later than others.
_STABLE_SECONDS = 5.0
# Clusters whose reasons are in the message; those of the others are the same, as a rule.
_SHOWN = 5


def first(live: Live | None, objects: Sequence[Object]) -> list[Object]:
    """What has to be there, and to have selected the sites, before the add-on is applied; empty if it is not handed over.

    Args:
        live: the ClusterManagementAddOn; None if there is none, and so no cluster with the add-on.
        objects: those of the add-on in the order in which they are applied, the wanted ClusterManagementAddOn last.
    """
    *before, wanted = objects
    now, then = statuses.placement_references(live), statuses.placement_references(wanted)
    return before if live is not None and then and now != then else []


def loss(hub: Cluster, spec: AddonSpec, live: Live | None) -> str:
    """Why the Placement from which the add-on gets its clusters is not to be changed: sites would lose their SuperNodes and keys. Empty if it may be.

    Args:
        spec: what is wanted.
        live: the ClusterManagementAddOn; None if there is none.
    """
    if spec.install != PLACEMENTS or statuses.placement_references(live) != {(spec.namespace, spec.placement)}:
        return ""
    wanted = addon_objects.placement(spec)
    now = hub.get(api.PLACEMENTS, "Placement", spec.placement, spec.namespace)
    if now is None or hub.apply(wanted, dry_run=True).get("spec") == now.get("spec"):
        return ""
    selected = statuses.decisions(hub_reader.slices(hub, spec.namespace, spec.placement))
    works, faults = hub_reader.works(hub, query(addon_objects.addon_labels(spec.federation)))
    own = [one["metadata"] for one in works if one["metadata"]["name"] == f"{spec.name}-{nodes_work.PART}"]
    served = {*faults, *(meta["namespace"] for meta in own if not meta.get("deletionTimestamp"))} & selected.keys()
    sites = [one for one in hub.list(api.CLUSTERS, "ManagedCluster") if clusters.name_of(one) in served and not clusters.is_leaving(one)]
    reasons = _reasons(sites, wanted, hub, selected=True)
    going = list(reasons)
    most = spec.number_of_clusters or 0
    if not going and 0 < most < len(sites):
        going = [f"{len(sites) - most} of {', '.join(sorted(served))}"]
        reasons = {"": [f"ocm_addon_number_of_clusters is {most}"]}
    if not going:
        return ""
    return (
        f"the {_named(wanted)} would no longer select the managed clusters {', '.join(going)}, and Open Cluster Management would delete their SuperNodes with "
        f"their keys. {_shown(reasons)}. Remove sites that are to leave before you change the Placement: by the labels that select "
        "their clusters now, or from the inventory, with -e flower_forget_sites"
    )


def _reasons(managed: Iterable[Live], placement: Live, hub: Cluster, *, selected: bool = False) -> dict[str, list[str]]:
    """Cluster -> why a Placement would not select it, of those that it would not."""
    spec = placement["spec"]
    wanted = {
        "predicates": spec["predicates"],
        "cluster_sets": spec["clusterSets"],
        "set_labels": checks.set_labels(hub.list(api.SETS, "ManagedClusterSet")),
        "tolerations": spec["tolerations"],
    }
    found = {clusters.name_of(one): checks.chosen(clusters.name_of(one), one, wanted, selected=selected) for one in managed}
    return {name: found[name] for name in sorted(found) if found[name]}


def _shown(reasons: Mapping[str, list[str]]) -> str:
    return ". ".join([reason for each in reasons.values() for reason in each][:_SHOWN])


def _named(placement: Live) -> str:
    return f"Placement {placement['metadata']['namespace']}/{placement['metadata']['name']}"


def lost(addons: Iterable[Live], managed: Iterable[Live], slices: Iterable[Live]) -> list[str]:
    """Clusters with a site that would lose the add-on, sorted. What is being deleted anyway does not count.

    Args:
        addons: ManagedClusterAddOns of that name.
        managed: ManagedClusters.
        slices: all PlacementDecisions of the Placement.
    """
    staying = {clusters.name_of(one) for one in managed if not clusters.is_leaving(one)}
    served = {one["metadata"]["namespace"] for one in addons if leaving.site_of(one) and not one["metadata"].get("deletionTimestamp")}
    return sorted(served & staying - set(statuses.decisions(slices)))


class Handover:
    """The sites that the add-on has now, and the Placement that has to select them.

    Args:
        addon: name of the add-on.
        before: what C(first) returned; the Placement is its last.
    """

    def __init__(self, hub: Cluster, addon: str, before: Sequence[Object]) -> None:
        self.hub, self.addon, self.placement = hub, addon, before[-1]
        self._place = (self.placement["metadata"]["namespace"], self.placement["metadata"]["name"])
        self._addons = hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={addon}")
        self._managed = hub.list(api.CLUSTERS, "ManagedCluster")
        #: Names of the clusters with a site.
        self.sites = lost(self._addons, self._managed, [])

    def sentence(self) -> str:
        """What is waited for."""
        return f"the add-on {self.addon} switches to the {_named(self.placement)} as soon as that has selected {', '.join(self.sites)}"

    def wait(self, seconds: float = SECONDS) -> None:
        """Wait until the Placement, which is applied, has selected all of them.

        Raises:
            ClusterError: it has not.
        """
        clock, calm = Clock(seconds), Clock(_STABLE_SECONDS)
        while self.sites:
            slices = hub_reader.slices(self.hub, *self._place)
            missing = lost(self._addons, self._managed, slices)
            if not missing and not calm.tick():
                return
            if missing:
                calm = Clock(_STABLE_SECONDS)
                if not clock.tick():
                    raise ClusterError(self._refusal(missing, slices, seconds))

    def wait_until_taken_over(self, seconds: float = SECONDS) -> None:
        """Wait until OCM uses the Placement, to which the ClusterManagementAddOn refers now.

        Raises:
            ClusterError: it does not.
        """
        clock = Clock(seconds)
        while self.sites:
            status = (self.hub.get(api.ADDONS, "ClusterManagementAddOn", self.addon) or {}).get("status") or {}
            if self._place in {(one["namespace"], one["name"]) for one in status.get("installProgressions") or []}:
                return
            if not clock.tick():
                raise ClusterError(
                    f"Open Cluster Management does not use the {_named(self.placement)} for the add-on {self.addon} after {seconds:g} s: check "
                    "that the hub's add-on manager is running. The former Placement remains until the next run."
                )

    def _refusal(self, missing: Sequence[str], slices: Sequence[Live], seconds: float) -> str:
        """Why the add-on is not handed over, with the remedy."""
        without = [one for one in self._managed if clusters.name_of(one) in missing]
        remark = ""
        if not statuses.decisions(slices):
            namespace, name = self._place
            remark = statuses.remark(self.hub.get(api.PLACEMENTS, "Placement", name, namespace) or self.placement, 0)
        whys = _shown(_reasons(without, self.placement, self.hub)) or (
            "Compare their labels and claims with ocm_addon_predicates, their taints with ocm_addon_tolerations, and their number with "
            "ocm_addon_number_of_clusters"
        )
        return (
            f"the add-on {self.addon} does not switch to the {_named(self.placement)}, which has not selected the managed clusters "
            f"{', '.join(map(clusters.name_of, without))} after {seconds:g} s{remark and f' (it {remark})'}: Open Cluster Management would delete their "
            f"SuperNodes with their keys. {whys}. Run again then. Remove the label of a site that is to leave afterwards."
        )
