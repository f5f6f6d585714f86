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
_SETTLES = 5.0
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
        hub: a connection.
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
    works = hub.list(api.WORKS, "ManifestWork", labels=query(addon_objects.addon_labels(spec.federation)))
    own = [one["metadata"] for one in works if one["metadata"]["name"] == f"{spec.name}-{nodes_work.PART}"]
    served = {meta["namespace"] for meta in own if not meta.get("deletionTimestamp")} & selected.keys()
    sites = [one for one in hub.list(api.CLUSTERS, "ManagedCluster") if clusters.name_of(one) in served and not clusters.is_leaving(one)]
    selection = _selection(wanted, hub.list(api.SETS, "ManagedClusterSet"))
    whys = {clusters.name_of(one): checks.chosen(clusters.name_of(one), one, selection, selected=True) for one in sites}
    going = sorted(name for name, why in whys.items() if why)
    reasons = [why for name in going for why in whys[name]]
    if not going and 0 < (spec.number_of_clusters or 0) < len(sites):
        going = [f"{len(sites) - (spec.number_of_clusters or 0)} of {', '.join(sorted(served))}"]
        reasons = [f"ocm_addon_number_of_clusters is {spec.number_of_clusters}"]
    if not going:
        return ""
    return (
        f"the {_named(wanted)} would no longer select the managed clusters {', '.join(going)}, and Open Cluster Management would delete their SuperNodes with "
        f"their keys. {'. '.join(reasons[:_SHOWN])}. Sites that are to leave are removed before the Placement is changed: by the labels that select "
        "their clusters now, or from the inventory, with -e flower_forget_sites"
    )


def _selection(placement: Live, sets: Iterable[Live]) -> dict[str, Any]:
    """What C(checks.chosen) needs to know."""
    spec = placement["spec"]
    return {
        "predicates": spec["predicates"],
        "cluster_sets": spec["clusterSets"],
        "set_labels": checks.set_labels(sets),
        "tolerations": spec["tolerations"],
    }


def lost(addons: Iterable[Live], managed: Iterable[Live], slices: Iterable[Live]) -> list[str]:
    """Clusters with a site that would lose the add-on, sorted. What is being deleted anyway does not count.

    Args:
        addons: ManagedClusterAddOns of that name.
        managed: ManagedClusters.
        slices: all PlacementDecisions of the Placement.
    """
    staying = {clusters.name_of(one) for one in managed if not clusters.is_leaving(one)}
    served = {
        one["metadata"]["namespace"]
        for one in addons
        if leaving.site_of(one) and not one["metadata"].get("deletionTimestamp")
    }
    return sorted(served & staying - set(statuses.decisions(slices)))


def refusal(addon: str, placement: Live, without: Sequence[Live], remark: str, seconds: float, sets: Iterable[Live] = ()) -> str:
    """Why the add-on is not handed over, with the remedy.

    Args:
        addon: its name.
        placement: the wanted Placement.
        without: ManagedClusters that it has not selected.
        remark: why it has selected no cluster at all; empty if it has.
        seconds: how long it was waited for.
        sets: ManagedClusterSets.
    """
    names = [clusters.name_of(one) for one in without]
    whys = [why for one, name in zip(without, names) for why in checks.chosen(name, one, _selection(placement, sets))]
    whys = whys or [
        "Compare their labels and claims with ocm_addon_predicates, their taints with ocm_addon_tolerations, and their number with "
        "ocm_addon_number_of_clusters"
    ]
    return (
        f"the add-on {addon} is not handed over to the {_named(placement)}, which has not selected the managed clusters "
        f"{', '.join(names)} after {seconds:g} s{f' (it {remark})' if remark else ''}: Open Cluster Management would delete their SuperNodes with "
        f"their keys. {'. '.join(whys[:_SHOWN])}. Run again then. A site that is to leave loses its label afterwards."
    )


def _named(placement: Live) -> str:
    meta = placement["metadata"]
    return f"Placement {meta['namespace']}/{meta['name']}"


class Handover:
    """The sites that the add-on has now, and the Placement that has to select them.

    Args:
        hub: a connection.
        addon: name of the add-on.
        before: what C(first) returned; the Placement is its last.
    """

    def __init__(self, hub: Cluster, addon: str, before: Sequence[Object]) -> None:
        self.hub, self.addon, self.placement = hub, addon, before[-1]
        self._addons = hub.list(api.ADDONS, "ManagedClusterAddOn", fields=f"metadata.name={addon}")
        self._managed = hub.list(api.CLUSTERS, "ManagedCluster")
        #: Names of the clusters with a site.
        self.sites = lost(self._addons, self._managed, [])

    def sentence(self) -> str:
        """What is waited for."""
        return (
            f"the add-on {self.addon} is handed over to the {_named(self.placement)} as soon as that has selected "
            f"{', '.join(self.sites)}"
        )

    def wait(self, seconds: float = SECONDS) -> None:
        """Wait until the Placement, which is applied, has selected all of them.

        Args:
            seconds: how long.

        Raises:
            ClusterError: it has not.
        """
        clock, calm = Clock(seconds), Clock(_SETTLES)
        while self.sites:
            slices = hub_reader.slices(
                self.hub, self.placement["metadata"]["namespace"], self.placement["metadata"]["name"]
            )
            missing = lost(self._addons, self._managed, slices)
            if missing:
                calm = Clock(_SETTLES)
                if not clock.tick():
                    raise ClusterError(self._refusal(missing, slices, seconds))
            elif not calm.tick():
                return

    def wait_until_taken_over(self, seconds: float = SECONDS) -> None:
        """Wait until OCM uses the Placement, to which the ClusterManagementAddOn refers now.

        Args:
            seconds: how long.

        Raises:
            ClusterError: it does not.
        """
        clock, meta = Clock(seconds), self.placement["metadata"]
        while self.sites:
            live = self.hub.get(api.ADDONS, "ClusterManagementAddOn", self.addon)
            if (meta["namespace"], meta["name"]) in statuses.taken_over(live):
                return
            if not clock.tick():
                raise ClusterError(
                    f"Open Cluster Management does not use the {_named(self.placement)} for the add-on {self.addon} after {seconds:g} s: does the "
                    "hub's add-on manager run? The former Placement stays until the next run."
                )

    def _refusal(self, missing: Sequence[str], slices: Sequence[Live], seconds: float) -> str:
        meta = self.placement["metadata"]
        live = self.hub.get(api.PLACEMENTS, "Placement", meta["name"], meta["namespace"]) or self.placement
        without = [one for one in self._managed if clusters.name_of(one) in missing]
        remark = "" if statuses.decisions(slices) else statuses.remark(live, 0)
        return refusal(self.addon, self.placement, without, remark, seconds, self.hub.list(api.SETS, "ManagedClusterSet"))
