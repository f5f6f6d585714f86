# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Proves the add-on for Open Cluster Management: real controllers, real agents, real rights, real pods."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from flower_fleet import settings
from flower_fleet.addons.ocm import controllers
from flower_fleet.addons.ocm.manifests import GATE, LABEL
from flower_fleet.clusters import lifecycle
from flower_fleet.clusters.api import Api, ApiError
from support import SETTINGS, api, fleet, needs_the_local_fleet, plan, until

pytestmark = [needs_the_local_fleet, pytest.mark.fleet]

GROUP = "open-cluster-management.io"
CLUSTER, ADDON, WORK = f"/apis/cluster.{GROUP}/v1", f"/apis/addon.{GROUP}/v1alpha1", f"/apis/work.{GROUP}/v1"
PLACEMENTS = f"/apis/cluster.{GROUP}/v1beta1"
SETS = f"/apis/cluster.{GROUP}/v1beta2"
REPLICA_SETS = f"/apis/work.{GROUP}/v1alpha1"
MANAGER = f"/apis/operator.{GROUP}/v1/clustermanagers/cluster-manager"
UNREACHABLE = f"cluster.{GROUP}/unreachable"
Object = dict[str, Any]


@pytest.fixture(scope="module")
def sites(running: list[str]) -> Iterator[list[str]]:
    """Names of the sites, all joined."""
    print(fleet("addon", "ocm", "up").stdout)
    yield [name for name in running if name != "hub"]
    fleet("addon", "ocm", "down")


@pytest.fixture
def hub(sites: list[str]) -> Api:
    return api("hub")


@pytest.fixture
def bound(hub: Api, space: str) -> str:
    """A namespace of the hub that may choose among the clusters of the default set."""
    spec = {"clusterSet": "default"}
    put(hub, f"{SETS}/namespaces/{space}/managedclustersetbindings", "ManagedClusterSetBinding", "default", spec)
    return space


def put(hub: Api, collection: str, kind: str, name: str, spec: Object) -> str:
    """Make an object on the hub; returns its path."""
    version = collection.split("/apis/")[1].split("/namespaces/")[0]
    version = "/".join(version.split("/")[:2])
    path = f"{collection}/{name}"
    item = {"apiVersion": version, "kind": kind, "metadata": {"name": name}, "spec": spec}
    hub.apply_text(path, json.dumps(item))
    return path


def condition(item: Object | None, kind: str) -> Object:
    found = (item or {}).get("status", {}).get("conditions", [])
    return next((one for one in found if one["type"] == kind), {"status": "", "message": ""})


def available(hub: Api, name: str) -> str:
    return condition(hub.get(f"{CLUSTER}/managedclusters/{name}"), "ManagedClusterConditionAvailable")["status"]


def pids() -> list[int]:
    """Supervisors of all clusters."""
    names = ["hub", *(path.name for path in SETTINGS.state.glob("site-*"))]
    return [pid for name in names for pid in controllers.group(SETTINGS.state, plan(name)).supervisors()]


def deployment(space: str, name: str = "sleeper") -> Object:
    """A pod that does nothing."""
    labels = {"app": name}
    container = {"name": "c", "image": settings.BUSYBOX_IMAGE, "command": ["sleep", "3600"]}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": space},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"terminationGracePeriodSeconds": 0, "containers": [container]},
            },
        },
    }


def config_map(space: str, **data: str) -> Object:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "told", "namespace": space}, "data": data}


def work(hub: Api, site: str, name: str, *objects: Object, feedback: Any = ()) -> str:
    """Send objects to a site; returns the path of the ManifestWork."""
    spec = {"workload": {"manifests": list(objects)}, "manifestConfigs": list(feedback)}
    return put(hub, f"{WORK}/namespaces/{site}/manifestworks", "ManifestWork", name, spec)


def values(hub: Api, path: str) -> Object:
    """Feedback values of a work, over all its manifests."""
    found = {}
    for manifest in (hub.get(path) or {}).get("status", {}).get("resourceStatus", {}).get("manifests", []):
        for value in manifest.get("statusFeedback", {}).get("values", []):
            found[value["name"]] = value["fieldValue"].get("integer", value["fieldValue"].get("string"))
    return found


