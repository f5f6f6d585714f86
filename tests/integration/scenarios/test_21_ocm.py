# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A federation whose sites are reached through Open Cluster Management's own controllers alone.

The inventory is the hub's; no host has an access of its own. Only the test reads the sites' clusters.
"""

from __future__ import annotations

import json
import math
import re
import time
from base64 import b64encode
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, api
from ansible_collections.federated.flower.tests.integration.scenarios.flux import release, take
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

APP = Path(__file__).parents[3] / "examples" / "quickstart"
NAME = f"{NAMESPACE}-ocm"
OUTAGE = 600  # seconds for which an agent is silent
COMMON = {
    "flower_federation": NAME,
    "flower_namespace": NAME,
    "flower_ca_namespace": f"{NAME}-ca",
    "supernode_wait_timeout": 120,
}
# What OCM's template engine, its JSON and the limit of its variables would spoil. All sites have it from the first deployment on.
HOSTILE = "a \"b\" 'c' \\ \\n {{CLUSTER_NAME}} {{ X }} {{ open\nnext line 東京 🌷 " + "MIIB" * 550
DATASET = "import json, os; path = os.environ['FLOWER_DATASET_CODES']; print(json.dumps([path, os.listdir(path)]))"


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
            "supernode_datasets": [{"name": "codes", "new_claim": {"size": "64Mi"}}],
        }
        return {"hub": hub, **{site: dict(behind) for site in sites or ("site-a", "site-b")}}

    def clusters(self) -> Path:
        """An inventory that has the clusters with the federation's label, and no list of hosts."""
        folder = self.federation.folder / "clusters"
        variables = folder / "group_vars"
        variables.mkdir(parents=True, exist_ok=True)
        behind = self.hosts("site")["site"]
        config = {
            "plugin": "federated.flower.ocm",
            "kubeconfig": str(self.federation.kubeconfig),
            "context": "hub",
            "hub_host": "hub",
            "label_selector": f"{addon_objects.FEDERATION_LABEL}={NAME}",
        }
        (folder / "fleet.ocm.yml").write_text(json.dumps(config))
        (variables / "all.json").write_text(json.dumps({**self.federation.common, **COMMON, "flower_ocm_trust_labels": True}))
        (variables / "flower_hub.json").write_text(json.dumps(self.hosts()["hub"]))
        (variables / "flower_sites.json").write_text(json.dumps(behind))
        return folder

    def play(
        self, playbook: str, *arguments: str, hosts: dict[str, Any] | Path | None = None, rc: int = 0, **more: Any
    ) -> Any:
        """Run a playbook; the federation of the other scenarios is not concerned."""
        settled = self.federation.settled
        run = self.federation.play(playbook, *arguments, hosts=hosts or self.hosts(), rc=rc, **{**COMMON, **more})
        self.federation.settled = settled
        return run

    def claims(self, site: str) -> list[str]:
        """Names of the claims in the site's namespace."""
        items = self.federation.cluster(site).list("v1", "PersistentVolumeClaim", NAME)
        return [item["metadata"]["name"] for item in items]

    def label(self, site: str, value: str | None) -> None:
        """Make a cluster a site, or none."""
        labels = {addon_objects.FEDERATION_LABEL: value}
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


def obstacles(fleet: Fleet) -> Iterator[tuple[str, str]]:
    """What a hub can have in the way: the command that helps, and what the check says."""

    def check(host: str, hosts: dict[str, Any] | None = None, **more: Any) -> str:
        run = fleet.play("site", "--tags", "preflight", hosts=hosts, rc=2, **more)
        assert set(run.changed.values()) == {0}
        return run.messages(host, failed=True)

    none = fleet.hosts()
    none["hub"]["flower_context"] = "site-a"
    yield "`clusteradm init --wait`", check("hub", none)
    yield f"`clusteradm clusterset bind default --namespace {NAME}`", check("hub", ocm_addon_bind_cluster_sets=False)
    cluster = (api.CLUSTERS, "ManagedCluster", "site-b", None)
    fleet.hub.patch(*cluster, {"spec": {"hubAcceptsClient": False}})
    yield "the hub has not accepted the ManagedCluster site-b", check("site-b")
    fleet.hub.patch(*cluster, {"spec": {"hubAcceptsClient": True}})
    key = ec.generate_private_key(ec.SECP256R1())
    asked = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, hashes.SHA256())
    waiting = {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": f"{NAME}-waiting", "labels": {"open-cluster-management.io/cluster-name": "site-b"}},
        "spec": {
            "signerName": "example.com/nobody",
            "usages": ["client auth"],
            "request": b64encode(asked.public_bytes(Encoding.PEM)).decode(),
        },
    }
    fleet.hub.create(waiting)
    yield f"is not approved ({NAME}-waiting)", check("site-b")
    fleet.hub.delete(waiting["apiVersion"], waiting["kind"], f"{NAME}-waiting")


