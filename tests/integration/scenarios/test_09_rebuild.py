# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SuperLink loses its database; one run of site.yml brings all sites back with the keys that they have."""

from __future__ import annotations


def held(fed):
    """Data of all keys Secrets."""
    return {
        (context, pool): fed.cluster(context).get("v1", "Secret", f"supernode-{pool}-keys", fed.namespace)["data"]
        for context, pool in (("site-a", "cpu"), ("site-b", "gpu"))
    }


def test_lost_database(fed):
    keys, ranges = held(fed), (fed.pools("site-a"), fed.pools("site-b"))
    before = {node for site in ("site-a", "site-b") for node in fed.keys(site).values()}
    claim = fed.hub.get("v1", "PersistentVolumeClaim", "data-superlink-0", fed.namespace)
    fed.settled = False
    fed.hub.delete("v1", "PersistentVolumeClaim", claim["metadata"]["name"], fed.namespace, propagation="Background")
    fed.hub.delete("v1", "Pod", "superlink-0", fed.namespace, propagation="Background")

    def fresh():
        found = fed.hub.get("v1", "PersistentVolumeClaim", "data-superlink-0", fed.namespace) or claim
        return found["metadata"]["uid"] != claim["metadata"]["uid"]

    def replaced():
        # The pod may come before the old claim is gone, and then waits for it without end.
        pod = fed.hub.get("v1", "Pod", "superlink-0", fed.namespace)
        if fresh():
            return True
        if pod and not pod["metadata"].get("deletionTimestamp") and pod["status"]["phase"] == "Pending":
            fed.hub.delete("v1", "Pod", "superlink-0", fed.namespace, propagation="Background")
        return False

    fed.wait("a new volume", replaced, 90)
    fed.site()
    after = {node for site in ("site-a", "site-b") for node in fed.keys(site).values()}
    assert len(after) == len(before) and not after & before
    fed.wait_online(*after)
    assert set(fed.nodes()) == after
    assert held(fed) == keys, "a key was lost"
    assert (fed.pools("site-a"), fed.pools("site-b")) == ranges
    fed.unchanged()


def test_a_pod_that_waits_for_its_volume_without_end(fed):
    """It got a node before its new claim has one, as a scheduler does that still sees the old claim: nobody binds that claim any more."""
    fed.settled = False
    keys, place = held(fed), fed.namespace
    pod = fed.hub.get("v1", "Pod", "superlink-0", place)
    fed.hub.delete("apps/v1", "StatefulSet", "superlink", place, propagation="Orphan")
    for kind, name in (("Pod", "superlink-0"), ("PersistentVolumeClaim", "data-superlink-0")):
        fed.hub.delete("v1", kind, name, place, propagation="Background")
        fed.wait(f"deletion of {name}", lambda kind=kind, name=name: fed.hub.get("v1", kind, name, place) is None)
    meta = {"name": "superlink-0", "namespace": place, "labels": pod["metadata"]["labels"]}
    fed.hub.apply({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": pod["spec"]})
    before = len(fed.trail())
    run = fed.site()
    assert "superlink-0 was created again: it waited forever for its volume data-superlink-0" in run.output
    noted = fed.recorded(before)["sites"]["hub"]
    assert any("was created again" in str(word) for word in noted["words"]), noted
    assert set(fed.nodes().values()) == {"online"} and held(fed) == keys
