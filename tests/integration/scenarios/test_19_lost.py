# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Something is lost by accident, and one run of site.yml restores everything. One federation for all of it."""

from __future__ import annotations

import functools
import json

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import ExecBroken
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

SITES = ("site-a", "site-b")
HUB = "hub"

# What is lost: cluster, kind, namespace, name.
LOST = {
    "internal CA": [(HUB, "Secret", CA_NAMESPACE, "flower-internal-ca")],
    "internal certificate": [(HUB, "Secret", NAMESPACE, "superlink-internal")],
    "certificate of the runtime door": [(HUB, "Secret", NAMESPACE, "superlink-runtime-tls")],
    "shared secret of the hub": [(HUB, "Secret", NAMESPACE, "superlink-superexec")],
    "client CA": [(HUB, "Secret", CA_NAMESPACE, "flower-client-ca")],
    "gateway's certificate": [(HUB, "Secret", NAMESPACE, "superlink-gateway-tls")],
    "gateway's files on sites": [(HUB, "ConfigMap", NAMESPACE, "superlink-clients")],
    "gateway's configuration": [(HUB, "ConfigMap", NAMESPACE, "superlink-gateway")],
    "publication": [(HUB, "ConfigMap", NAMESPACE, "flower-federation")],
    "ledger of a site": [(HUB, "ConfigMap", NAMESPACE, "flower-site-site-a")],
    "book of the ledger": [(HUB, "ConfigMap", NAMESPACE, "flower-ledger")],
    "keys of a site": [("site-a", "Secret", NAMESPACE, "supernode-cpu-keys")],
    "shared secret of a site": [("site-a", "Secret", NAMESPACE, "supernode-superexec")],
    "loopback certificate of a site": [("site-a", "Secret", NAMESPACE, "supernode-local-tls")],
    "client key of a site": [("site-b", "Secret", NAMESPACE, "supernode-client-key")],
    "namespace of the CAs": [(HUB, "Namespace", None, CA_NAMESPACE)],
}
LEDGER = [(HUB, "ConfigMap", NAMESPACE, name) for name in ("flower-site-site-a", "flower-site-site-b", "flower-ledger")]


def is_lost(cluster, kind, namespace, name):
    return cluster.get("v1", kind, name, namespace) is None


def lose(fed, things):
    for context, kind, namespace, name in things:
        fed.cluster(context).delete("v1", kind, name, namespace, propagation="Background")
        fed.wait("its end", functools.partial(is_lost, fed.cluster(context), kind, namespace, name), 60)


def has_proof(fed, site):
    """Whether the gateway answers through the sidecar of a pod. A container that restarts just now takes no commands."""
    try:
        return fed.probe(site)[0] == 200
    except ExecBroken:
        return False


def whole(fed):
    """Every SuperNode of the ledger is online, the gateway takes every site, and the ServerApp reaches the SuperLink."""
    keys = {site: fed.keys(site) for site in SITES}
    assert [len(found) for found in keys.values()] == [2, 1], keys
    fed.wait_online(*(node for found in keys.values() for node in found.values()), seconds=30)
    for site in SITES:
        fed.wait("its proof", lambda site=site: has_proof(fed, site), 30)
        pods = fed.pods(site)
        assert all(found["ready"] for pod in pods.values() for found in pod["status"]["containerStatuses"]), site


# Things that have nothing to do with each other are lost at once.
AT_ONCE = [
    ("internal CA", "gateway's files on sites", "publication", "shared secret of a site"),
    ("internal certificate", "client CA", "loopback certificate of a site"),
    ("certificate of the runtime door", "gateway's certificate", "ledger of a site", "client key of a site"),
    ("shared secret of the hub", "gateway's configuration", "book of the ledger", "keys of a site"),
    ("namespace of the CAs",),
]
assert {name for names in AT_ONCE for name in names} == set(LOST)


def brought_back(fed, things):
    ranges = {site: fed.pools(site) for site in SITES}
    lose(fed, things)
    fed.site()
    whole(fed)
    assert {site: fed.pools(site) for site in SITES} == ranges, "a partition moved"


@pytest.mark.parametrize("names", AT_ONCE, ids=", ".join)
def test_one_run_brings_it_back(fed, names):
    brought_back(fed, [thing for name in names for thing in LOST[name]])


@pytest.mark.soak
@pytest.mark.parametrize("things", LOST.values(), ids=LOST)
def test_one_run_brings_each_back(fed, things):
    brought_back(fed, things)


def test_a_lost_ledger_moves_no_partition(fed):
    ranges = {site: fed.pools(site) for site in SITES}
    last = max(SITES, key=lambda site: max(fed.partitions(site).values()))
    lose(fed, LEDGER)
    fed.site(None, "--limit", f"hub,{last}")  # alone, so that it would get the first numbers if it were new
    assert fed.pools(last) == ranges[last]
    fed.site()
    whole(fed)
    assert {site: fed.pools(site) for site in SITES} == ranges, "a partition moved"


