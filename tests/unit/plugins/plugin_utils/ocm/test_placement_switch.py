# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The add-on gets another Placement only when that has selected every site."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, placement_switch


def unversioned(spec: Any) -> list[dict[str, Any]]:
    return [item for item in addon_objects.addon_objects(spec) if item["kind"] not in addon_objects.VERSIONED]


def addon(cluster: str, site: str = "site", **meta: Any) -> dict[str, Any]:
    notes = {addon_objects.SITE_NOTE: site} if site else {}
    return {"metadata": {"name": "flower-supernode", "namespace": cluster, "annotations": notes, **meta}}


def part(*names: str) -> dict[str, Any]:
    return {"metadata": {"name": "p-decision-1"}, "status": {"decisions": [{"clusterName": name} for name in names]}}


class Hub(Cluster):
    """A hub whose Placement selects one more cluster at each look."""

    def __init__(self, managed: list[Any], *selected: str) -> None:
        self.managed, self.selected, self.looks = managed, selected, 0

    def list(self, api_version: str, kind: str, namespace: Any = None, **_chosen: Any) -> Any:
        if kind == "ManagedCluster":
            return self.managed
        if kind == "ManagedClusterAddOn":
            return [addon(one["metadata"]["name"]) for one in self.managed]
        self.looks += 1
        return [part(*self.selected[: self.looks - 1])]

    def get(self, _api_version: str, kind: str, *_which: Any) -> Any:
        if kind == "ClusterManagementAddOn":
            self.looks += 1
            used = {"name": "flower-supernode", "namespace": "flower"}
            return {"status": {"installProgressions": [used] if self.looks > 2 and self.selected else []}}
        return {"metadata": {"name": "p", "namespace": "flower"}, "status": {}}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(placement_switch, "_STABLE_SECONDS", 0.0)


def test_the_placement_comes_before_the_add_on_that_refers_to_it(parsed_addon):
    spec = parsed_addon()
    wanted = unversioned(spec)
    manual = unversioned(replace(spec, install="Manual"))[-1]
    renamed = unversioned(replace(spec, placement="other"))[-1]
    for live in (manual, renamed):
        assert [item["kind"] for item in placement_switch.first(live, wanted)] == [
            "ManagedClusterSetBinding",
            "Placement",
        ]
    # Nothing is handed over: no cluster has the add-on yet, it stays where it is, or the clusters keep what they have.
    assert (
        placement_switch.first(None, wanted)
        == placement_switch.first(wanted[-1], wanted)
        == placement_switch.first(wanted[-1], [manual])
        == []
    )


def test_every_site_that_is_not_selected_would_be_lost(status):
    managed = [status.cluster(name) for name in ("a", "b", "c")]
    addons = [addon("a"), addon("b"), addon("c", site="")]
    assert placement_switch.lost(addons, managed, []) == placement_switch.lost(addons, managed, [part()]) == ["a", "b"]
    assert placement_switch.lost(addons, managed, [part("a")]) == ["b"]
    assert placement_switch.lost(addons, managed, [part("a"), part("b", "z")]) == []
    leaving = status.cluster("a", metadata={"name": "a", "deletionTimestamp": "now"})
    assert placement_switch.lost(addons, [leaving, managed[1]], []) == ["b"]
    assert placement_switch.lost([addon("a", deletionTimestamp="now")], managed, []) == []


def test_it_is_waited_for_the_decisions(parsed_addon, status, quick):
    hub = Hub([status.cluster("a"), status.cluster("b")], "a", "b")
    before = placement_switch.first(unversioned(parsed_addon(install="Manual"))[-1], unversioned(parsed_addon()))
    one = placement_switch.Handover(hub, "flower-supernode", before)
    assert one.sites == ["a", "b"] and "Placement flower/flower-supernode" in one.sentence()
    one.wait()
    assert hub.looks >= 3


