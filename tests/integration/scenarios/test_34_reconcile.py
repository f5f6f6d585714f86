# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""SuperNodes that lost their SuperLink for good are found and restarted, and nothing else; drift is shown by object, then repaired."""

from __future__ import annotations

import time

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube import pod_health, stuck_pods
from ansible_collections.federated.flower.plugins.plugin_utils.pki import keypairs

GATEWAY = "superlink-gateway"
SOON = ("-e", "flower_reconcile_after=10")
HEAL = (*SOON, "-e", "flower_reconcile=heal")


@pytest.fixture(scope="module")
def plain(federation):
    """The federation without sidecars: a SuperNode sees what the gateway answers."""
    hosts = federation.base()
    for site in ("site-a", "site-b"):
        hosts[site]["supernode_sidecar"] = False
    federation.site(hosts, *federation.forgetting(), flower_mtls=False)
    federation.settled = False
    yield {"hosts": hosts, "flower_mtls": False}
    federation.settled = False


def answers(fed, text):
    """Have the gateway work with another configuration."""
    live = fed.hub.get("v1", "ConfigMap", GATEWAY, fed.namespace)
    before = live["data"]["haproxy.cfg"]
    fed.hub.replace({**live, "data": {**live["data"], "haproxy.cfg": text}})
    stuck_pods.touch_pods(fed.hub, fed.namespace, "app.kubernetes.io/name=superlink")
    return before


def rule(fed, site, name, code, call):
    """A line for the gateway that answers one call of one SuperNode with a code."""
    keys = fed.ledger().read_records()[site]["keys"].values()
    (line,) = (key["public_key"] for key in keys if key["name"] == name)
    digest = keypairs.supernode_key_digest(line)
    return (
        f"  http-request deny deny_status {code} if {{ path /v1/fleet/{call} }}"
        f" {{ req.hdr(flwr-public-key),b64dec,sha2(256),hex,lower -m str {digest} }}\n"
    )


def result(run):
    """What the playbook published last."""
    found = [one["result"]["ansible_stats"]["data"] for one in run.results if "ansible_stats" in one.get("result", {})]
    return found[-1]["flower_reconcile_result"]


def test_a_ghost_a_zombie_and_drift(federation, plain):
    fed, other = federation, federation.cluster("site-b")
    (one, ghost), (two, zombie) = sorted((int(name), node) for (_pool, name), node in fed.keys("site-a").items())
    first_pod, second_pod = f"supernode-cpu-{one}", f"supernode-cpu-{two}"
    before, others = fed.lives("site-a"), fed.lives("site-b")
    configured = fed.hub.get("v1", "ConfigMap", GATEWAY, fed.namespace)["data"]["haproxy.cfg"]
    first = "  http-request deny deny_status 503 if { src -f /etc/gw/denied.lst }\n"
    assert configured.count(first) == 1
    lines = rule(fed, "site-a", str(one), 403, "send-node-heartbeat") + rule(fed, "site-a", str(two), 404, "pull-messages")
    begun = time.monotonic()
    answers(fed, configured.replace(first, first + lines))
    other.patch("apps/v1", "StatefulSet", "supernode-gpu", fed.namespace, {"spec": {"replicas": 2}})
    try:
        # What was changed by hand is drift, at the hub as well as at a site. Nothing is changed by a report.
        drift = {(one["host"], one["object"]) for one in result(fed.play("reconcile", **plain))["drift"]}
        by_hand = ("site-b", f"StatefulSet {fed.namespace}/supernode-gpu")
        assert drift == {("hub", f"ConfigMap {fed.namespace}/{GATEWAY}"), by_hand}
        assert other.get("apps/v1", "StatefulSet", "supernode-gpu", fed.namespace)["spec"]["replicas"] == 2
        fed.wait("the ghost offline", lambda: fed.nodes()[ghost] == "offline", 150, pause=2)
    finally:
        answers(fed, configured)
    lost = time.monotonic() - begun
    time.sleep(12)
    run = fed.play("reconcile", *HEAL, "--check", **plain)
    assert ghost in {one["node_id"] for one in result(run)["due"]}, result(run)
    # A zombie is ended by its liveness probe and started again by the kubelet, so what is to be healed of it may be nothing.
    seen = fed.nodes()[zombie], fed.lives("site-a")[second_pod][1]
    assert fed.nodes()[ghost] == "offline", "it came back by itself"
    assert fed.lives("site-a")[first_pod] == before[first_pod], "check mode restarted it, or its probe"
    assert pod_health.is_ready(fed.pods("site-a")[first_pod]), "Kubernetes saw it"

    begun = time.monotonic()
    run = fed.play("reconcile", *SOON, "-e", "flower_reconcile=repair", **plain)
    took, healed = time.monotonic() - begun, {one["node_id"]: one["seconds"] for one in result(run)["healed"]}
    assert ghost in healed and set(healed) <= {ghost, zombie}, result(run)
    assert other.get("apps/v1", "StatefulSet", "supernode-gpu", fed.namespace)["spec"]["replicas"] == 1
    fed.wait_online(ghost, zombie)
    back = time.monotonic() - begun
    assert healed[ghost] < 60 and back < 150, (healed, back)
    after = fed.lives("site-a")
    assert after[first_pod][0] != before[first_pod][0]
    assert any(f"restarted pod {fed.namespace}/{first_pod}" in str(entry) for entry in fed.trail())
    times = f"ghost offline after {lost:.0f} s; zombie then (state, restarts): {seen}; healed, in seconds: {healed}; "
    times += f"playbook {took:.0f} s; all online after {back:.0f} s"
    (fed.logs / "reconcile-times.txt").write_text(times, encoding="utf-8")
    print(times)

    run = fed.play("reconcile", *SOON, "-e", "flower_reconcile=repair", **plain)
    assert set(run.changed.values()) <= {0} and result(run)["healed"] == result(run)["drift"] == [], result(run)
    assert "healing" not in fed.ledger().read_records()["site-a"]
    assert fed.lives("site-a") == after and fed.lives("site-b") == others


