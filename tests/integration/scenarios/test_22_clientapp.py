# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""ClientApps in their own pods, delivered to sites by Open Cluster Management's own controllers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api, app_versions
from ansible_collections.federated.flower.tests.integration.scenarios.test_21_ocm import APP, HOSTILE, NAME, Fleet

MANAGER = (api.OPERATOR, "ClusterManager", "cluster-manager")
GATE = {"feature": "ManifestWorkReplicaSet", "mode": "Enable"}
OTHER = {"feature": "CleanUpCompletedManifestWork", "mode": "Disable"}
OWN = {"flower_clientapp": "workload"}
# Names of one and the same image.
OLD, NEW = "docker.io/flwr/superexec:1.42.0", "flwr/superexec:1.42.0"


class Apps(Fleet):
    """The fleet, and its ClientApps."""

    def gates(self, listed: list[dict[str, str]] | None = None) -> list[dict[str, str]]:
        """The features of the hub; listed ones are written before."""
        if listed is not None:
            body = {"spec": {"workConfiguration": {"featureGates": listed}}}
            self.hub.patch(*MANAGER, None, body)
        return (self.hub.get(*MANAGER)["spec"].get("workConfiguration") or {}).get("featureGates") or []

    def version(self, site: str) -> str | None:
        """The version that a cluster's label says."""
        return self.hub.get(api.CLUSTERS, "ManagedCluster", site)["metadata"]["labels"].get(app_versions.label(NAME))

    def images(self) -> dict[str, str]:
        """Site -> image of its running ClientApp."""
        found = {}
        for site in ("site-a", "site-b"):
            for pod in self.federation.pods(site, NAME, "clientapp").values():
                assert pod["status"]["phase"] == "Running"
                found[site] = pod["spec"]["containers"][0]["image"]
        return found

    def lives(self, name: str) -> dict[str, Any]:
        """Identity of pods, to compare with before."""
        return {site: self.federation.lives(site, NAME, name) for site in ("site-a", "site-b")}


@pytest.fixture(scope="module")
def fleet(federation: Any, ocm_turn: None, fleet_addon: Callable[..., None]) -> Iterator[Apps]:
    """The fleet with Open Cluster Management, and two clusters that are sites with one-pod SuperNodes."""
    for context in federation.contexts:  # test_21_ocm, which uses the same, does not wait for its end
        federation.wait(f"the deletion of {NAME} on {context}", lambda where=context: federation.gone(where, NAME, f"{NAME}-ca"), 120)
    fleet_addon("ocm", "up", "--lease", "20")
    found = Apps(federation, fleet_addon)
    before = found.gates()
    found.gates([OTHER])
    for site in ("site-a", "site-b"):
        found.label(site, NAME)
    found.play("site")
    yield found
    found.gates(before)
    fleet_addon("ocm", "down")
    for context in federation.contexts:
        for name in (NAME, f"{NAME}-ca"):
            federation.cluster(context).delete("v1", "Namespace", name, propagation="Background")


def test_a_feature_that_is_off_is_told_and_enabled_when_that_is_allowed(fleet):
    run = fleet.play("site", "--tags", "preflight", rc=2, **OWN)
    assert "kubectl patch clustermanager" in run.messages("hub", failed=True) and set(run.changed.values()) == {0}
    allowed = {**OWN, "flower_ocm_enable_gates": True}
    fleet.play("site", "--tags", "ocm", "--check", **allowed)
    assert fleet.gates() == [OTHER]
    fleet.play("site", **allowed)
    assert fleet.gates() == [OTHER, GATE]


