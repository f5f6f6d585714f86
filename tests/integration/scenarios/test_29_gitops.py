# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What render.yml writes is applied by another field manager, as Argo CD and Flux do it, beside site.yml."""

from __future__ import annotations

import pytest
import yaml

from ansible_collections.federated.flower.tests.integration.scenarios.flux import FLUX, bare, prune, reconcile

STAYS = {"Secret", "ConfigMap", "Namespace", "PersistentVolumeClaim"}


@pytest.fixture
def render(fed, tmp_path):
    """A function that renders into a folder: the run, and host -> objects. What was applied from there is released at the end."""
    applied = {}

    def run(hosts=None, *arguments, **common):
        words = ("--check", "-e", f"flower_render_directory={tmp_path / 'deploy'}", *arguments)
        done = fed.play("render", *words, hosts=hosts, **common)
        files = {path.parent.name: path for path in (tmp_path / "deploy").glob("*/*")}
        found = {host: list(yaml.safe_load_all(path.read_text())) for host, path in files.items()}
        for host, objects in found.items():
            applied.setdefault(host, {}).update({(item["kind"], item["metadata"]["name"]): item for item in objects})
        return done, found

    yield run
    for host, objects in applied.items():
        cluster = fed.cluster(host)
        there = [item for item in objects.values() if cluster.get(item["apiVersion"], item["kind"], item["metadata"]["name"], fed.namespace)]
        reconcile(cluster, map(bare, there))


def test_files_are_for_a_deployed_federation_and_change_nothing(fed, tmp_path):
    folder = tmp_path / "deploy"
    run = fed.play("render", "-e", f"flower_render_directory={folder}", rc=2)
    assert "Run it with --check" in run.messages(failed=True)
    fed.settled = True  # it ended before anything was looked at
    run = fed.play("render", "--check", rc=2)
    assert "Set flower_render_directory" in run.messages(failed=True)
    assert not folder.exists()


def test_a_gitops_controller_and_site_get_along(fed, render, tmp_path):
    lives = fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="superlink")
    _run, found = render()
    assert set(found) == {"hub", "site-a", "site-b"}
    kinds = {host: {item["kind"] for item in objects} for host, objects in found.items()}
    assert not STAYS & set().union(*kinds.values())
    assert {"StatefulSet", "Service", "NetworkPolicy", "ServiceAccount"} <= kinds["hub"] and "StatefulSet" in kinds["site-b"]
    fed._collect()
    assert not fed.shown(tmp_path / "deploy"), "a secret was rendered"

    # What it writes is what is there: the controller takes nothing from anyone, no pod restarts, and both have it then.
    for host, objects in found.items():
        reconcile(fed.cluster(host), objects, force=False)
    fed.unchanged()
    assert (fed.lives("site-a"), fed.lives("site-b"), fed.lives("hub", name="superlink")) == lives

    # Another wish in the inventory alone is refused for this site, and by name; rendered and reconciled, it is there.
    hosts = fed.base()
    hosts["site-a"]["supernode_annotations"] = {"scenario/gitops": "yes"}
    before = {path: path.read_bytes() for path in (tmp_path / "deploy").glob("*/*")}
    hosts["site-a"]["supernode_pools"][0]["replicas"] = 1
    for flags in ((), ("--check",)):  # the folder in the inventory makes no difference to site.yml
        run = fed.play("site", *flags, hosts=hosts, rc=2, flower_render_directory=str(tmp_path / "deploy"))
        words = run.messages("site-a", failed=True)
        assert f"StatefulSet {fed.namespace}/supernode-cpu: {FLUX} sets .spec.replicas to another value" in words, words
    assert {host: numbers["failed"] for host, numbers in run.recap.items()} == {"hub": 0, "site-a": 1, "site-b": 0}
    old = found["site-a"]
    run, found = render(hosts)
    changed = {path.parent.name for path, text in before.items() if path.read_bytes() != text}
    assert changed == {"site-a"} and run.changed["hub"] == 1, changed
    reconcile(fed.cluster("site-a"), found["site-a"])
    prune(fed.cluster("site-a"), old, found["site-a"])
    fed.site(hosts)
    fed.unchanged(hosts)
    assert fed.play("status", "-e", "flower_status_format=json", hosts=hosts).report["healthy"]

    # A pool that leaves the inventory is not deleted while the controller would bring it back.
    hosts["site-a"]["supernode_pools"] = [{**hosts["site-a"]["supernode_pools"][0], "name": "other", "replicas": 0}]
    run = fed.play("site", hosts=hosts, rc=2)
    assert f"supernode-cpu: {FLUX} would create it again" in run.messages("site-a", failed=True)
    assert set(fed.pods("site-a")) == {"supernode-cpu-0"}


def test_files_of_others_stay(fed, tmp_path):
    path = tmp_path / "site-a" / "flower.yaml"
    path.parent.mkdir()
    path.write_text("mine: true\n")
    run = fed.play("render", "--check", "-e", f"flower_render_directory={tmp_path}", rc=2)
    assert "was not written by federated.flower.render" in run.messages(failed=True)
    assert path.read_text() == "mine: true\n"
    path.write_text("# Written by federated.flower.render for site-a of the federation other, namespace other.\n")
    run = fed.play("render", "--check", "-e", f"flower_render_directory={tmp_path}", rc=2)
    assert "has the objects of the federation other in namespace other" in run.messages(failed=True)
    assert not (tmp_path / "hub").exists()
