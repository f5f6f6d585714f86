# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Pods and containers die, also during a run; the federation recovers automatically and loses nothing."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI

END = "import os, signal; os.kill(1, signal.SIGTERM)"


def replaced(fed, context, pod, name="supernode"):
    """Delete a pod; says whether there is another one, which may not have waited until someone killed the first."""
    uid = fed.pods(context, name=name)[pod]["metadata"]["uid"]
    fed.cluster(context).delete("v1", "Pod", pod, fed.namespace, propagation="Background")
    grace_ends = fed.cluster(context).get("v1", "Pod", pod, fed.namespace)["metadata"]["deletionTimestamp"]

    def look():
        there = fed.pods(context, name=name).get(pod, {"metadata": {"uid": uid}})["metadata"]
        assert there["uid"] == uid or there["creationTimestamp"] < grace_ends, "it did not end before it was killed"
        return there["uid"] != uid

    return look


def test_superlink_pod_is_deleted_during_a_run(fed):
    run, finish = fed.begin(**{"num-server-rounds": 2, "min-nodes": 3, "sleep": 5.0})

    def look():
        lives = [fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="serverapp")]
        return lives, fed.ledger().read_book(), fed.ledger().read_records(), set(fed.nodes())

    before = look()
    fed.wait("another pod", replaced(fed, "hub", "superlink-0", "superlink"))
    FlowerCLI(fed.hub, fed.namespace).wait_for_superlink(120)
    assert fed.app_runs()[run] == "running", "the run was over before the pod was gone: this shows nothing"
    fed.wait_online(*fed.keys("site-a").values(), *fed.keys("site-b").values())

    result = finish()
    assert result.rc == 0, result.details()
    assert "in 2 rounds" in result.messages() and "completed" in result.messages()
    assert fed.app_runs()[run] == "finished:completed"
    assert look() == before, "a pod was restarted, or something was forgotten"


def test_supernode_container_ends(fed):
    before = fed.lives("site-a")
    pod = min(before)
    node = fed.keys("site-a")["cpu", pod.rpartition("-")[2]]
    cli = FlowerCLI(fed.hub, fed.namespace)
    activated = cli.nodes()[node]["online-at"]
    ((other, _life),) = fed.lives("site-b").items()
    is_replaced = replaced(fed, "site-b", other)
    fed.python("site-a", pod, "supernode", END)
    fed.wait("a restart", lambda: fed.lives("site-a")[pod] == (before[pod][0], before[pod][1] + 1), 60)
    fed.wait("a new session of the same node", lambda: cli.nodes()[node]["online-at"] != activated, pause=2)
    fed.wait_online(node)
    fed.wait("another pod", is_replaced)
    others = {name: life for name, life in before.items() if name != pod}
    assert {name: life for name, life in fed.lives("site-a").items() if name != pod} == others
    fed.wait_online(*fed.keys("site-b").values())
    fed.unchanged()


def test_a_superlink_that_cannot_start_is_corrected(fed):
    """Its StatefulSet leaves a pod as it is that is not ready, also when the template is right again: one run of site.yml corrects it."""
    keys, known = {site: fed.keys(site) for site in ("site-a", "site-b")}, set(fed.nodes())
    wrong, right = fed.base(), fed.base()
    wrong["hub"]["superlink_extra_args"] = ["--log-file", "/proc/superlink.log"]
    for site in keys:
        wrong[site]["supernode_wait_timeout"] = 20
    fed.settled = False
    failed = fed.play("site", hosts=wrong, rc=2)
    assert "superlink-0" in failed.messages(failed=True), failed.messages(failed=True)
    before = len(fed.trail())
    fed.play("site", hosts=right)
    # By the task that applies the StatefulSet; by the one that waits for the SuperLink, if the container ran for a moment before.
    recorded = [fact for entry in fed.trail()[before:] for facts in entry["sites"].get("hub", {}).values() for fact in facts]
    deleted = {"change": "deleted", "object": f"Pod {fed.namespace}/superlink-0"}
    assert deleted in recorded or any("pod superlink-0 was created again: it was not ready" in str(fact) for fact in recorded), recorded
    fed.wait_online(*(node for nodes in keys.values() for node in nodes.values()))
    assert {site: fed.keys(site) for site in keys} == keys and set(fed.nodes()) == known
    fed.settled = True
    fed.unchanged()
