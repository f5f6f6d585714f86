# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pools that come, grow, shrink, are renamed and go. All on site-b, whose neighbours must not notice."""

from __future__ import annotations

import pytest

# Without {partitions}: a number that all pods know would restart them all when it changes.
EXTRA = {"name": "extra", "node_config": {"partition-id": "{partition}"}}
OTHER = {**EXTRA, "name": "other"}
DAEMON = {"name": "each", "mode": "DaemonSet", "node_config": {"node": "{node}"}}
ON_SITE_B = ("--limit", "site-b")
HUB_AND_B = ("--limit", "hub,site-b")


@pytest.fixture
def pools(fed):
    """Gives site-b other pools, runs site.yml twice (the second run may change nothing) and compares all records."""

    def change(*wanted, again=True, limit=ON_SITE_B):
        hosts = fed.base()
        hosts["site-b"]["supernode_pools"] += wanted
        run = fed.site(hosts, *limit)
        if again:
            fed.unchanged(hosts, *ON_SITE_B)
        agree(fed, {pool["name"]: pool.get("replicas") for pool in hosts["site-b"]["supernode_pools"]})
        return run

    return change


def agree(fed, wanted):
    """Pods, their numbers, the site's Secrets, ledger and SuperLink say the same."""
    ranges, keys, nodes, numbers = fed.pools("site-b"), fed.keys("site-b"), fed.nodes(), fed.partitions("site-b")
    assert {pool for pool, _name in keys} == set(wanted)
    assert set(ranges) == {pool for pool, replicas in wanted.items() if replicas is not None}
    for pool, replicas in wanted.items():
        if replicas is None:
            names = {"site-b"}
        else:
            assert ranges[pool]["size"] == replicas
            names = {str(ranges[pool]["offset"] + count) for count in range(replicas)}
            assert {f"supernode-{pool}-{name}": int(name) for name in names} == {
                pod: number for pod, number in numbers.items() if pod.startswith(f"supernode-{pool}-")
            }
        assert fed.held("site-b", pool) == names == {name for owner, name in keys if owner == pool}
    assert len(numbers) == sum(replicas or 0 for replicas in wanted.values())
    assert {nodes[node] for node in keys.values()} == {"online"}
    strangers = {node for node, status in nodes.items() if status != "unregistered"}
    strangers -= {node for site in ("site-a", "site-b") for node in fed.keys(site).values()}
    assert not strangers, f"registered, but in no pool: {strangers}"


def kept(fed, before, *names):
    """Whether pods are the same ones as before."""
    lives = fed.lives("site-b")
    return [lives.get(name) for name in names] == [before[name] for name in names]


def test_pools_come_grow_shrink_are_renamed_and_go(fed, pools):
    neighbour = fed.lives("site-a"), fed.pools("site-a"), fed.keys("site-a")
    gpu = fed.lives("site-b")
    # Too large for the two numbers that site-a leaves when it moves, so that there is room behind the last one.
    pools({**OTHER, "replicas": 3}, {**EXTRA, "replicas": 3}, again=False)
    assert kept(fed, gpu, *gpu), "new pools restarted one that was there"
    first = {pool: fed.pools("site-b")[pool]["offset"] for pool in ("other", "extra")}
    gone = {("other", str(first["other"] + count)) for count in (1, 2)}
    stay = [("other", first["other"]), *(("extra", first["extra"] + count) for count in range(3))]

    lives, keys = fed.lives("site-b"), fed.keys("site-b")
    pools({**OTHER, "replicas": 1}, {**EXTRA, "replicas": 4})
    assert {pool: fed.pools("site-b")[pool]["offset"] for pool in first} == first
    names = [f"supernode-{pool}-{number}" for pool, number in stay]
    assert kept(fed, lives, *names), "growing or shrinking restarted pods that stay"
    changed, nodes = fed.keys("site-b"), fed.nodes()
    assert {name: node for name, node in keys.items() if name not in gone}.items() <= changed.items()
    assert {nodes[keys[name]] for name in gone} == {"unregistered"}

    # Of the whole fleet, hub included, a change of one pool restarts that pool.
    fleet = fed.everything()
    pools({**OTHER, "replicas": 1, "env": [{"name": "SCENARIO", "value": "one pool"}]}, {**EXTRA, "replicas": 4}, again=False, limit=())
    now = fed.everything()
    assert {pod for pod in fleet if fleet[pod] != now.get(pod)} == {("site-b", f"supernode-other-{first['other']}")}
    assert len(now) == len(fleet)

    pools({**EXTRA, "name": "renamed", "replicas": 1})
    assert fed.held("site-b", "extra") == fed.held("site-b", "other") == set()
    nodes = fed.nodes()
    assert {nodes[changed[key]] for key in changed if key[0] in first} == {"unregistered"}
    assert (fed.lives("site-a"), fed.pools("site-a"), fed.keys("site-a")) == neighbour