def runs(site: str, space: str, name: str = "sleeper") -> bool:
    """Whether the Deployment's pod is ready on the site."""
    item = api(site).get(f"/apis/apps/v1/namespaces/{space}/deployments/{name}") or {}
    return bool(item.get("status", {}).get("readyReplicas"))


def test_all_sites_are_joined_and_available(hub: Api, sites: list[str]) -> None:
    clusters = {item["metadata"]["name"]: item for item in hub.request("GET", f"{CLUSTER}/managedclusters")["items"]}
    assert sorted(clusters) == sites
    for name, item in clusters.items():
        for kind in ("HubAcceptedManagedCluster", "ManagedClusterJoined", "ManagedClusterConditionAvailable"):
            assert condition(item, kind)["status"] == "True"
        # by the webhook, and by the fleet
        assert item["metadata"]["labels"][f"cluster.{GROUP}/clusterset"] == "default"
        assert item["metadata"]["labels"]["region"] == plan(name).region
        assert item["status"]["version"]["kubernetes"].startswith("v1.")
        assert item["status"]["allocatable"]["cpu"]
        assert item["spec"]["managedClusterClientConfigs"][0]["url"] == plan(name).server
    sets = {item["metadata"]["name"] for item in hub.request("GET", f"{SETS}/managedclustersets")["items"]}
    assert sets == {"default", "global"}


def test_a_second_up_changes_nothing(hub: Api, sites: list[str]) -> None:
    before = pids()
    said = fleet("addon", "ocm", "up").stdout
    assert "it runs already" in said and "they run already" in said
    assert pids() == before and len(before) == len(sites) + 1


def test_a_work_arrives_and_tells_back(hub: Api, space: str) -> None:
    told = {"resource": "configmaps", "group": "", "namespace": space, "name": "told"}
    sleeper = {"resource": "deployments", "group": "apps", "namespace": space, "name": "sleeper"}
    feedback = [
        {
            "resourceIdentifier": told,
            "feedbackRules": [{"type": "JSONPaths", "jsonPaths": [{"name": "word", "path": ".data.word"}]}],
        },
        {"resourceIdentifier": sleeper, "feedbackRules": [{"type": "WellKnownStatus"}]},
    ]
    path = work(hub, "site-a", "told", config_map(space, word="hello"), deployment(space), feedback=feedback)
    until(lambda: condition(hub.get(path), "Available")["status"] == "True")
    got = until(lambda: (found := values(hub, path)).get("ReadyReplicas") and found)
    assert got["word"] == "hello" and got["ReadyReplicas"] == 1
    assert runs("site-a", space) and not runs("site-b", space)
    hub.delete(path)
    until(lambda: api("site-a").get(f"/api/v1/namespaces/{space}/configmaps/told") is None)
    until(lambda: not runs("site-a", space))


def test_agents_have_their_own_rights_only(hub: Api, space: str) -> None:
    quota = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "few", "namespace": space},
        "spec": {"hard": {"pods": "5"}},
    }
    path = work(hub, "site-a", "quota", quota)
    applied = until(lambda: (found := condition(hub.get(path), "Applied"))["status"] and found)
    assert applied["status"] == "False"
    [manifest] = hub.request("GET", path)["status"]["resourceStatus"]["manifests"]
    told = manifest["conditions"][0]["message"]
    assert "klusterlet-work-sa" in told and "forbidden" in told
    role = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": space, "labels": {f"{GROUP}/aggregate-to-work": "true"}},
        "rules": [{"apiGroups": [""], "resources": ["resourcequotas"], "verbs": ["*"]}],
    }
    api("site-a").apply(role)
    try:
        until(lambda: condition(hub.get(path), "Applied")["status"] == "True", what="more rights by aggregation")
    finally:
        hub.delete(path)
        until(lambda: hub.get(path) is None)
        api("site-a").delete(f"/apis/rbac.authorization.k8s.io/v1/clusterroles/{space}")


