# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""The SuperNodes of each site measure the way to the hub; what is wrong there is named."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE


def kept(fed: Any) -> dict[str, Any]:
    """Site -> its last result, as the hub has it."""
    item = fed.hub.get("v1", "ConfigMap", "flower-acceptance", NAMESPACE)
    return json.loads(item["data"]["ledger.json"])["sites"] if item else {}


def verdicts(found: dict[str, Any]) -> dict[tuple[str, str], str]:
    """(Pool, check) -> verdict."""
    return {(one["pool"], one["name"]): one["verdict"] for one in found["checks"]}


def test_a_good_site_and_one_whose_gpu_is_only_advertised(fed):
    fed.settle()
    lives = {site: fed.lives(site) for site in ("site-a", "site-b")}
    before = kept(fed).get("site-a")
    fed.play("verify", "--check", "--limit", "site-a")
    assert kept(fed).get("site-a") == before, "check mode keeps nothing"
    run = fed.play("verify", rc=2)
    good, gpu = (run.measured[site] for site in ("site-a", "site-b"))
    for site, found in (("site-a", good), ("site-b", gpu)):
        assert kept(fed)[site] == {name: found[name] for name in ("at", "score", "accepted", "reasons")}
    assert good["accepted"] and good["score"] == 100, good
    assert verdicts(good) == dict.fromkeys(
        [("", "SuperNodes"), *(("cpu", name) for name in ("name", "port", "certificate", "clock", "round trip", "upload"))], "good"
    )
    assert verdicts(gpu).pop(("gpu", "GPU")) == "bad" and not gpu["accepted"]
    assert "Not accepted: site-b" in run.output and "has no device of a GPU" in run.output
    assert {site: fed.lives(site) for site in lives} == lives
    given = {"flower_app": "", "flower_verify_app": str(APP), "flower_run_config": {"num-server-rounds": 1}}
    run = fed.play("verify", "--limit", "site-a", "-e", json.dumps(given), rc=2)
    assert "Add it: --limit site-a,hub. Nothing was measured" in run.messages(failed=True)
    run = fed.play("verify", "--limit", "site-a,hub", "-e", json.dumps(given))
    assert "completed" in run.messages("hub"), run.messages("hub")


@pytest.mark.soak
def test_a_site_that_does_not_pass_does_not_join(fed):
    """The one whose GPU is only advertised; the one that passed is not measured again."""
    fed.settle()
    if "site-a" not in kept(fed):  # for `make soak`, which has none of the tests before
        fed.play("verify", "--limit", "site-a")
    before = kept(fed)["site-a"]["at"]
    run = fed.play("site", "-e", "flower_join_verify=true flower_join_deny=true flower_verify_idle=1", rc=2)
    told = run.messages("site-b", failed=True)
    assert "has not passed its acceptance, and is denied access: gpu: GPU: " in told and "flower_access=admitted" in told, told
    assert run.recap["site-a"]["failed"] == 0 and kept(fed)["site-a"]["at"] == before
    assert verdicts(run.measured["site-b"])[("gpu", "idle")] == "good"
    assert fed.ledger().read_denial("site-b")["reason"] == "it has not passed its acceptance"
    assert any("it has not passed its acceptance" in str(entry) for entry in fed.trail())
    run = fed.play("site", "-e", "flower_join_verify=true flower_join_deny=true")
    assert set(run.changed.values()) == {0}, "a site that is denied already is left alone"
    fed.play("site_access", "-e", "flower_site=site-b flower_access=admitted")


def test_what_is_wrong_is_named(fed):
    """A round trip and an upload below the limits, a dataset that is empty, a site without pods, one that is down."""
    fed.settle()
    hosts = fed.base()
    fed.cluster("site-a").create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nothing", "namespace": NAMESPACE}})
    hosts["site-a"]["supernode_datasets"] = [{"name": "none", "config_map": "nothing"}]
    fed.site(hosts)
    fed.cluster("site-b").patch("apps/v1", "StatefulSet", "supernode-gpu", NAMESPACE, {"spec": {"replicas": 0}})
    fed.wait("the end of the pod", lambda: not fed.pods("site-b"))
    run = fed.play("verify", "-e", "flower_verify_round_trip=0.001 flower_verify_upload=1000000", rc=2, hosts=hosts)
    good, gone = (run.measured[site] for site in ("site-a", "site-b"))
    found = verdicts(good)
    assert found[("cpu", "round trip")] == "weak" and found[("cpu", "upload")] == "weak", good
    assert found[("cpu", "dataset none")] == "weak" and good["accepted"], good
    assert verdicts(gone)[("gpu", "pod")] == "bad", gone
    fed.cluster("site-a").delete("v1", "ConfigMap", "nothing", NAMESPACE)
    hosts["site-b"]["flower_kubeconfig"] = str(fed.folder / "nothing")
    run = fed.play("verify", "-e", "flower_verify_fail=false", "--limit", "site-b", hosts=hosts)
    assert not kept(fed)["site-b"]["accepted"] and "nothing" in run.messages("site-b"), run.messages("site-b")
