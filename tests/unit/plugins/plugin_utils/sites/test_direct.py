# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site whose own API server is reached: what is deleted, what is waited for, and what stops it."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.apply import applyset
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Conflict
from ansible_collections.federated.flower.plugins.plugin_utils.kube.client import Cluster
from ansible_collections.federated.flower.plugins.plugin_utils.manifests import supernode
from ansible_collections.federated.flower.plugins.plugin_utils.ocm import addon_objects, nodes_work
from ansible_collections.federated.flower.plugins.plugin_utils.sites import direct, direct_checks, key_sources
from ansible_collections.federated.flower.plugins.plugin_utils.sites.registry import access_of
from ansible_collections.federated.flower.plugins.plugin_utils.sites.site import KeyResult, Site
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.apply.test_live_objects import live


@pytest.mark.parametrize("slow", ["login", "answer"])
def test_a_slow_site_does_not_delay_another(parsed_site, slow):
    """Neither while its login program runs, nor while its API server does not answer."""
    released = threading.Event()

    def block(name: str, where: str) -> None:
        if (name, where) == ("site-a", slow):
            assert released.wait(10), "site-b waits for site-a"

    def connect(name: str) -> Any:
        block(name, "login")
        return SimpleNamespace(list=lambda *_kind: block(name, "answer") or [])

    def nodes(name: str) -> Any:
        found = direct.Backend(SimpleNamespace(connect=connect), Site(name, parsed_site(), access_of({})))._nodes
        if name == "site-b":
            released.set()
        return found

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(nodes, ["site-a", "site-b"])) == [[], []]


class Secrets:
    """A cluster in which someone has put another Secret in the place of one that was seen."""

    def __init__(self, uid: str) -> None:
        self.uid, self.deleted = uid, []

    def delete(self, _api: str, _kind: str, name: str, _namespace: str, *, uid: str) -> None:
        if uid != self.uid:
            raise Conflict("site-a", "DELETE", 409, {"message": "the UID in the precondition differs"})
        self.deleted.append(name)


@pytest.mark.parametrize(("uid", "gone"), [("1", ["supernode-http-proxy"]), ("2", [])])
def test_only_the_secret_that_was_seen_is_deleted(monkeypatch, parsed_site, uid, gone):
    site = Site("site-a", parsed_site(), access_of({}))
    noted: list[dict[str, str]] = []
    run = SimpleNamespace(check=False, rendering=False, note=lambda _site, objects: noted.extend(objects))
    way = direct.Backend(run, site)
    way.cluster = Secrets(uid)
    way._obsolete = KeyResult(obsolete={"supernode-http-proxy": "1"}).obsolete
    monkeypatch.setattr(way, "_apply", lambda *_args, **_more: direct.StepResult())
    done = way.apply([], lambda: None)
    assert way.cluster.deleted == gone and len(noted) == len(gone) and done.changed is bool(gone)


class Live(Cluster):
    """A cluster that keeps what is applied, and has nodes. Its controllers leave objects as they are."""

    def __init__(self, *nodes: dict[str, Any]) -> None:
        self.name = "site-a"
        self.requests, self.warnings, self.nodes = 0, {}, nodes
        self.objects: dict[tuple[str, str], Any] = {}

    def resource(self, api_version: str, kind: str) -> Any:
        return SimpleNamespace(api_version=api_version, namespaced=kind != "Namespace")

    def get(self, api_version: str, kind: str, name: str, namespace: str | None = None) -> Any:
        return self.objects.get((kind, name))

    def list(self, api_version: str, kind: str, namespace: str | None = None, *, labels: str = "", fields: str = "") -> Any:
        if kind == "Node":
            return list(self.nodes)
        name, _is, value = labels.partition("=")
        return [one for key, one in self.objects.items() if key[0] == kind and one["metadata"].get("labels", {}).get(name) == value]

    def apply(self, obj: Any, *, dry_run: bool = False, force: bool = True) -> Any:
        self.requests += 1
        made = live(obj, "1")
        which = obj["kind"], obj["metadata"]["name"]
        made["status"] = self.objects.get(which, {}).get("status", {})
        if not dry_run:
            self.objects[which] = made
        return made


def node(name: str, *, ready: bool) -> dict[str, Any]:
    return {"metadata": {"name": name}, "status": {"conditions": [{"type": "Ready", "status": str(ready)}]}}


def way_to(cluster: Cluster, spec: Any) -> direct.Backend:
    run = SimpleNamespace(check=False, rendering=False, show_diff=False, note=lambda _site, **_facts: None)
    way = direct.Backend(run, Site("site-a", spec, access_of({})))
    way.cluster = cluster
    return way