def test_a_site_that_cannot_be_reached_is_reported(federation, plain):
    hosts = {**plain["hosts"], "site-b": {**plain["hosts"]["site-b"], "flower_context": "nowhere"}}
    run = federation.play("reconcile", *HEAL, rc=2, hosts=hosts, flower_mtls=False)
    assert list(result(run)["unreadable"]) == ["site-b"] and result(run)["drift"] == [], result(run)
    assert "nowhere" in result(run)["unreadable"]["site-b"], result(run)


def test_a_superlink_that_is_down_is_repaired_and_nothing_is_restarted(federation, plain):
    fed = federation
    lives = [fed.lives(site) for site in ("site-a", "site-b")]
    fed.hub.patch("apps/v1", "StatefulSet", "superlink", fed.namespace, {"spec": {"replicas": 0}})
    try:
        fed.wait("its end", lambda: not fed.pods("hub", name="superlink"), 60)
        told = fed.play("reconcile", *HEAL, rc=2, **plain).messages(failed=True)
        assert "the SuperLink does not run, so no SuperNode is restarted" in told, told
        assert fed.hub.get("apps/v1", "StatefulSet", "superlink", fed.namespace)["spec"]["replicas"] == 0, "heal repairs no drift"
        run = fed.play("reconcile", *SOON, "-e", "flower_reconcile=repair", rc=2, **plain)
        told = run.messages(failed=True)
        assert "the SuperLink does not run, so no SuperNode is restarted" in told, told
        # That it was stopped is drift, and is repaired.
        assert f"StatefulSet {fed.namespace}/superlink" in {one["object"] for one in result(run)["drift"]}, result(run)
        assert fed.hub.get("apps/v1", "StatefulSet", "superlink", fed.namespace)["spec"]["replicas"] == 1
    finally:
        fed.hub.patch("apps/v1", "StatefulSet", "superlink", fed.namespace, {"spec": {"replicas": 1}})
    FlowerCLI(fed.hub, fed.namespace).wait_for_superlink(120)
    assert [fed.lives(site) for site in ("site-a", "site-b")] == lives
    bad = fed.play("reconcile", "-e", "flower_reconcile=mend", rc=2, **plain).messages(failed=True)
    assert "'mend' is not one of report, heal, repair" in bad, bad
