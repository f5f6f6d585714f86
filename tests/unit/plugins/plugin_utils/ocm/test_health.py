# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A cluster's row, what becomes of a site that leaves, and which versions nobody names."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import TooLarge
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, app_versions, health, leaving


@pytest.fixture
def seen(parsed_ocm_site, status):
    """Function: what the hub knows of a cluster whose SuperNode is ready, and some changes."""

    def make(**changes):
        spec = parsed_ocm_site()
        work = status.nodes(spec)
        known = {
            "cluster": status.cluster(),
            "chosen": True,
            "addon": status.addon(status.references(spec)),
            "nodes": status.taken(work, status.numbers(work)),
        }
        return health.Seen("cluster-a", **{**known, **changes})

    return make


def test_ready_is_pods_ready_and_nodes_online(seen):
    row = health.health_row(seen(), 1)
    assert (row["state"], row["ready"], row["why"]) == (health.READY, True, "")
    assert (row["desired"], row["pods"], row["online"]) == (1, 1, 1)
    assert row["addon"] == {"available": "True", "progressing": "Completed", "configured": ""}
    assert row["keys"] == "at rest"


def test_completed_and_available_are_not_ready(seen, parsed_ocm_site, status):
    work = status.nodes(parsed_ocm_site())
    row = health.health_row(seen(nodes=status.taken(work, status.numbers(work, 0))), 0)
    assert (
        row["addon"]["progressing"] == "Completed"
        and row["addon"]["available"] == "True"
        and row["available"] == "True"
    )
    assert row["state"] == health.STARTING and "0 of 1 replicas are ready" in row["why"]
    row = health.health_row(seen(), 0)
    assert (row["state"], row["why"]) == (health.OFFLINE, "0 of 1 SuperNodes are online at the SuperLink")


def test_the_superlink_may_be_asked_later(seen):
    row = health.health_row(seen())
    assert (row["state"], row["online"]) == (health.READY, None)
    assert health.with_nodes(row, 1) == health.health_row(seen(), 1)
    assert health.with_nodes(row, 0) == health.health_row(seen(), 0)
    assert health.with_nodes({}, 0) == {}


def test_the_first_thing_that_is_wrong_is_told(seen, parsed_ocm_site, status):
    work = status.nodes(parsed_ocm_site())
    leaving_ = status.cluster()
    leaving_["metadata"]["deletionTimestamp"] = "2026-11-21T12:00:00Z"
    stranger = status.cluster(spec={})
    stranger["status"]["conditions"] = []
    for changes, state, words in (
        ({"cluster": None, "chosen": False}, health.ABSENT, "no ManagedCluster cluster-a"),
        ({"cluster": leaving_}, health.LEAVING, "being detached"),
        ({"cluster": stranger}, health.UNACCEPTED, "clusteradm accept --clusters cluster-a"),
        ({"chosen": False}, health.UNCHOSEN, "partitions are kept"),
        ({"addon": None}, health.BARE, "has no add-on"),
        ({"cluster": status.cluster(available="Unknown")}, health.UNHEARD, "does not report since 2026-11-21T12:00:00Z"),
        ({"cluster": status.cluster(available="False")}, health.UNWELL, "not healthy"),
        ({"nodes": status.taken(work, {}, refused="StatefulSet")}, health.REFUSED, "forbidden"),
        ({"nodes": None}, health.DELIVERING, "nothing was delivered yet"),
        ({"addon": status.addon(status.references(parsed_ocm_site()), last=False)}, health.DELIVERING, "does not have"),
        ({"nodes": status.taken(work, {})}, health.STARTING, "has not been reported"),
    ):
        row = health.health_row(seen(**changes), 1)
        assert (row["state"], row["ready"]) == (state, False), changes
        assert words in row["why"]


def of_hub(status, work, clusters):
    """What a hub reports of a site in each of some clusters: name -> the ManifestWork with its SuperNodes."""
    works = [{**clusters[name], "metadata": {**work["metadata"], "name": "flower-supernode-nodes", "namespace": name}} for name in clusters]
    listed = {"ManagedCluster": [status.cluster(name) for name in clusters], "ManifestWork": works}
    hub = SimpleNamespace(name="hub", list=lambda _version, kind, **_more: listed.get(kind, []), get=lambda *_what: None)
    return health.read(hub, "flower", "flower-supernode", {f"site of {name}": name for name in clusters})