def test_client_apps_that_stay_as_they_are_wait_for_no_run(parsed_site):
    way = way_to(Live(), parsed_site(clientapp="workload"))
    apps = supernode.clientapps(way.site.spec)
    assert [one["kind"] for one in apps if direct.clientapp.is_one(one)] == ["StatefulSet"]
    direct.apply_objects(way.cluster, apps, applyset=direct.APPLYSET, applyset_namespace=way.site.namespace)
    sent = way.cluster.requests
    assert not way._replaces_apps(apps) and way.cluster.requests == sent
    for one in apps:
        if direct.clientapp.is_one(one):
            one["spec"]["template"]["spec"]["containers"][0]["image"] = "example.com/app:2"
    assert way._replaces_apps(apps)
    (found,) = way.cluster.list("apps/v1", "StatefulSet", labels=f"{applyset.PART_OF}={applyset.set_id('supernode', way.site.namespace)}")
    assert found["spec"]["template"]["spec"]["containers"][0]["image"] != "example.com/app:2", "nothing was written"


def test_of_a_node_only_what_is_read_is_kept(parsed_site):
    """A cluster lists all images of each of its nodes, tens of kilobytes."""
    full = node("a", ready=True)
    kept = {**full, "spec": {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}, "metadata": {"name": "a", "labels": {"zone": "x"}}}
    listed = {"metadata": {**kept["metadata"], "annotations": {}}, "spec": {**kept["spec"], "podCIDR": "x"}, "status": {**kept["status"], "images": ["x"]}}
    assert way_to(Live(listed), parsed_site())._nodes == [kept]


DAEMONS = [{"name": "nodes", "mode": "DaemonSet", "node_selector": {}}, {"name": "cpu", "replicas": 1}]


def test_nodes_of_daemon_set_pools_that_are_not_ready(parsed_site):
    spec = parsed_site(pools=[{**DAEMONS[0], "node_selector": {"zone": "x"}}, DAEMONS[1]])
    away = [node("a", ready=False), node("b", ready=True), node("c", ready=False)]
    away[0]["metadata"]["labels"] = away[1]["metadata"]["labels"] = {"zone": "x"}
    assert key_sources.away(spec, away) == {"nodes": ["a"]}
    assert key_sources.away(spec, away[1:]) == {}


@pytest.mark.parametrize(("down", "failed"), [("c", False), ("", True)])
def test_a_node_that_is_down_does_not_fail_its_site(parsed_site, down, failed):
    cluster = Live(*(node(name, ready=name != down) for name in "abc"))
    way = way_to(cluster, parsed_site(pools=DAEMONS, insecure=True))
    (found,) = [one for one in supernode.objects(way.site.spec) if one["kind"] == "DaemonSet"]
    status = {"desiredNumberScheduled": 3, "updatedNumberScheduled": 2, "numberAvailable": 2}
    cluster.objects["DaemonSet", found["metadata"]["name"]] = live(found, "1") | {"status": status}
    way.site.seconds = 0
    done = way.apply([found], lambda: None)
    assert done.failed is failed
    words = "site-a: pool nodes: the nodes c are not ready; this run does not wait for their SuperNodes"
    assert done.warnings == ([] if failed else [words])
    assert ("2 of 3 pods" in done.msg) is failed


@pytest.mark.parametrize(
    ("replicas", "switched", "rendering", "refused"),
    [(2, False, False, True), (2, True, False, False), (2, False, True, False), (0, False, False, False)],
)
def test_clientapps_wait_for_the_switch_of_their_supernodes(monkeypatch, parsed_site, replicas, switched, rendering, refused):
    site = Site("site-a", parsed_site(clientapp="workload", pools=[{"name": "cpu", "replicas": replicas}]), access_of({}))
    way = direct.Backend(SimpleNamespace(check=False, rendering=rendering), site)
    way.cluster = Live()
    way.cluster.objects = {("Service", "supernode-cpu-runtime-0"): {}} if switched else {}
    monkeypatch.setattr(way, "_apply", lambda *_args, **_more: direct.StepResult(msg="applied"))
    if refused:
        with pytest.raises(direct.ClusterError, match="of site-a are not deployed for ClientApps in their own pods yet"):
            way.apply_apps([], lambda: None, 1)
    else:
        assert way.apply_apps([], lambda: None, 1).msg == "applied"