def test_client_apps_are_beside_their_supernodes_and_a_run_completes(fleet):
    assert fleet.images() == {"site-a": OLD, "site-b": OLD}
    assert fleet.version("site-a") and fleet.version("site-a") == fleet.version("site-b")
    for site in ("site-a", "site-b"):
        (pod,) = fleet.federation.pods(site, NAME).values()
        assert [one["name"] for one in pod["spec"]["containers"]] == ["supernode"]
        env = fleet.federation.cluster(site).get("v1", "Pod", "clientapp-default-0", NAME)["spec"]["containers"][0][
            "env"
        ]
        assert {one["name"]: one.get("value") for one in env}["NOTE"] == HOSTILE
    config = {"num-server-rounds": 1}
    run = fleet.play("run", "-e", f"flower_app={APP}", "-e", json.dumps({"flower_run_config": config}))
    assert "2 nodes" in run.messages()
    report = fleet.play("status", "-e", "flower_status_format=json", **OWN).report
    for site in report["sites"]:
        assert site["ocm"]["state"] == "ready"
        told = site["ocm"]["clientapp"]
        assert (told["desired"], told["pods"], told["images"]) == (1, 1, [OLD])
    assert set(fleet.play("site", **OWN).changed.values()) == {0}


@pytest.mark.soak  # test_21_ocm has the short form
def test_a_broken_image_stops_at_the_first_site_and_is_rolled_back(fleet):
    fleet.play("site", **OWN, flower_ocm_enable_gates=True)  # for `make soak`, which has none of the tests before
    nodes, apps, version = fleet.lives("supernode"), fleet.lives("clientapp"), fleet.version("site-b")
    broken = {**OWN, "clientapp_wait_timeout": 25, "flower_app_image": "docker.io/flwr/superexec:broken"}
    run = fleet.play("clientapp", "-e", "flower_serial=1", rc=2, **broken)
    assert "ImagePullBackOff" in run.messages("site-a", failed=True) or "ErrImagePull" in run.messages(
        "site-a", failed=True
    )
    assert "site-b" not in run.changed
    assert fleet.lives("clientapp")["site-b"] == apps["site-b"] and fleet.version("site-a") != version
    fleet.play("clientapp", **OWN)
    assert fleet.version("site-a") == fleet.version("site-b") == version and fleet.images()["site-a"] == OLD
    assert fleet.lives("supernode") == nodes and fleet.lives("clientapp")["site-b"] == apps["site-b"]


def test_a_new_image_rolls_one_site_at_a_time(fleet):
    nodes = fleet.lives("supernode")
    run = fleet.play("clientapp", "-e", "flower_serial=1", **OWN, flower_app_image=NEW)
    assert [one["host"] for one in run.results if one["result"].get("changed") and "site" in one["host"]] == [
        "site-a",
        "site-b",
    ]
    assert fleet.images() == {"site-a": NEW, "site-b": NEW} and fleet.lives("supernode") == nodes


def test_back_in_one_pod_nothing_is_left_of_them(fleet):
    fleet.play("site")
    for site in ("site-a", "site-b"):
        assert fleet.version(site) is None and fleet.federation.pods(site, NAME, "clientapp") == {}
        (pod,) = fleet.federation.pods(site, NAME).values()
        assert [one["name"] for one in pod["spec"]["containers"]] == ["supernode", "superexec"]
    assert fleet.hub.list(api.REPLICA_SETS, "ManifestWorkReplicaSet") == []
    assert [item["metadata"]["name"] for item in fleet.hub.list(api.PLACEMENTS, "Placement")] == [f"{NAME}-supernode"]


def test_a_dataset_reaches_its_client_app_and_its_claim_stays(fleet):
    """The claim is delivered with the SuperNodes, and is not deleted when nothing lists it any more."""
    hosts = fleet.hosts()
    hosts["site-a"]["supernode_datasets"] = [{"name": "ct", "new_claim": {"size": "64Mi"}}]
    fleet.play("site", hosts=hosts, **OWN)
    program = "import os; print(os.environ['FLOWER_DATASET_CT'], os.path.isdir('/data/ct'))"
    assert fleet.federation.python("site-a", "clientapp-default-0", "superexec", program, namespace=NAME) == "/data/ct True\n"
    table = fleet.play("status", hosts=hosts, **OWN).table
    assert "dataset ct: site-a default" in table, table
    fleet.play("site")
    site = fleet.federation.cluster("site-a")
    live = site.get("v1", "PersistentVolumeClaim", "dataset-ct", NAME)
    assert live is not None and not live["metadata"].get("deletionTimestamp")
    site.delete("v1", "PersistentVolumeClaim", "dataset-ct", NAME)