def test_a_site_that_is_not_selected_is_named_with_the_remedy(parsed_addon, status, quick):
    stranger = status.cluster("b")
    del stranger["metadata"]["labels"][addon_objects.FEDERATION_LABEL]
    hub = Hub([status.cluster("a"), stranger], "a")
    before = placement_switch.first(unversioned(parsed_addon(install="Manual"))[-1], unversioned(parsed_addon()))
    with pytest.raises(ClusterError) as told:
        placement_switch.Handover(hub, "flower-supernode", before).wait(0.5)
    for words in (
        "flower-supernode does not switch to the Placement flower/flower-supernode",
        "managed clusters b after 0.5 s",
        "kubectl label managedcluster b federated.flower/federation=flower",
    ):
        assert words in told.value.message


def test_a_placement_that_selects_nothing_at_all_says_why(parsed_addon, status, quick):
    before = placement_switch.first(unversioned(parsed_addon(install="Manual"))[-1], unversioned(parsed_addon()))
    with pytest.raises(ClusterError) as told:
        placement_switch.Handover(Hub([status.cluster("a")]), "flower-supernode", before).wait(0.1)
    assert "(it has no status: check that the placement controller is running on the hub)" in told.value.message
    assert "ocm_addon_number_of_clusters" in told.value.message


def test_the_former_placement_stays_until_the_new_one_is_used(parsed_addon, status):
    before = placement_switch.first(unversioned(parsed_addon(placement="former"))[-1], unversioned(parsed_addon()))
    hub = Hub([status.cluster("a")], "a")
    placement_switch.Handover(hub, "flower-supernode", before).wait_until_taken_over()
    assert hub.looks == 3
    with pytest.raises(
        ClusterError, match="does not use the Placement flower/flower-supernode .* The former Placement remains"
    ):
        placement_switch.Handover(Hub([status.cluster("a")]), "flower-supernode", before).wait_until_taken_over(0.1)


class Serving(Cluster):
    """A hub whose Placement has selected these clusters, with SuperNodes in some of them."""

    def __init__(self, managed: list[Any], *served: str) -> None:
        self.managed, self.served, self.spec = managed, served, {}

    def get(self, _api_version: str, _kind: str, _name: str, _namespace: Any = None) -> Any:
        return {"spec": self.spec}

    def apply(self, obj: Any, *, dry_run: bool = False, **_more: Any) -> Any:
        assert dry_run
        return obj

    def list(self, _api_version: str, kind: str, _namespace: Any = None, **_chosen: Any) -> Any:
        return {
            "ManagedCluster": self.managed,
            "ManagedClusterSet": [],
            "ManifestWork": [{"metadata": {"name": "flower-supernode-nodes", "namespace": name}} for name in self.served],
            "PlacementDecision": [part(*(one["metadata"]["name"] for one in self.managed))],
        }[kind]


@pytest.mark.parametrize(
    ("change", "served", "words"),
    [
        ({}, "ab", ""),
        ({"cluster_sets": ["hospitals"]}, "ab", "no longer select the managed clusters a, b, and"),
        ({"cluster_sets": ["hospitals"]}, "a", "no longer select the managed clusters a, and"),
        ({"cluster_sets": ["hospitals"]}, "", ""),
        ({"predicates": [{"requiredClusterSelector": {"labelSelector": {"matchLabels": {"gpu": "a100"}}}}]}, "ab", "kubectl label managedcluster a gpu=a100"),
        ({"number_of_clusters": 1}, "ab", "1 of a, b, and .* ocm_addon_number_of_clusters is 1"),
        ({"number_of_clusters": 2}, "ab", ""),
        ({"install": "Manual"}, "ab", ""),
    ],
)
def test_a_changed_placement_that_would_lose_sites_is_told_before(change, served, words, parsed_addon, status):
    live = unversioned(parsed_addon())[-1]
    hub = Serving([status.cluster("a"), status.cluster("b")], *served)
    found = placement_switch.loss(hub, parsed_addon(**change), live)
    assert re.search(words, found) if words else found == ""
    hub.spec = addon_objects.placement(parsed_addon(**change))["spec"]
    assert placement_switch.loss(hub, parsed_addon(**change), live) == "", "it is not changed: OCM has judged already"


def test_a_placement_of_no_add_on_loses_nothing(parsed_addon):
    elsewhere = unversioned(parsed_addon(placement="former"))[-1]
    for live in (None, elsewhere):
        assert placement_switch.loss(Hub([]), parsed_addon(), live) == "", "the handover looks after it"
