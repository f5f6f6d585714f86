# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What someone else created is refused before anything is changed, used as it is on request, and never deleted."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.conftest import CPU
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

THEIRS, SECOND = f"{NAMESPACE}-c", f"{NAMESPACE}-d"
ONE = {**CPU, "replicas": 1, "node_config": {"partition-id": "{partition}"}}
NEW = {"flower_namespace": f"{NAMESPACE}-wrong", "flower_ca_namespace": f"{NAMESPACE}-wrong-ca"}


def create(cluster, kind, name, namespace=None, **more):
    """Make an object as kubectl would."""
    body = {
        "apiVersion": "v1",
        "kind": kind,
        "metadata": {"name": name, **({"namespace": namespace} if namespace else {})},
        **more,
    }
    path = cluster.resource("v1", kind).path(namespace)
    return cluster.request("POST", path, query={"fieldManager": "kubectl-create"}, body=body)


def facts(cluster, name):
    """What would show that someone touched a namespace: its own version, and those of what is in it."""
    space = cluster.get("v1", "Namespace", name)
    return space["metadata"]["resourceVersion"], {
        (kind, item["metadata"]["name"]): item["metadata"]["resourceVersion"]
        for kind in ("ConfigMap", "Secret", "Service")
        for item in cluster.list("v1", kind, name)
    }


def joining(fed, name, context, space, **more):
    """The base inventory and one more site."""
    hosts = fed.base()
    hosts[name] = {"flower_context": context, "supernode_namespace": space, "supernode_pools": [ONE], **more}
    return hosts


@pytest.fixture(scope="module")
def theirs(federation):
    """A namespace on site-a with things of someone else in it."""
    cluster = federation.cluster("site-a")
    create(cluster, "Namespace", THEIRS)
    create(cluster, "ConfigMap", "theirs", THEIRS, data={"a": "1"})
    create(cluster, "ConfigMap", "supernode-sidecar", THEIRS, data={"a": "1"})
    yield cluster
    cluster.delete("v1", "Namespace", THEIRS, propagation="Background")


def preflight(fed, hosts=None, *arguments, **common):
    """Run the preflight checks, which must not change anything."""
    run = fed.play("site", "--tags", "preflight", *arguments, hosts=hosts, rc=None, **common)
    assert not any(run.changed.values()), run.changed
    fed.settled = True
    return run


def test_a_namespace_of_someone_else_is_refused(fed, theirs):
    before = facts(theirs, THEIRS)
    hosts = joining(fed, "site-c", "site-a", THEIRS)
    run = preflight(fed, hosts)
    assert run.rc and {host for host, numbers in run.recap.items() if numbers["failed"]} == {"site-c"}, run.recap
    for word in ("site-c", f"Namespace {THEIRS}", "kubectl-create", "flower_create_namespace", "flower_namespace"):
        assert word in run.messages("site-c", failed=True), run.messages("site-c", failed=True)
    hosts["site-c"]["supernode_create_namespace"] = False
    run = preflight(fed, hosts)
    assert f"ConfigMap {THEIRS}/supernode-sidecar" in run.messages("site-c", failed=True), run.details()
    assert facts(theirs, THEIRS) == before


def test_two_hosts_that_are_one_place_are_refused(fed):
    hosts = joining(fed, "site-x", "site-b", SECOND)
    hosts["site-y"] = dict(hosts["site-x"])
    run = preflight(fed, hosts)
    (refused,) = {host for host, numbers in run.recap.items() if numbers["failed"]}
    assert refused in ("site-x", "site-y"), run.recap
    other = {"site-x": "site-y", "site-y": "site-x"}[refused]
    assert f"this host and {other} are the same namespace {SECOND} of the same cluster" in run.messages(
        refused, failed=True
    )
    assert fed.gone("site-b", SECOND)