def test_what_is_in_the_way_is_told_before_anything_is_changed(fleet):
    fleet.label("site-b", None)
    run = fleet.play("site", "--tags", "preflight", rc=2)
    assert f"kubectl label managedcluster site-b {addon_objects.FEDERATION_LABEL}={NAME}" in run.messages(
        "site-b", failed=True
    )
    for remedy, said in obstacles(fleet):
        assert remedy in said
    run = fleet.play("site", "--tags", "preflight", hosts=fleet.hosts("site-z"), rc=2)
    assert "clusteradm join --cluster-name site-z" in run.messages("site-z", failed=True)
    assert set(run.changed.values()) == {0}
    fleet.label("site-b", NAME)
    misspelt = fleet.hosts()
    misspelt["site-b"]["supernode_volumes"] = [{"name": "data", "emptyDirr": {}}]
    run = fleet.play("site", "--tags", "preflight", hosts=misspelt, rc=2)
    for word in ("tried on the hub", "emptyDirr", "supernode_volumes"):
        assert word in run.messages("site-b", failed=True)
    assert set(run.changed.values()) == {0}


def test_sites_join_without_any_access_to_them(fleet):
    run = fleet.play("site")
    assert "2 SuperNodes of 2 sites are online" in run.messages()
    again = fleet.play("site")
    assert set(again.changed.values()) == {0}, again.details()
    assert set(fleet.play("site", "--check", "--diff").changed.values()) == {0}
    assert fleet.states() == {"site-a": "ready", "site-b": "ready"}
    # Neither a private key nor a right to write Secrets is left where the other one is.
    works = json.dumps(fleet.hub.list(api.WORKS, "ManifestWork"))
    assert "PRIVATE KEY" not in works and '"kind": "Role"' not in works
    for site in ("site-a", "site-b"):
        (pod,) = fleet.federation.pods(site, NAME)
        assert json.loads(fleet.federation.python(site, pod, "superexec", DATASET, namespace=NAME)) == ["/data/codes", []]


def test_another_placement_takes_the_sites_over(fleet):
    """OCM removes an add-on from clusters that a Placement has not selected yet, and with it pods and keys."""
    before = [fleet.federation.lives(site, NAME) for site in ("site-a", "site-b")]
    placements = [one["metadata"]["name"] for one in fleet.hub.list(api.PLACEMENTS, "Placement", NAME)]
    for name, change in ((f"{NAME}-other", {"ocm_addon_placement": f"{NAME}-other"}), (placements[0], {})):
        run = fleet.play("site", **change)
        assert "2 SuperNodes of 2 sites are online" in run.messages()
        assert [one["metadata"]["name"] for one in fleet.hub.list(api.PLACEMENTS, "Placement", NAME)] == [name]
        assert set(fleet.play("site", **change).changed.values()) == {0}
    assert [fleet.federation.lives(site, NAME) for site in ("site-a", "site-b")] == before