@pytest.mark.parametrize(
    ("pool", "words"),
    [
        ({"datasets": [{"name": "ct", "claim": "radiologi-ct"}]}, "PersistentVolumeClaim flower/radiologi-ct does not exist"),
        ({"datasets": [{"name": "codes", "config_map": "icd"}]}, "ConfigMap flower/icd does not exist"),
        ({"priority_class": "gone"}, "there is no PriorityClass gone in the cluster"),
    ],
)
def test_what_clientapps_cannot_start_with_is_told_before_one_is_replaced(monkeypatch, parsed_site, pool, words):
    way = way_to(Live(), parsed_site(clientapp="workload", namespace="flower", pools=[{"name": "cpu", **pool}]))
    way.cluster.objects = {("Service", "supernode-cpu-runtime-0"): {}}
    monkeypatch.setattr(way.cluster, "access_review", lambda asked: [True] * len(asked))
    applied = []
    monkeypatch.setattr(way, "_apply", lambda *_args, **_more: applied.append("applied") or direct.StepResult(warnings=["of the pods"]))
    with pytest.raises(direct.ClusterError, match=words):
        way.apply_apps(supernode.clientapps(way.site.spec), lambda: None, 1)
    assert not applied
    meta = {"metadata": {"name": "radiologi-ct"}, "spec": {"accessModes": ["ReadOnlyMany"]}, "status": {"phase": "Bound"}}
    way.cluster.objects |= dict.fromkeys([("PersistentVolumeClaim", "radiologi-ct"), ("ConfigMap", "icd"), ("PriorityClass", "gone")], meta)
    assert way.apply_apps(supernode.clientapps(way.site.spec), lambda: None, 1).warnings == ["of the pods"] and applied


def test_nodes_that_are_away_pull_no_images(monkeypatch, parsed_site):
    site = Site("site-a", parsed_site(pools=[{"name": "edge", "mode": "DaemonSet"}]), access_of({}))
    way = direct.Backend(SimpleNamespace(check=True, rendering=False), site)
    way.cluster = Live(node("n1", ready=True), node("n2", ready=False))
    body = {"containers": [{"image": "r/supernode:2"}]}
    jobs = [{"spec": {"template": {"spec": {**body, "nodeName": name}}}} for name in ("n1", "n2")]
    monkeypatch.setattr(direct.direct_pull, "_jobs", lambda *_given: jobs)
    monkeypatch.setattr(direct.direct_pull.ask, "require", lambda *_given: None)
    done = way.pull([], 60)
    assert done.nodes == ["n1"] and done.msg == "to be pulled: r/supernode:2 on 1 node of site-a"


@pytest.mark.parametrize("part", [nodes_work.PART, "keys"])
def test_a_site_that_open_cluster_management_still_delivers_to_is_refused(parsed_site: Any, part: str) -> None:
    """Its host got another flower_delivery. To delete what was delivered, as the warning says, would delete what was deployed since."""
    spec = parsed_site(cluster="site-a", federation="demo", ocm_addon="demo-supernode")
    found = next(item for item in supernode.objects(spec.complete()) if item["kind"] == "StatefulSet")
    asked: list[tuple[str, ...]] = []

    def listed(*where: str, labels: str) -> list[Any]:
        asked.append(where)
        wanted = dict(pair.split("=") for pair in labels.split(","))
        return [found] if wanted.items() <= found["metadata"]["labels"].items() else []

    cluster: Any = SimpleNamespace(name="site-a", list=listed)
    direct_checks._refuse_delivered(cluster, spec)
    owner = {"apiVersion": "work.open-cluster-management.io/v1", "kind": "AppliedManifestWork", "uid": "1"}
    found["metadata"]["ownerReferences"] = [{**owner, "name": f"{'0' * 64}-of-someone-else"}]
    direct_checks._refuse_delivered(cluster, spec)
    found["metadata"]["ownerReferences"].append({**owner, "name": f"{'0' * 64}-{addon_objects.work_name(spec, part)}"})
    with pytest.raises(ClusterError, match="teardown --limit site-a -e flower_delivery=ocm") as raised:
        direct_checks._refuse_delivered(cluster, spec)
    assert "StatefulSet supernode-" in raised.value.message and set(asked) == {("apps/v1", "StatefulSet", spec.namespace)}


def test_two_hosts_of_one_place_are_refused(parsed_site):
    claims: dict[str, str] = {}
    run = SimpleNamespace(claim=lambda host, places: next((other for one in places if (other := claims.setdefault(one, host)) != host), ""))
    hub = {"places": ["uid-of-the-hub"]}

    def check(name: str, *places: str, **variables: str) -> None:
        direct_checks.refuse_duplicate(run, Site(name, parsed_site(), access_of(variables), hub="hub"), places, hub)

    check("site-a", "uid-1", "uid-2")
    check("site-a", "uid-1", "uid-2")
    with pytest.raises(ClusterError, match="this host and site-a are the same namespace"):
        check("site-b", "uid-2")
    check("site-c", "uid-of-the-hub")  # they connect directly
    claims.clear()
    with pytest.raises(ClusterError, match="this host and hub are the same namespace .* Skupper serves one Site"):
        check("site-c", "uid-of-the-hub", flower_connectivity="skupper")
