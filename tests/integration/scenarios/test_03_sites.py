# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Sites join and leave, with a goodbye and without one; the others do not notice."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

POOL = {"name": "late", "replicas": 1, "node_config": {"partition-id": "{partition}", "num-partitions": "{partitions}"}}


def one_more(fed, name):
    """The base inventory and a site that shares the cluster of site-a."""
    site = {"flower_context": "site-a", "supernode_namespace": f"{NAMESPACE}-{name[-1]}", "supernode_pools": [POOL]}
    return {**fed.base(), name: site}


@pytest.fixture
def others(fed):
    """Says how those are that should not notice anything."""

    def look():
        book = fed.ledger().read_book()["sites"]
        return {
            context: (fed.lives(context), fed.partitions(context), fed.keys(context), book.get(context))
            for context in ("site-a", "site-b")
        }

    return look


def test_site_joins_and_leaves(fed, others):
    before = others()
    hosts = one_more(fed, "site-c")
    run = fed.site(hosts)
    assert run.changed["site-b"] == 0, "a site that was there already was changed"
    assert others() == before
    taken = {number for _lives, partitions, _keys, _book in before.values() for number in partitions.values()}
    offset = fed.pools("site-c")["late"]["offset"]
    assert offset == min(set(range(len(taken) + 1)) - taken), "the newcomer did not get the first free number"
    assert fed.partitions("site-a", f"{NAMESPACE}-c") == {f"supernode-late-{offset}": offset}
    (node,) = fed.keys("site-c").values()
    assert fed.nodes()[node] == "online"
    rows = {line.split()[0]: line for line in fed.play("status", hosts=hosts).table}
    assert "late" in rows["site-c"] and "!" not in rows, rows

    hub_lives = fed.lives("hub", name="superlink")
    fed.play("teardown", "--limit", "site-c", "-e", "flower_teardown=true", hosts=hosts)
    assert fed.gone("site-a", f"{NAMESPACE}-c")
    assert fed.nodes()[node] == "unregistered"
    assert fed.pools("site-c") == {} and fed.keys("site-c") == {}
    assert others() == before and fed.lives("hub", name="superlink") == hub_lives

    again = one_more(fed, "site-d")
    fed.site(again)
    assert fed.pools("site-d")["late"]["offset"] == offset, "the number was not free again"
    assert others() == before
    (node,) = fed.keys("site-d").values()

    # Now site-d is taken out of the inventory, and its administrators did nothing.
    assert "site-d is not in the inventory" in fed.site().messages()
    assert fed.nodes()[node] == "online", "a missing host is no reason to throw a site out"
    report = fed.play("status", "-e", "flower_status_format=json").report
    assert report["forgotten"] == ["site-d"] and not report["healthy"]
    assert any(problem.startswith("site-d is not in the inventory") for problem in report["problems"]), report

    # Only who is named is forgotten: an inventory may lack sites by mistake.
    empty = {"hub": fed.base()["hub"]}
    for hosts, names, words in (
        (None, "true", "must be names of sites"),
        (None, "site-a", "site-a is in the inventory"),
        (empty, "site-a,site-b,site-d", "the inventory group flower_sites has no host"),
        ({"site-a": fed.base()["site-a"], **empty}, "site-b,site-d", "flower_forget_max=2"),
    ):
        refused = fed.play("site", "-e", f"flower_forget_sites={names}", hosts=hosts, rc=2)
        assert words in refused.messages(failed=True), refused.details()
        assert set(refused.changed.values()) == {0}
    assert fed.nodes()[node] == "online"

    fed.site(None, "-e", "flower_forget_sites=site-d")
    assert fed.nodes()[node] == "unregistered"
    assert fed.pools("site-d") == {} and fed.keys("site-d") == {}
    assert others() == before
    assert "site-d" not in fed.play("status").messages()

    # Its cluster is its administrators' own business, so its pods still hold the dead key. It may come back at once.
    fed.site(again)
    (renewed,) = fed.keys("site-d").values()
    assert renewed != node and fed.nodes()[renewed] == "online"
    assert fed.pools("site-d")["late"]["offset"] == offset
    assert others() == before
    fed.site(None, "-e", "flower_forget_sites=site-d")
    fed.cluster("site-a").delete("v1", "Namespace", f"{NAMESPACE}-d", propagation="Background")


def test_teardown_asks_first(fed):
    lives = fed.lives("site-b")
    run = fed.play("teardown", "--limit", "site-b", rc=2)
    assert "site-b" in run.messages(failed=True) and "flower_teardown=true" in run.messages(failed=True)
    assert fed.lives("site-b") == lives
    fed.settled = True
