# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A federation whose sites are reached through Open Cluster Management's own controllers alone.

The inventory is the hub's; no host has an access of its own. What is looked at in the sites' clusters is looked at by the test.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import ocm
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import api
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

APP = Path(__file__).parents[3] / "examples" / "quickstart"
NAME = f"{NAMESPACE}-ocm"
ADDON = f"{NAME}-supernode"
COMMON = {
    "flower_federation": NAME,
    "flower_namespace": NAME,
    "flower_ca_namespace": f"{NAME}-ca",
    "supernode_wait_timeout": 120,
}
# What OCM's template engine, its JSON and the limit of its variables would spoil. All sites have it from the first deployment on.
HOSTILE = "a \"b\" 'c' \\ \\n {{CLUSTER_NAME}} {{ X }} {{ open\nnext line 東京 🌷 " + "MIIB" * 550


class Fleet:
    """The fleet by way of its hub."""

    def __init__(self, federation: Any, addon: Callable[..., None]) -> None:
        self.federation, self.addon, self.hub = federation, addon, federation.hub

    def hosts(self, *sites: str) -> dict[str, Any]:
        """Hosts with the hub's access, and sites without any."""
        hub = {"flower_context": "hub", "superlink_exposure": "node_port", "superlink_storage_size": "256Mi"}
        behind = {"flower_delivery": "ocm", "flower_kubeconfig": "/nonexistent"}
        text = "{% raw %}" + HOSTILE + "{% endraw %}"  # Ansible is not to take it for a template
        behind |= {
            "supernode_annotations": {"example.com/note": text},
            "supernode_env": [{"name": "NOTE", "value": text}],
        }
        return {"hub": hub, **{site: dict(behind) for site in sites or ("site-a", "site-b")}}

    def play(
        self, playbook: str, *arguments: str, hosts: dict[str, Any] | None = None, rc: int = 0, **more: Any
    ) -> Any:
        """Run a playbook; the federation of the other scenarios is not concerned."""
        settled = self.federation.settled
        run = self.federation.play(playbook, *arguments, hosts=hosts or self.hosts(), rc=rc, **{**COMMON, **more})
        self.federation.settled = settled
        return run

    def label(self, site: str, value: str | None) -> None:
        """Make a cluster a site, or none."""
        labels = {ocm.FEDERATION_LABEL: value}
        self.hub.patch(api.CLUSTERS, "ManagedCluster", site, None, {"metadata": {"labels": labels}})

    def states(self) -> dict[str, str]:
        """Site -> the word of status.yml for it."""
        report = self.play("status", "-e", "flower_status_format=json").report
        return {site["cluster"]: site["ocm"]["state"] for site in report["sites"]}

    def until(self, good: Callable[[], Any], seconds: float = 60) -> Any:
        """Wait for something."""
        deadline = time.monotonic() + seconds
        while not (found := good()):
            assert time.monotonic() < deadline, f"not within {seconds} s"
            time.sleep(1)
        return found


@pytest.fixture(scope="module")
def fleet(federation: Any, ocm_turn: None, fleet_addon: Callable[..., None]) -> Iterator[Fleet]:
    """The fleet with Open Cluster Management, and two clusters that are sites."""
    fleet_addon("ocm", "up", "--lease", "6")
    found = Fleet(federation, fleet_addon)
    for site in ("site-a", "site-b"):
        found.label(site, NAME)
    yield found
    fleet_addon("ocm", "down")
    for context in federation.contexts:
        for name in (NAME, f"{NAME}-ca"):
            federation.cluster(context).delete("v1", "Namespace", name, propagation="Background")


def test_what_is_in_the_way_is_told_before_anything_is_changed(fleet):
    fleet.label("site-b", None)
    run = fleet.play("site", "--tags", "preflight", rc=2)
    assert f"kubectl label managedcluster site-b {ocm.FEDERATION_LABEL}={NAME}" in run.messages("site-b", failed=True)
    run = fleet.play("site", "--tags", "preflight", hosts=fleet.hosts("site-z"), rc=2)
    assert "clusteradm join --cluster-name site-z" in run.messages("site-z", failed=True)
    assert set(run.changed.values()) == {0}
    fleet.label("site-b", NAME)


def test_sites_join_without_any_access_to_them(fleet):
    run = fleet.play("site")
    assert "2 SuperNodes of 2 sites are online" in run.messages()
    again = fleet.play("site")
    assert set(again.changed.values()) == {0}, again.told()
    assert set(fleet.play("site", "--check", "--diff").changed.values()) == {0}
    assert fleet.states() == {"site-a": "ready", "site-b": "ready"}
    # Neither a private key nor a right to write Secrets is left where the other one is.
    works = json.dumps(fleet.hub.list(api.WORKS, "ManifestWork"))
    assert "PRIVATE KEY" not in works and '"kind": "Role"' not in works