def test_a_run_completes_while_an_agent_is_silent_and_nothing_is_evicted(fleet):
    before = fleet.federation.lives("site-b", NAME)
    fleet.addon("ocm", "stop", "site-b")

    def unheard() -> bool:
        live = fleet.hub.get(api.CLUSTERS, "ManagedCluster", "site-b")
        return api.UNREACHABLE in [taint["key"] for taint in live["spec"].get("taints") or []]

    fleet.until(unheard, 90)
    wanted = {"flower_run_config": {"num-server-rounds": 1}, "flower_run_datasets": ["codes"]}
    run = fleet.play("run", "-e", f"flower_app={APP}", "-e", json.dumps(wanted))
    assert "2 nodes" in run.messages()
    lacking = json.dumps({"flower_run_datasets": ["ct"]})
    said = fleet.play("run", "-e", f"flower_app={APP}", "-e", lacking, rc=2).messages("hub", failed=True)
    assert "nothing was submitted" in said and "dataset ct: site-a" in said
    assert fleet.states()["site-b"] == "not heard"
    assert set(fleet.play("site").changed.values()) == {0}
    fleet.addon("ocm", "start", "site-b")
    fleet.until(lambda: not unheard())
    assert fleet.federation.lives("site-b", NAME) == before


@pytest.mark.soak
def test_a_long_run_goes_on_through_a_long_outage_that_begins_in_its_middle(fleet):
    fleet.play("site")  # for `make soak`, which has none of the tests before
    before = fleet.federation.lives("site-b", NAME)
    rounds = math.ceil(OUTAGE / 10) + 5
    config = json.dumps({"flower_run_config": {"num-server-rounds": rounds}})
    run = fleet.play("run", "-e", f"flower_app={APP}", "-e", config, "-e", '{"flower_run_wait": false}')
    number = re.search(r"run (\d+)", run.messages())[1]
    time.sleep(20)
    fleet.addon("ocm", "stop", "site-b")
    seen, until = set(), time.monotonic() + OUTAGE
    while time.monotonic() < until:
        live = fleet.hub.get(api.CLUSTERS, "ManagedCluster", "site-b")
        seen.add(api.UNREACHABLE in [taint["key"] for taint in live["spec"].get("taints") or []])
        assert fleet.federation.lives("site-b", NAME) == before
        time.sleep(10)
    assert seen == {False, True}
    fleet.addon("ocm", "start", "site-b")
    fleet.until(lambda: fleet.states()["site-b"] == "ready")
    words = fleet.play("run", "-e", f"flower_run_id={number}", "-e", "flower_run_log_lines=500").messages()
    assert f"round {rounds}: " in words and "completed" in words
    assert words.count(" 2 nodes") + words.count("(2 nodes") == rounds, "each round had both sites"
    assert fleet.federation.lives("site-b", NAME) == before
    assert set(fleet.play("site").changed.values()) == {0}


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


def test_what_delivers_to_the_sites_may_come_from_a_repository(fleet, tmp_path):
    """The hub's objects, hostile values in them included, applied by another manager."""
    place = ("-e", f"flower_render_directory={tmp_path}")
    fleet.play("render", "--check", *place)
    assert [path.name for path in tmp_path.iterdir()] == ["hub"]
    objects = list(yaml.safe_load_all((tmp_path / "hub" / "flower.yaml").read_text()))
    kinds = {item["kind"] for item in objects}
    assert {"AddOnTemplate", "AddOnDeploymentConfig", "ClusterManagementAddOn", "StatefulSet"} <= kinds
    assert not {"Secret", "ConfigMap", "ManifestWork", "Namespace", "ManagedClusterAddOn"} & kinds
    written = (tmp_path / "hub" / "flower.yaml").read_bytes()
    run = fleet.play("render", "--check", *place, "--limit", "hub,site-a", rc=2)
    assert "nothing was rendered for site-b" in run.messages(failed=True)
    assert (tmp_path / "hub" / "flower.yaml").read_bytes() == written
    take(fleet.hub, objects)
    assert set(fleet.play("site").changed.values()) == {0}
    assert set(fleet.play("render", "--check", *place).changed.values()) == {0}
    release(fleet.hub, objects)


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
    assert set(run.changed.values()) == {0}, run.details()
    assert {site: fleet.federation.lives(site, NAME) for site in sites} == pods