def test_pool_that_has_no_room_moves_with_its_keys(fed):
    # The one in front has the numbers of the other behind it, whichever a scenario before this has moved.
    site, other = sorted(("site-a", "site-b"), key=lambda one: min(fed.partitions(one).values()))
    before = fed.keys(site)
    hosts = fed.base()
    (pool,) = hosts[site]["supernode_pools"]
    pool["replicas"] += 1
    start, lives = fed.pools(site)[pool["name"]]["offset"], fed.lives(other)
    run = fed.site(hosts)
    offset = fed.pools(site)[pool["name"]]["offset"]
    numbers = set(range(offset, offset + pool["replicas"]))
    assert not numbers & set(fed.partitions(other).values()), "two pools have one number"
    assert f"its partitions move from {start} to {offset}" in run.warnings()
    assert fed.lives(other) == lives
    after = fed.keys(site)
    for key, name in before:
        assert after[key, str(int(name) - start + offset)] == before[key, name], "a replica lost its node id"
    # The run ends when all nodes are online; a StatefulSet that has other arguments, too, may still be at it then.
    fed.wait("the pods with the new numbers", lambda: set(fed.partitions(site).values()) == numbers, 60)
    fed.wait_online(*after.values())
    nodes = fed.nodes()
    assert {nodes[node] for node in after.values()} == {"online"}


def test_daemon_set_pool_and_a_node_without_key(fed, pools):
    pools(DAEMON, again=False)
    (pod,) = (name for name in fed.pods("site-b") if name.startswith("supernode-each-"))
    config = fed.node_config("site-b", pod)
    assert config == {"node": "site-b"}
    old = fed.keys("site-b")["each", "site-b"]

    site = fed.cluster("site-b")
    secret = site.get("v1", "Secret", "supernode-each-keys", fed.namespace)
    site.replace({**secret, "data": {}})
    site.delete("v1", "Pod", pod, fed.namespace, propagation="Background")

    def waiting():
        for name, found in fed.pods("site-b").items():
            for one in found["status"].get("initContainerStatuses", []):
                if name.startswith("supernode-each-") and one["name"] == "wait-key" and "running" in one["state"]:
                    return name
        return None

    pod = fed.wait("a pod that waits for its key", waiting, 90)
    words = "waiting for the key of node site-b in Secret supernode-each-keys"
    fed.wait("the pod's word on what it waits for", lambda: words in fed.log("site-b", pod, "wait-key"), 30)
    hosts = fed.base()
    hosts["site-b"]["supernode_pools"] += [DAEMON]
    table = fed.play("status", hosts=hosts).messages()
    assert "wait-key" in table and "0 of 1 SuperNodes of pool each are online" in table, table

    finish = fed.start("reconcile", "-e", "flower_reconcile=repair", *HUB_AND_B, hosts=hosts)
    fed.wait("the new key", lambda: fed.held("site-b", "each") == {"site-b"}, 90)
    # A kubelet updates a pod's Secrets once a minute; when the pod changes, at once.
    site.patch("v1", "Pod", pod, fed.namespace, {"metadata": {"annotations": {"scenario/look": "now"}}})
    run = finish()
    assert run.rc == 0, run.details()
    assert "the clusters match the inventory" not in run.messages(), "a node without a key is drift"
    assert fed.nodes()[old] == "unregistered"
    agree(fed, {"gpu": 1, "each": None})
    fed.unchanged(hosts, *ON_SITE_B)