@pytest.mark.parametrize(("reported", "ready"), [("1", 1), ("7 of 9", None), ("9" * 5000, None), ({}, None), (-1, None)])
def test_counts_of_an_agent_that_are_no_numbers_end_its_own_site_only(parsed_ocm_site, status, reported, ready):
    work = status.nodes(parsed_ocm_site())
    numbers = status.numbers(work)
    good, odd = status.taken(work, numbers), status.taken(work, {which: {**values, "readyReplicas": reported} for which, values in numbers.items()})
    found = of_hub(status, work, {"cluster-a": odd, "cluster-b": good})
    assert found["site of cluster-b"]["workloads"][0]["ready"] == 1
    one = found["site of cluster-a"]
    if ready is None:
        assert not one["reachable"] and "reports to hub of ManagedCluster cluster-a has another shape" in one["error"] and len(one["error"]) < 500
    else:
        assert one["workloads"][0]["ready"] == ready and one["ocm"]["pods"] == ready


def test_works_of_a_cluster_that_cannot_be_read_end_its_own_site_only(parsed_ocm_site, status):
    """Its agent may write them: nested deeper than what is read, they would hide all clusters, and stop that any site is forgotten."""
    work = status.nodes(parsed_ocm_site())
    item = {**status.taken(work, status.numbers(work)), "metadata": {**work["metadata"], "name": "flower-supernode-nodes", "namespace": "cluster-b"}}
    item["metadata"]["annotations"] = {addon_objects.SITE_NOTE: "site-b"}

    def list_(_version, kind, namespace=None, **_more):
        if kind == "ManifestWork":
            if namespace != "cluster-b":
                raise TooLarge("nested more than 200 levels deep")
            return [item]
        return [status.cluster(name) for name in ("cluster-a", "cluster-b")] if kind == "ManagedCluster" else []

    hub = SimpleNamespace(name="hub", list=list_, get=lambda *_what: None)
    found = health.read(hub, "flower", "flower-supernode", {"site-a": "cluster-a", "site-b": "cluster-b"})
    assert "the ManifestWorks of the managed cluster cluster-a cannot be read: nested" in found["site-a"]["error"] and not found["site-a"]["reachable"]
    assert found["site-b"]["workloads"][0]["ready"] == 1
    assert list(leaving.forgetting_errors(hub, "flower", ["site-b", "site-c"], {}, [])) == ["site-b"]


def test_what_is_said_of_a_site_that_is_not_in_the_inventory():
    assert "flower_forget_sites=site-a" in leaving.unlisted_sentence("site-a", "cluster-a", chosen=True, forget=False)
    assert "remove its label" in leaving.unlisted_sentence("site-a", "cluster-a", chosen=True, forget=True)
    assert "label" not in leaving.unlisted_sentence("site-a", "cluster-a", chosen=False, forget=True)


def test_sites_without_a_host_are_found_by_what_was_delivered():
    def work(site, cluster):
        return {"metadata": {"namespace": cluster, "annotations": {addon_objects.SITE_NOTE: site}}}

    found = leaving.unlisted(
        [work("site-a", "c-a"), work("site-b", "c-b"), {"metadata": {"namespace": "c"}}], ["site-a"]
    )
    assert found == {"site-b": "c-b"}


def test_versions_that_someone_names_or_has_stay(parsed_ocm_site, parsed_addon, status):
    base = addon_objects.addon_objects(parsed_addon())
    management = base[-1]
    present, former, oldest = (
        addon_objects.configs(
            parsed_ocm_site(superlink_cidrs=[cidr]),
            [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": cidr}}],
        )
        for cidr in ("a", "b", "c")
    )
    made = [*base[:2], present[0], former[0], oldest[0]]
    live = status.addon([addon_objects.config_reference(item) for item in present])
    live["status"]["configReferences"][0]["lastAppliedConfig"] = {"name": former[0]["metadata"]["name"]}
    gone = app_versions.unused(made, [management], [live])
    assert [item["metadata"]["name"] for item in gone] == [oldest[0]["metadata"]["name"]]
    # While a new default rolls out, the old one is what others still have.
    rolling = {
        **management,
        "status": {
            "installProgressions": [
                {
                    "configReferences": [
                        {"resource": "addontemplates", "lastKnownGoodConfig": {"name": oldest[0]["metadata"]["name"]}}
                    ]
                }
            ]
        },
    }
    assert app_versions.unused(made, [rolling], [live]) == []
    assert len(app_versions.unused(made, [], [])) == len(made)
    # Those of a federation may be used by its add-on of another name.
    renamed = addon_objects.addon_objects(parsed_addon(name="other"))[:2]
    assert app_versions.addon_names([*made, *renamed], "flower-supernode") == ["flower-supernode", "other"]