def test_an_add_on_is_installed_where_the_placement_selects(hub: Api, bound: str) -> None:
    name, there = f"addon-{bound[-8:]}", f"{bound}-there"
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": there}}
    objects = [namespace, config_map(there, cluster="{{CLUSTER_NAME}}", word="{{WORD}}"), deployment(there)]
    us = {"requiredClusterSelector": {"labelSelector": {"matchLabels": {"region": "us"}}}}
    placement = put(hub, f"{PLACEMENTS}/namespaces/{bound}/placements", "Placement", "some", {"predicates": [us]})
    put(
        hub,
        f"{ADDON}/namespaces/{bound}/addondeploymentconfigs",
        "AddOnDeploymentConfig",
        "words",
        {"agentInstallNamespace": there, "customizedVariables": [{"name": "WORD", "value": "hello"}]},
    )
    template = put(
        hub,
        f"{ADDON}/addontemplates",
        "AddOnTemplate",
        name,
        {
            "addonName": name,
            "agentSpec": {"workload": {"manifests": objects}},
            "registration": [{"type": "KubeClient", "kubeClient": {}}],
        },
    )
    configs = [
        {"resource": "addontemplates", "defaultConfig": {"name": name}},
        {"resource": "addondeploymentconfigs", "defaultConfig": {"name": "words", "namespace": bound}},
    ]
    manager = put(
        hub,
        f"{ADDON}/clustermanagementaddons",
        "ClusterManagementAddOn",
        name,
        {
            "supportedConfigs": [{"group": f"addon.{GROUP}", **one} for one in configs],
            "installStrategy": {"type": "Placements", "placements": [{"name": "some", "namespace": bound}]},
        },
    )

    def state(site: str) -> str:
        return condition(hub.get(f"{ADDON}/namespaces/{site}/managedclusteraddons/{name}"), "Available")["status"]

    try:
        until(lambda: state("site-b") == "True")
        assert runs("site-b", there)
        got = api("site-b").request("GET", f"/api/v1/namespaces/{there}/configmaps/told")["data"]
        assert got == {"cluster": "site-b", "word": "hello"}
        # its own identity at the hub, asked for by the agent and granted by the hub's controllers
        until(lambda: api("site-b").get(f"/api/v1/namespaces/{there}/secrets/{name}-hub-kubeconfig"))
        assert not state("site-a")
        hub.patch(placement, {"spec": {"predicates": []}})
        until(lambda: state("site-a") == "True")
        assert runs("site-a", there)
    finally:
        hub.delete(manager)
        hub.delete(template)
        for site in ("site-a", "site-b"):
            until(partial(lambda one: api(one).get(f"/api/v1/namespaces/{there}") is None, site), 90)


def test_replica_sets_are_a_matter_of_the_feature_gate(hub: Api, bound: str) -> None:
    put(hub, f"{PLACEMENTS}/namespaces/{bound}/placements", "Placement", "all", {})
    template = {"workload": {"manifests": [config_map(bound, word="hello")]}}
    path = put(
        hub,
        f"{REPLICA_SETS}/namespaces/{bound}/manifestworkreplicasets",
        "ManifestWorkReplicaSet",
        "told",
        {"placementRefs": [{"name": "all"}], "manifestWorkTemplate": template},
    )
    decisions = f"{PLACEMENTS}/namespaces/{bound}/placementdecisions"
    until(lambda: any(item.get("status", {}).get("decisions") for item in hub.request("GET", decisions)["items"]))
    assert "status" not in hub.request("GET", path), "the gate is off, but someone is at work"
    # as the hub's owner does it
    hub.patch(MANAGER, {"spec": {"workConfiguration": {"featureGates": [{"feature": GATE, "mode": "Enable"}]}}})
    try:
        until(lambda: hub.request("GET", path).get("status", {}).get("summary", {}).get("Applied") == 2)
        manager = hub.request("GET", MANAGER)
        assert manager["status"]["observedGeneration"] == manager["metadata"]["generation"]
        for site in ("site-a", "site-b"):
            assert api(site).get(f"/api/v1/namespaces/{bound}/configmaps/told")["data"] == {"word": "hello"}
        hub.delete(path)
        until(lambda: hub.get(path) is None)
    finally:
        fleet("addon", "ocm", "up")  # off again
    assert not hub.request("GET", MANAGER)["spec"]["workConfiguration"].get("featureGates")


