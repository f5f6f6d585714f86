# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Membership and region of a managed cluster do not rest on labels, which its own agent may change."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from ansible_collections.federated.flower.plugins.action import supernode
from ansible_collections.federated.flower.plugins.inventory import ocm
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.object_names import SiteAccess
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.outcome import Outcomes
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import checks, clusters
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import Site
from ansible_collections.federated.flower.tests.unit.rows import each_row

BOTH = ["membership", "flower_region"]


def rests(labels: dict[str, str], cluster_sets: list[str], compose: dict[str, str] | None = None) -> list[str]:
    """What the plugin says of a cluster with these labels."""
    plugin: Any = object.__new__(ocm.InventoryModule)
    plugin._option = lambda name: {"cluster_sets": cluster_sets}[name]
    plugin.get_option = lambda name: {"compose": compose}[name]
    return plugin._by_labels(clusters.variables({"metadata": {"name": "c", "labels": labels}}))


SET = {"cluster.open-cluster-management.io/clusterset": "oncology"}


@each_row(
    ("labels", "sets", "by_labels"),
    [
        (SET, ["oncology"], False),
        (SET, ["other", "oncology"], False),
        (SET, [], True),
        (SET, ["global"], True),
        ({}, ["oncology"], True),
        ({"federated.flower/federation": "flower"}, [], True),
        ({"cluster.open-cluster-management.io/clusterset": "default"}, ["default"], True),
        ({"clusterset": "oncology"}, ["oncology"], True),
    ],
)
def test_membership(labels: dict[str, str], sets: list[str], by_labels: bool) -> None:
    assert rests(labels, sets) == ["membership"] * by_labels


@each_row(
    ("compose", "by_labels"),
    [
        ({}, False),
        ({"flower_region": "ocm_cluster_set.split('-')[1]"}, False),
        ({"flower_region": "'eu' if ocm_name.startswith('eu-') else 'us'"}, False),
        ({"flower_region": "'eu'", "zone": "ocm_labels.zone"}, False),
        ({"flower_region": "ocm_labels.region | default('')"}, True),
        ({"flower_region": "ocm_claims['region']"}, True),
        ({"flower_region": "'eu' if ocm_gpus > 2 else 'us'"}, True),
        ({"flower_region": "ocm_cluster_set ~ ocm_labels.region"}, True),
        ({"flower_region": "ocm_decision_group"}, True),
        ({"flower_region": "zone | upper", "zone": "place", "place": "ocm_labels.zone"}, True),
        ({"flower_region": "a", "a": "b", "b": "a"}, False),
    ],
)
def test_region(compose: dict[str, str], by_labels: bool) -> None:
    assert rests(SET, ["oncology"], compose) == ["flower_region"] * by_labels


KNOWN = {"site": "site-a", "region": "eu"}


@each_row(
    ("listed", "region", "record", "words"),
    [
        ([], "eu", None, []),
        (BOTH, "eu", KNOWN, []),
        (BOTH, "", KNOWN, []),
        (BOTH, "eu", {"site": "site-a"}, []),  # of a release that did not record it
        (["membership"], "eu", None, ["only labels of its ManagedCluster"]),
        (["flower_region"], "eu", None, ["its flower_region 'eu' comes from labels"]),
        (["flower_region"], "", None, []),
        (BOTH, "eu", None, ["only labels of its ManagedCluster", "its flower_region 'eu' comes from labels"]),
        (BOTH, "us", KNOWN, ["its flower_region 'us' comes from labels"]),
        (BOTH, "us", {**KNOWN, "region": None}, ["its flower_region 'us' comes from labels"]),
    ],
)
def test_new_sites_and_new_regions_are_refused(listed: list[str], region: str, record: dict[str, Any] | None, words: list[str]) -> None:
    found = checks.by_labels(listed, region, record)
    assert len(found) == len(words) and all(one.startswith(word) and "flower_ocm_trust_labels: true" in one for one, word in zip(found, words))


def preflight(found: Any, **variables: dict[str, Any]) -> Outcomes:
    """The check of some sites with these variables, where the hub has these records."""

    def read_sites() -> Any:
        if isinstance(found, Exception):
            raise found
        return found, {"broken": "its record is not JSON"}

    sites = {name: Site(name, SimpleNamespace(region="eu"), SiteAccess("ocm", "site", "direct"), hub="hub") for name in variables}
    outcomes = Outcomes(SimpleNamespace(failed=lambda _site, _message: None), sites, 1)
    action: Any = object.__new__(supernode.ActionModule)
    action.value_of = lambda host, name, default: variables[host].get(name, default)
    for name, fault in action._label_faults(sites, sites, {}, lambda: SimpleNamespace(read_sites=read_sites)).items():
        outcomes.fail(name, fault)
    return outcomes


def test_a_federation_by_labels_keeps_its_sites_and_gets_no_new_one_unasked() -> None:
    by_labels = {"flower_ocm_by_labels": BOTH}
    outcomes = preflight(
        {"known": KNOWN},
        known=by_labels,
        new=by_labels,
        trusted={**by_labels, "supernode_ocm_trust_labels": "true"},
        guarded={"flower_ocm_by_labels": []},
        written={},
        broken=by_labels,
    )
    assert outcomes.good() == ["known", "trusted", "guarded", "written"]
    assert "new: only labels" in outcomes["new"].msg and "its record is not JSON" in outcomes["broken"].msg


def test_without_the_ledger_no_new_site_is_accepted() -> None:
    by_labels = {"flower_ocm_by_labels": ["membership"]}
    outcomes = preflight(ClusterError("hub does not answer"), new=by_labels, written={})
    assert outcomes.good() == ["written"] and "hub does not answer" in outcomes["new"].msg
