# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""From empty clusters to a federation, and runs that change nothing or only what was asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import CA_NAMESPACE, NAMESPACE

CHECK = "--check"
INVENTORIES = Path(__file__).parents[3] / "inventories"
LINES = f"{NAMESPACE}-lines"


def test_check_mode_on_empty_clusters(federation):
    run = federation.play("site", CHECK)
    assert all(numbers["failed"] == 0 and numbers["changed"] > 0 for numbers in run.recap.values()), run.recap
    assert set(run.recap) == {"hub", "site-a", "site-b"}
    would = [one["change"] for result in run.results for one in result["result"].get("objects") or []]
    assert would and set(would) == {"created"}, would
    assert "+kind: StatefulSet" in run.output and "name: supernode-cpu" in run.output
    for context in federation.contexts:
        assert federation.gone(context, NAMESPACE, CA_NAMESPACE), f"check mode made a namespace on {context}"


def test_deploy(federation):
    run = federation.site()
    assert "3 SuperNodes of 2 sites are online" in run.messages()
    # Its namespace was missing, so the lease was taken once it was there, and it is returned.
    assert "the lease is returned" in run.messages("hub")
    assert federation.hub.get("coordination.k8s.io/v1", "Lease", "flower-lease", federation.namespace) is None
    seen = {**federation.partitions("site-a"), **federation.partitions("site-b")}
    assert seen == {"supernode-cpu-0": 0, "supernode-cpu-1": 1, "supernode-gpu-2": 2}
    config = federation.node_config("site-a", "supernode-cpu-1")
    assert config == {"partition-id": "1", "num-partitions": "3", "site": "site-a"}
    assert sorted(federation.nodes().values()) == ["online"] * 3
    # Keys are registered before their SuperNodes start, so none was refused and ended; what a kubelet ends on a machine
    # that is too busy (128 and more, or 0) is no matter here.
    for context in ("site-a", "site-b"):
        for pod, found in federation.pods(context).items():
            for container in found["status"]["containerStatuses"]:
                code = container["lastState"].get("terminated", {}).get("exitCode", 0)
                assert code == 0 or code >= 128, f"{container['name']} of {pod} ended with {code}"


def test_second_run_changes_nothing(fed):
    lives = {context: fed.lives(context) for context in ("site-a", "site-b")}
    fed.unchanged()
    assert {context: fed.lives(context) for context in lives} == lives


def test_check_mode_on_the_federation(fed):
    run = fed.play("site", CHECK)
    assert run.changed == {"hub": 0, "site-a": 0, "site-b": 0}


def test_status(fed):
    table = fed.play("status").table
    report = fed.play("status", "-e", "flower_status_format=json").report
    assert report["healthy"], report["problems"]
    assert [site["cluster"] for site in report["sites"]] == ["site-a", "site-b"]
    assert [pool["online"] for site in report["sites"] for pool in site["pools"]] == [2, 1]
    rows = {line.split()[0]: line for line in table}
    assert "2/2" in rows["site-a"] and "1/1" in rows["site-b"] and "!" not in rows, table


def marked(fed, mark: str) -> set[str]:
    """Contexts with a ConfigMap that carries an annotation."""
    found = set()
    for context in fed.contexts:
        name = "superlink-gateway" if context == "hub" else "supernode-trust"
        there = fed.cluster(context).get("v1", "ConfigMap", name, fed.namespace)
        if there and mark in there["metadata"].get("annotations", {}):
            found.add(context)
    return found


def test_limit_touches_one_site(fed):
    run = fed.play("site", "--limit", "site-b", flower_annotations={"scenario/limit": "yes"})
    assert set(run.recap) == {"site-b"} and run.recap["site-b"]["failed"] == 0
    assert marked(fed, "scenario/limit") == {"site-b"}


def test_tags_touch_the_hub_alone(federation):
    lives = federation.lives("hub", name="superlink")
    run = federation.play("site", "--tags", "superlink", flower_annotations={"scenario/tags": "yes"})
    assert run.changed == {"hub": run.changed["hub"] or 1}, "a site was worked on"
    assert marked(federation, "scenario/tags") == {"hub"}
    assert federation.lives("hub", name="superlink") == lives


def test_serial_goes_site_by_site(federation):
    # Takes the annotations of the tests before off again.
    run = federation.site(None, "-e", "flower_serial=1")
    applied = run.output.count("TASK [federated.flower.supernode : Deploy the SuperNodes]")
    assert applied == 2, f"the sites were not taken one by one: {applied} batches"
    assert marked(federation, "scenario/tags") == marked(federation, "scenario/limit") == set()
    assert federation.play("site", CHECK, "-e", "flower_serial=1").changed == {"hub": 0, "site-a": 0, "site-b": 0}


@pytest.mark.parametrize(
    ("name", "more", "online"),
    [
        # The clusters have no load balancer.
        ("minimal", {"superlink_exposure": "node_port"}, "2 SuperNodes of 2 sites are online"),
        ("one-cluster", {"flower_context": "hub"}, "2 SuperNodes of 1 site are online"),
        ("one-host", {"flower_context": "hub", "supernode_replicas": 2}, "2 SuperNodes of 1 site are online"),
    ],
)
def test_an_inventory_of_two_lines_leads_to_a_trained_model(federation, tmp_path, name, more, online):
    """The example as it is; the command line says where it may be on this fleet. One host may also be in both groups."""
    settled, hosts = federation.settled, INVENTORIES / f"{name}.yml"
    if name == "one-host":
        hosts = tmp_path / "one-host.yml"
        hosts.write_text("flower_hub: {hosts: {one: {superlink_exposure: cluster_ip}}}\nflower_sites: {hosts: {one: }}\n")
    given = {"flower_kubeconfig": str(federation.kubeconfig), "flower_namespace": LINES, "flower_ca_namespace": f"{LINES}-ca", **more}
    try:
        run = federation.play("site", "-e", json.dumps(given), hosts=hosts)
        assert online in run.messages(), run.messages("hub")
        assert set(federation.play("site", CHECK, "-e", json.dumps(given), hosts=hosts).changed.values()) == {0}
        app = {"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}, "flower_outputs_directory": str(tmp_path / "outputs")}
        run = federation.play("run", "-e", json.dumps({**given, **app}), hosts=hosts)
        assert "round 1: accuracy 0." in run.messages() and "completed in" in run.messages(), run.messages()
        (folder,) = (tmp_path / "outputs").iterdir()
        assert (folder / "model.json").stat().st_size
    finally:
        removed = {**given, "flower_teardown": True, "flower_delete_volumes": True}
        federation.play("teardown", "-e", json.dumps(removed), hosts=hosts, rc=None)
    assert all(federation.gone(context, LINES, f"{LINES}-ca") for context in federation.contexts)
    federation.settled = settled