def test_a_cluster_that_leaves_the_placement_loses_all_but_its_number_and_the_others_notice_nothing(fleet):
    site, before = fleet.federation.cluster("site-b"), fleet.federation.lives("site-a", NAME)
    start = site.get("apps/v1", "StatefulSet", "supernode-default", NAME)["spec"]["ordinals"]
    fleet.label("site-b", None)
    fleet.until(lambda: not fleet.hub.list(api.WORKS, "ManifestWork", "site-b"), 90)
    for version, kind in (("v1", "Secret"), ("apps/v1", "StatefulSet"), ("networking.k8s.io/v1", "NetworkPolicy")):
        assert site.list(version, kind, NAME) == []
    assert fleet.claims("site-b") == ["dataset-codes"]
    assert site.get("v1", "Namespace", NAME)["status"]["phase"] == "Active"
    assert fleet.states()["site-b"] == "not chosen"
    # By an inventory that follows labels it is not a host any more; with its label it is one.
    run = fleet.play("site", hosts=fleet.clusters())
    assert set(run.changed) == {"hub", "site-a"} and set(run.changed.values()) == {0}, run.details()
    assert "site-b is not in the inventory, but still in the ledger" in run.messages()
    fleet.label("site-b", NAME)
    run = fleet.play("site", hosts=fleet.clusters())
    assert "2 SuperNodes of 2 sites are online" in run.messages() and run.changed["site-b"], run.details()
    assert site.get("apps/v1", "StatefulSet", "supernode-default", NAME)["spec"]["ordinals"] == start
    assert fleet.federation.lives("site-a", NAME) == before


def test_a_site_that_left_for_good_is_forgotten_and_what_was_delivered_to_it_goes(fleet):
    """Its cluster is still chosen: its host alone has left the inventory."""
    hosts = fleet.hosts("site-a")
    run = fleet.play("site", hosts=hosts)
    assert "site-b is not in the inventory, but the hub still delivers to its cluster site-b" in run.warnings()
    run = fleet.play("site", "-e", "flower_forget_sites=site-b", hosts=hosts)
    assert "site-b is forgotten" in run.messages() and "a Placement still selects site-b" in run.warnings()
    assert set(fleet.play("site", hosts=hosts).changed.values()) == {0}
    site = fleet.federation.cluster("site-b")
    fleet.until(lambda: not site.list("apps/v1", "StatefulSet", NAME) + site.list("v1", "Secret", NAME))
    # Its cluster gets the label again, as by someone who wants it back: it is chosen, and gets nothing that could work.
    fleet.label("site-b", None)
    fleet.until(lambda: not fleet.hub.list(api.ADDONS, "ManagedClusterAddOn", "site-b"))
    fleet.label("site-b", NAME)
    fleet.until(lambda: fleet.hub.list(api.ADDONS, "ManagedClusterAddOn", "site-b"))
    time.sleep(10)  # that nothing comes cannot be waited for
    assert not site.list("apps/v1", "StatefulSet", NAME) + site.list("v1", "Secret", NAME)


@pytest.mark.soak
def test_an_upgrade_goes_by_way_of_the_hub(fleet):
    """The same images under other names, at one site after the other."""
    hosts = fleet.hosts()
    fleet.play("site", hosts=hosts)
    image = "flwr/supernode:1.42.0"
    for site in ("site-a", "site-b"):
        hosts[site]["supernode_image"] = image
    run = fleet.play("upgrade", "-e", "flower_upgrade_backup=false", hosts=hosts)
    assert "is complete" in run.messages(), run.details()
    started = []
    for site in ("site-a", "site-b"):
        pods = fleet.federation.pods(site, NAME).values()
        assert {one["image"] for pod in pods for one in pod["spec"]["containers"] if one["name"] == "supernode"} == {image}
        started.append({pod["metadata"]["creationTimestamp"] for pod in pods})
    assert max(started[0]) < min(started[1]), f"the waves were not one after the other: {started}"
    assert set(fleet.play("upgrade", hosts=hosts).changed.values()) == {0}


def test_a_teardown_leaves_nothing_but_namespaces_and_data(fleet):
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
        assert fleet.claims(context) == ["dataset-codes"]