def test_an_agent_that_is_stopped_and_comes_back(hub: Api, space: str) -> None:
    fleet("addon", "ocm", "up", "--lease", "4")  # with the usual minute it takes five
    path = work(hub, "site-b", "sleeper", deployment(space))
    until(lambda: runs("site-b", space))
    fleet("addon", "ocm", "stop", "site-b")
    until(lambda: available(hub, "site-b") == "Unknown", 90)
    until(lambda: UNREACHABLE in taints(hub, "site-b"))
    assert runs("site-b", space) and available(hub, "site-a") == "True"
    # what is sent in the meantime waits
    later = work(hub, "site-b", "later", config_map(space, word="late"))
    assert "status" not in hub.request("GET", later)
    fleet("addon", "ocm", "start", "site-b")
    until(lambda: available(hub, "site-b") == "True" and UNREACHABLE not in taints(hub, "site-b"))
    until(lambda: api("site-b").get(f"/api/v1/namespaces/{space}/configmaps/told"))
    assert runs("site-b", space)
    for one in (path, later):
        hub.delete(one)
        until(lambda one=one: hub.get(one) is None)
    fleet("addon", "ocm", "up")
    assert hub.request("GET", f"{CLUSTER}/managedclusters/site-b")["spec"]["leaseDurationSeconds"] == 60


def taints(hub: Api, name: str) -> set[str]:
    return {one["key"] for one in hub.request("GET", f"{CLUSTER}/managedclusters/{name}")["spec"].get("taints", [])}


def test_killed_processes_come_back(hub: Api, space: str) -> None:
    before = lifecycle.commands_from(SETTINGS.cache / "bin" / "ocm-")
    assert len(before) >= 8
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    path = until(lambda: work(hub, "site-a", "told", config_map(space, word="hello")))
    until(lambda: api("site-a").get(f"/api/v1/namespaces/{space}/configmaps/told"))
    hub.delete(path)
    until(lambda: hub.get(path) is None)
    assert not {*before} & {*lifecycle.commands_from(SETTINGS.cache / "bin" / "ocm-")}


def test_a_site_that_is_not_accepted(hub: Api, sites: list[str]) -> None:
    fleet("addon", "ocm", "up", "--pending", "site-b")
    item = hub.request("GET", f"{CLUSTER}/managedclusters/site-b")
    assert not item["spec"]["hubAcceptsClient"]
    assert condition(item, "ManagedClusterJoined")["status"] != "True"
    asked = f"/apis/certificates.k8s.io/v1/certificatesigningrequests?labelSelector={GROUP}/cluster-name%3Dsite-b"
    [request] = [one for one in hub.request("GET", asked)["items"] if not one["status"].get("conditions")]
    assert request["spec"]["signerName"] == "kubernetes.io/kube-apiserver-client"
    assert available(hub, "site-a") == "True"
    fleet("addon", "ocm", "up")
    assert available(hub, "site-b") == "True"


def test_the_webhooks_check_what_the_hub_is_told(hub: Api, sites: list[str]) -> None:
    with pytest.raises(ApiError, match="metadata.name format is not correct|is invalid in client configs"):
        spec = {"hubAcceptsClient": False, "managedClusterClientConfigs": [{"url": "http://plain.example"}]}
        put(hub, f"{CLUSTER}/managedclusters", "ManagedCluster", "odd", spec)


def test_down_leaves_nothing(hub: Api, sites: list[str], space: str) -> None:
    work(hub, "site-a", "sleeper", deployment(space))
    until(lambda: runs("site-a", space))
    fleet("addon", "ocm", "stop", "site-b")  # must not hold it up
    said = fleet("addon", "ocm", "down").stdout
    assert "without the agents" not in said, said
    assert not pids()
    assert api("site-a").get(f"/apis/apps/v1/namespaces/{space}/deployments/sleeper") is None
    for name in ("hub", *sites):
        client = api(name)
        for path in (
            "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings",
            "/apis/rbac.authorization.k8s.io/v1/roles",
            "/apis/rbac.authorization.k8s.io/v1/rolebindings",
            "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
            "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
            "/apis/certificates.k8s.io/v1/certificatesigningrequests",
            "/api/v1/namespaces",
        ):
            items = client.request("GET", path)["items"]
            left = [
                item["metadata"]["name"]
                for item in items
                if LABEL in item["metadata"].get("labels", {})
                or "open-cluster-management" in json.dumps([item["metadata"]["name"], item["metadata"].get("labels")])
            ]
            assert not left, f"{name}: {path}"
        assert not controllers.group(SETTINGS.state, plan(name)).folder.exists()
    fleet("addon", "ocm", "down")  # nothing to do