def test_a_run_completes_while_an_agent_is_silent_and_nothing_is_evicted(fleet):
    before = fleet.federation.lives("site-b", NAME)
    fleet.addon("ocm", "stop", "site-b")

    def unheard() -> bool:
        live = fleet.hub.get(api.CLUSTERS, "ManagedCluster", "site-b")
        return api.UNREACHABLE in [taint["key"] for taint in live["spec"].get("taints") or []]

    fleet.until(unheard, 90)
    run = fleet.play(
        "run", "-e", f"flower_app={APP}", "-e", json.dumps({"flower_run_config": {"num-server-rounds": 1}})
    )
    assert "2 nodes" in run.messages()
    assert fleet.states()["site-b"] == "not heard"
    assert set(fleet.play("site").changed.values()) == {0}
    fleet.addon("ocm", "start", "site-b")
    fleet.until(lambda: not unheard())
    assert fleet.federation.lives("site-b", NAME) == before


def test_hostile_values_arrive_byte_for_byte(fleet):
    for context in ("site-a", "site-b"):
        cluster = fleet.federation.cluster(context)
        for version, kind, name in (
            ("v1", "Namespace", NAME),
            ("v1", "Service", "supernode"),
            ("networking.k8s.io/v1", "NetworkPolicy", "supernode"),
            ("v1", "ConfigMap", "supernode-trust"),
            ("apps/v1", "StatefulSet", "supernode-default"),
        ):
            item = cluster.get(version, kind, name, None if kind == "Namespace" else NAME)
            assert item["metadata"]["annotations"]["example.com/note"] == HOSTILE, f"{context}: {kind}"
        env = item["spec"]["template"]["spec"]["containers"][0]["env"]
        assert {one["name"]: one.get("value") for one in env}["NOTE"] == HOSTILE


def test_a_broken_image_stops_at_the_first_site_and_is_rolled_back(fleet):
    before = fleet.federation.lives("site-b", NAME)
    broken = {"supernode_wait_timeout": 30, "supernode_image": "docker.io/flwr/supernode:broken"}
    run = fleet.play("site", "-e", "flower_serial=1", rc=2, **broken)
    assert "ImagePullBackOff" in run.messages("site-a", failed=True)
    assert fleet.federation.lives("site-b", NAME) == before
    fleet.play("site")
    assert fleet.states() == {"site-a": "ready", "site-b": "ready"}


def test_keys_and_shared_secrets_are_renewed_without_any_access(fleet):
    sites = ("site-a", "site-b")
    for what, secret in (("supernode_keys", "supernode-default-keys"), ("superexec", "supernode-superexec")):
        pods = {site: fleet.federation.lives(site, NAME) for site in sites}
        held = {site: fleet.federation.cluster(site).get("v1", "Secret", secret, NAME)["data"] for site in sites}
        fleet.play("rotate_certs", "-e", f"flower_rotate={what}")
        for site in sites:
            now = fleet.federation.lives(site, NAME)
            assert now.keys() == pods[site].keys() and not set(now.values()) & set(pods[site].values()), what
            assert fleet.federation.cluster(site).get("v1", "Secret", secret, NAME)["data"] != held[site]
    # They are online with the new ones, and stay what they are.
    pods = {site: fleet.federation.lives(site, NAME) for site in sites}
    run = fleet.play("site")
    assert "2 SuperNodes of 2 sites are online" in run.messages()
    assert set(run.changed.values()) == {0}, run.told()
    assert {site: fleet.federation.lives(site, NAME) for site in sites} == pods


def test_a_cluster_that_leaves_the_placement_loses_all_but_its_number_and_the_others_notice_nothing(fleet):
    site, before = fleet.federation.cluster("site-b"), fleet.federation.lives("site-a", NAME)
    start = site.get("apps/v1", "StatefulSet", "supernode-default", NAME)["spec"]["ordinals"]
    fleet.label("site-b", None)
    fleet.until(lambda: not fleet.hub.list(api.WORKS, "ManifestWork", "site-b"), 90)
    for version, kind in (("v1", "Secret"), ("apps/v1", "StatefulSet"), ("networking.k8s.io/v1", "NetworkPolicy")):
        assert site.list(version, kind, NAME) == []
    assert site.get("v1", "Namespace", NAME)["status"]["phase"] == "Active"
    assert fleet.states()["site-b"] == "not chosen"
    fleet.label("site-b", NAME)
    fleet.play("site")
    assert site.get("apps/v1", "StatefulSet", "supernode-default", NAME)["spec"]["ordinals"] == start
    assert fleet.federation.lives("site-a", NAME) == before


def test_a_teardown_leaves_nothing_but_namespaces(fleet):
    fleet.play("teardown", flower_teardown=True, flower_delete_volumes=True)
    for version, kind in (
        (api.WORKS, "ManifestWork"),
        (api.ADDONS, "ManagedClusterAddOn"),
        (api.ADDONS, "ClusterManagementAddOn"),
        (api.ADDONS, "AddOnTemplate"),
        (api.ADDONS, "AddOnDeploymentConfig"),
    ):
        assert fleet.hub.list(version, kind) == []
    for context in ("site-a", "site-b"):
        assert fleet.federation.cluster(context).list("v1", "Secret", NAME) == []