def test_a_host_that_takes_the_place_of_a_site_is_refused(fed):
    run = preflight(fed, joining(fed, "renamed", "site-b", NAMESPACE))
    assert {host for host, numbers in run.recap.items() if numbers["failed"]} == {"renamed"}, run.recap
    assert "contains the SuperNodes of site-b, another site" in run.messages("renamed", failed=True)
    run = fed.play(
        "teardown",
        "--limit",
        "renamed",
        "-e",
        "flower_teardown=true",
        hosts=joining(fed, "renamed", "site-b", NAMESPACE),
        rc=2,
    )
    assert "nothing is deleted" in run.messages("renamed", failed=True)
    fed.settled = True


def test_another_hub_cannot_take_a_site(fed):
    """With a federation of the same name: only the hub is another one."""
    hosts = {name: host for name, host in fed.base().items() if name != "site-b"}
    hosts["site-a"]["supernode_namespace"] = NAMESPACE
    run = preflight(fed, hosts, **NEW)
    assert "the federation scenario of another hub, as its site site-a" in run.messages("site-a", failed=True), (
        run.details()
    )
    run = preflight(fed, hosts, flower_federation="other", **NEW)
    assert "belongs to the federation scenario" in run.messages("site-a", failed=True), run.details()


def test_another_federation_cannot_take_the_hubs_namespaces(fed):
    hub_alone = (fed.base(), "--limit", "hub")
    run = preflight(fed, *hub_alone, flower_federation="other")
    assert f"Namespace {NAMESPACE}" in run.messages("hub", failed=True) and "federation scenario" in run.messages(
        "hub", failed=True
    )
    for federation in ("other", "scenario"):
        run = preflight(fed, *hub_alone, flower_federation=federation, flower_namespace=NEW["flower_namespace"])
        for word in (f"flower_ca_namespace: {CA_NAMESPACE}", f"for example {NEW['flower_namespace']}-ca"):
            assert word in run.messages("hub", failed=True), run.messages("hub", failed=True)
    assert fed.gone("hub", NEW["flower_namespace"])


def test_sites_in_a_namespace_of_others_and_in_the_hubs(fed, theirs):
    """Both go again, and take nothing with them that is not theirs."""
    theirs.delete("v1", "ConfigMap", "supernode-sidecar", THEIRS)
    before = theirs.get("v1", "Namespace", THEIRS)
    hosts = joining(fed, "site-c", "site-a", THEIRS, supernode_create_namespace=False)
    hosts["site-h"] = {"flower_context": "hub", "supernode_pools": [ONE]}
    fed.site(hosts)
    assert theirs.get("v1", "Namespace", THEIRS)["metadata"]["labels"] == before["metadata"]["labels"]
    policies = {item["metadata"]["name"] for item in theirs.list("networking.k8s.io/v1", "NetworkPolicy", THEIRS)}
    assert policies == {"supernode"}, "pods of others are closed"
    held = facts(fed.hub, NAMESPACE)[1]
    records = fed.ledger().read_records()
    assert {"site-c", "site-h"} <= set(records)
    run = fed.play(
        "teardown",
        "--limit",
        "site-c,site-h",
        "-e",
        "flower_teardown=true",
        "-e",
        "flower_delete_volumes=true",
        hosts=hosts,
    )
    assert f"namespace {THEIRS} stays (it was created by someone else)" in run.messages("site-c")
    assert f"namespace {NAMESPACE} stays (it also contains the hub)" in run.messages("site-h")
    left = {
        kind: {i["metadata"]["name"] for i in theirs.list("v1", kind, THEIRS)}
        for kind in ("ConfigMap", "Secret", "Service")
    }
    assert left == {"ConfigMap": {"kube-root-ca.crt", "theirs"}, "Secret": set(), "Service": set()}
    assert theirs.get("v1", "Namespace", THEIRS)["metadata"]["uid"] == before["metadata"]["uid"]
    gone = {name for _kind, name in set(held) - set(facts(fed.hub, NAMESPACE)[1])}
    assert gone and all(name.startswith(("supernode", "applyset-supernode", "flower-site-site-")) for name in gone), (
        gone
    )
    assert set(fed.ledger().read_records()) == {"site-a", "site-b"}
    assert fed.pods("hub", name="supernode") == {} and fed.pods("hub", name="superlink")
    fed.unchanged()
