# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A site that is down fails alone and by name; a hub that is down stops everything before anything is touched."""

from __future__ import annotations


def test_site_that_is_down_fails_alone(fed, dead, tmp_path):
    hosts = fed.base()
    # The first site of the inventory: the one that asks the hub on behalf of all.
    hosts["site-a"]["flower_kubeconfig"] = dead
    lives = fed.lives("site-a"), fed.lives("site-b")
    run = fed.play("site", hosts=hosts, rc=None, flower_annotations={"scenario/outage": "yes"})
    assert run.rc != 0
    words = run.messages("site-a", failed=True)
    assert words.startswith("site-a: ") and "127.0.0.1:1" in words, words
    assert {host: numbers["failed"] for host, numbers in run.recap.items()} == {"hub": 0, "site-a": 1, "site-b": 0}
    trust = fed.cluster("site-b").get("v1", "ConfigMap", "supernode-trust", fed.namespace)
    assert "scenario/outage" in trust["metadata"]["annotations"], "site-b was not finished"
    assert (fed.lives("site-a"), fed.lives("site-b")) == lives
    assert set(fed.pools("site-a")) == {"cpu"}, "a site that is down has lost its place"

    page = tmp_path / "fleet.html"
    status = fed.play("status", "-e", f"flower_status_page={page}", hosts=hosts)
    rows = {line.split()[0]: line for line in status.table}
    assert "unreachable" in rows["site-a"] and "1/1" in rows["site-b"], status.table
    text = page.read_text()
    assert text.index("127.0.0.1:1") < text.index('<h2 id="sites">') and "federated.flower.site" in text.partition('<h2 id="changes">')[2]
    report = fed.play("status", "-e", "flower_status_format=json", "-e", "awx_job_id=7", hosts=hosts, rc=2).report
    assert [site["reachable"] for site in report["sites"]] == [False, True]
    assert not report["healthy"] and any(problem.startswith("site-a: ") for problem in report["problems"])


def test_hub_that_is_down(fed, dead):
    hosts = fed.base()
    hosts["hub"]["flower_kubeconfig"] = dead
    run = fed.play("site", hosts=hosts, rc=None, flower_annotations={"scenario/hub-down": "yes"})
    assert run.rc != 0
    assert run.messages("hub", failed=True).startswith("hub: ") and "127.0.0.1:1" in run.messages("hub", failed=True)
    for context in ("site-a", "site-b"):
        trust = fed.cluster(context).get("v1", "ConfigMap", "supernode-trust", fed.namespace)
        assert "scenario/hub-down" not in trust["metadata"].get("annotations", {})
    fed.settled = True
    status = fed.play("status", "-e", "flower_status_fail=true", hosts=hosts, rc=2)
    rows = {line.split()[0]: line for line in status.table}
    assert "unreachable" in rows["hub"] and "2/2" in rows["site-a"], rows
    assert "hub: " in status.messages("hub", failed=True)


def test_supernodes_that_their_site_deleted_are_missed(fed):
    """Nothing is wrong with what is there: what is not there is a problem, too, and the next run creates it."""
    site, keys = fed.cluster("site-b"), fed.keys("site-b")
    fed.settled = False
    site.delete("apps/v1", "StatefulSet", "supernode-gpu", fed.namespace, propagation="Foreground")
    fed.wait("the end of its pods", lambda: not fed.pods("site-b"))
    report = fed.play("status", "-e", "flower_status_format=json").report
    assert not report["healthy"] and any("site-b: no SuperNodes are deployed" in problem for problem in report["problems"]), report["problems"]
    fed.play("site")
    fed.wait_online(*keys.values())
    assert fed.keys("site-b") == keys
    fed.settled = True
    fed.unchanged()