def test_it_works(fed):
    """After all that an app runs, and nothing is left to do."""
    _run, finish = fed.begin(**{"num-server-rounds": 1, "min-nodes": 3})
    assert finish().rc == 0, finish().details()
    # With its CAs the gateway's was lost: sites trust the new one, then it serves, then the old one is dropped, a run for each.
    fed.site()
    fed.site()
    fed.unchanged()


def serials(fed):
    data = fed.hub.get("v1", "ConfigMap", "superlink-clients", NAMESPACE)["data"]
    return set(certificates.crl_entries(data["crl.pem"], data["ca.crt"]))


def test_denials_and_revocations_survive_the_loss_of_the_ledger(fed):
    stolen = fed.ledger().read_records()["site-b"]["client"]["serial"]
    fed.play("rotate_certs", "-e", "flower_rotate=client", "--limit", "site-b")
    fed.play("site_access", "-e", "flower_site=site-b", "-e", "flower_access=denied")
    before = serials(fed)
    lose(fed, LEDGER)
    run = fed.site()
    assert "the ledger had lost" in run.warnings() and "site-b" in run.warnings(), run.warnings()
    assert serials(fed) >= before, f"{stolen} is admitted again"
    assert fed.ledger().read_denial("site-b")["state"] == "denied" and fed.probe("site-b")[0] == 503
    fed.play("site_access", "-e", "flower_site=site-b", "-e", "flower_access=admitted")
    fed.wait("its return", lambda: fed.probe("site-b")[0] == 200, 60)


def test_a_record_that_cannot_be_read_harms_its_own_site_only(fed):
    live = fed.hub.get("v1", "ConfigMap", "flower-site-site-a", NAMESPACE)
    broken = {**json.loads(live["data"]["ledger.json"]), "keys": []}
    fed.hub.replace({**live, "data": {"ledger.json": json.dumps(broken)}})
    fed.settled = False
    fed.cluster("site-b").delete("v1", "Secret", "supernode-gpu-keys", NAMESPACE, propagation="Background")
    run = fed.play("site", rc=2)
    assert run.recap["site-a"]["failed"] == 1 and run.recap["site-b"]["failed"] == run.recap["hub"]["failed"] == 0, (
        run.details()
    )
    assert "flower-site-site-a" in run.messages("site-a", failed=True) and "delete it" in run.messages(
        "site-a", failed=True
    )
    record = fed.ledger().read_sites()[0]["site-b"]
    fed.wait_online(*(key["node_id"] for key in record["keys"].values()), seconds=30)
    lose(fed, LOST["ledger of a site"])
    fed.site()
    whole(fed)


@pytest.mark.parametrize(
    "command",
    [pytest.param(("rotate_certs", "-e", "flower_rotate=supernode_keys"), marks=pytest.mark.soak), ("site",)],
    ids=["the same again", "site"],
)
def test_killed_between_a_new_key_and_the_restart_of_its_pod(fed, command):
    """Whatever continues does not wait for nodes that cannot come."""
    before = fed.keys("site-b")
    finish = fed.start("rotate_certs", "-e", "flower_rotate=supernode_keys")
    fed.wait(
        "its new key",
        lambda: set(fed.keys("site-b")) and len(fed.ledger().read_records()["site-b"]["keys"]) == 2,
        180,
        0.1,
    )
    finish.kill()
    finish()
    fed.play(*command)
    whole(fed)
    assert not set(before.values()) & set(fed.keys("site-b").values())


def test_a_restart_that_a_run_forbade_is_made_up_for(fed):
    """What runs with the lost secret is not restarted in the middle of a run, and not forgotten."""
    before = fed.lives("site-a")
    run, finish = fed.hold(**{"num-server-rounds": 2, "min-nodes": 3})
    lose(fed, LOST["shared secret of a site"])
    refused = fed.play("site", rc=2)
    assert fed.app_runs()[run] == "running"
    assert refused.recap["site-a"]["failed"] == 1 and refused.recap["site-b"]["failed"] == 0, refused.details()
    assert fed.lives("site-a") == before
    assert finish().rc == 0
    fed.site()
    assert not set(fed.lives("site-a").values()) & set(before.values()), "pods run with the lost secret"
    whole(fed)


def test_nodes_of_a_lost_ledger_are_reported_and_can_be_unregistered(fed):
    """Nobody can tell whose they are, so they are only removed by hand, with the command that the report names.

    Later tests of this federation expect a healthy status.
    """
    known = {node for site in SITES for node in fed.keys(site).values()}
    strange = {node for node, status in fed.nodes().items() if status != "unregistered"} - known
    assert strange
    report = fed.play("status", "-e", "flower_status_format=json").report
    assert set(report["unknown_nodes"]) == strange and not report["healthy"], report
    assert all("`flwr supernode unregister`" in problem for problem in report["problems"]), report["problems"]
    assert all(answer.ok for answer in FlowerCLI(fed.hub, NAMESPACE).unregister(sorted(strange)))
    assert fed.play("status", "-e", "flower_status_format=json").report["healthy"]
