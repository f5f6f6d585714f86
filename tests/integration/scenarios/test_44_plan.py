# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan is applied as it was shown: what the fleet or the inventory would change otherwise is refused."""

from __future__ import annotations

import hashlib
import stat
from pathlib import Path

import pytest

POD = "supernode-gpu"
IN_EU = (
    "-e", f"flower_app={Path(__file__).parents[3] / 'examples' / 'quickstart'}",
    "-e", '{"flower_run_regions": ["eu"], "flower_run_regions_only": true, "flower_run_config": {"min-nodes": 2}}',
)  # fmt: skip


@pytest.fixture
def place(federation, request) -> Path:
    """A folder for plans."""
    folder = federation.folder / request.node.name
    folder.mkdir()
    return folder


def noted(fed, value):
    """The base inventory with another value in the node config of site-b's only pool."""
    hosts = fed.base()
    (pool,) = hosts["site-b"]["supernode_pools"]
    pool["node_config"]["note"] = value
    return hosts


def published(run):
    """The hash that a workflow of AWX hands on."""
    return next(one["result"]["ansible_stats"]["data"]["flower_plan_hash"] for one in run.results if "ansible_stats" in one.get("result", {}))


def changes(text):
    """The first line of each change of a plan."""
    return [part.splitlines()[0] for part in text.split("\n\n")[1:]]


def refused(fed, words, file, hosts, *arguments, playbook="site"):
    """A plan is refused with some words, and nothing is changed."""
    before, entries = fed.everything(), len(fed.trail())
    run = fed.play(playbook, "-e", f"flower_plan={file}", *arguments, hosts=hosts, rc=2)
    assert words in run.messages(failed=True), run.messages(failed=True)
    assert fed.everything() == before and len(fed.trail()) == entries
    assert fed.hub.get("coordination.k8s.io/v1", "Lease", "flower-lease", fed.namespace) is None, "a playbook that fails returns it"


def test_a_plan_is_applied_as_it_was_shown(fed, place):
    hosts, file, site = noted(fed, "first"), place / "plan.txt", fed.cluster("site-b")
    before = fed.everything()
    run = fed.play("plan", "-e", f"flower_plan={file}", hosts=hosts)
    text = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and not fed.shown(place)
    name = f"StatefulSet {fed.namespace}/{POD}"
    assert changes(text) == [f"site-b: changed {name}"] and "note=first" in text.replace('"', "")
    assert published(run) == hashlib.sha256(file.read_bytes()).hexdigest()
    assert fed.everything() == before
    # The same plan is not written twice, and a changed one has not what would be changed.
    again = fed.play("plan", "-e", f"flower_plan={file}", hosts=hosts)
    assert file.read_text() == text and published(again) == published(run)
    edited = place / "edited.txt"
    edited.write_text(text.replace("first", "second"))
    refused(fed, f"site-b: changed {name} in another way", edited, hosts)
    refused(fed, "is not the plan of flower_plan_hash", edited, hosts, "-e", f"flower_plan_hash={published(run)}")
    # Behind its back: an administrator of the site, and the inventory.
    label = "app.kubernetes.io/version"
    version = site.get("apps/v1", "StatefulSet", POD, fed.namespace)["metadata"]["labels"][label]
    site.patch("apps/v1", "StatefulSet", POD, fed.namespace, {"metadata": {"labels": {label: "0"}}})
    refused(fed, f"site-b: changed {name} in another way", file, hosts)
    site.patch("apps/v1", "StatefulSet", POD, fed.namespace, {"metadata": {"labels": {label: version}}})
    refused(fed, f"site-b: changed {name} in another way", file, noted(fed, "other"))

    trail = len(fed.trail())
    fed.site(hosts, "-e", f"flower_plan={file}")
    entry = fed.recorded(trail)
    assert entry["sites"]["hub"]["words"] == [f"plan {published(again)}"]
    assert [one["object"] for one in entry["sites"]["site-b"]["objects"]] == [name], "the audit trail has something else"
    after = fed.everything()
    assert {which for which in before if before[which] != after.get(which)} == {("site-b", f"{POD}-{min(fed.partitions('site-b').values())}")}
    assert len(after) == len(before) and fed.node_config("site-b", min(fed.pods("site-b")))["note"] == "first"

    run = fed.site(hosts, "-e", f"flower_plan={file}")
    assert "no changes are left to apply" in run.messages() and set(run.changed.values()) == {0}
    assert fed.everything() == after


def test_a_plan_is_applied_by_its_hash(fed):
    """As in a workflow of AWX, whose jobs share no files. It leaves the base inventory."""
    fed.site(noted(fed, "hash"))
    run = fed.play("plan")
    wanted = published(run)
    assert wanted in run.messages()
    wrong = fed.play("site", "-e", f"flower_plan_hash={wanted[::-1]}", rc=2).messages(failed=True)
    assert f"the plan {wanted[::-1]} does not match the changes that are due now, whose plan has the SHA-256 {wanted}" in wrong, wrong
    run = fed.play("site", "-e", f"flower_plan_hash={wanted}")
    assert f"plan {wanted}: 1 changes are due, all of them planned" in run.messages(), run.messages()
    assert "note" not in fed.node_config("site-b", min(fed.pods("site-b")))


def test_a_run_keeps_to_its_regions(fed):
    app = ("-e", f"flower_app={Path(__file__).parents[3] / 'examples' / 'quickstart'}")
    runs = fed.app_runs()
    told = fed.play("run", *app, "-e", '{"flower_run_regions": ["eu"]}', rc=2).messages(failed=True)
    assert "1 SuperNode of site-b (region us)" in told and "nothing was submitted" in told, told
    told = fed.play("run", *app, "-e", '{"flower_run_regions": ["mars"]}', rc=2).messages(failed=True)
    assert "no site is in the region mars (flower_run_regions). Regions: eu, us" in told, told
    assert fed.app_runs() == runs


@pytest.mark.soak
def test_a_plan_of_an_empty_fleet(fed, place):
    """Keys, certificates and the address are not known yet; the same plan comes out twice, and is applied."""
    own = {"flower_namespace": f"{fed.namespace}-d", "flower_ca_namespace": f"{fed.namespace}-c"}
    file = place / "plan.txt"
    one = fed.play("plan", "-e", f"flower_plan={file}", hosts=fed.base(), **own)
    other = fed.play("plan", hosts=fed.base(), **own)
    assert published(one) == published(other), (one.log, other.log)
    assert "(made when the plan is applied)" in file.read_text() and not fed.shown(place)
    try:
        run = fed.play("site", "-e", f"flower_plan={file}", hosts=fed.base(), **own)
        assert f"plan {published(one)}: {len(changes(file.read_text()))} changes are applied" in run.messages() and len(changes(file.read_text())) > 30
        fed.unchanged(fed.base(), **own)
    finally:
        fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true", hosts=fed.base(), **own)


@pytest.mark.soak
def test_a_plan_that_was_interrupted_is_finished(fed, place):
    hosts, file = noted(fed, "interrupted"), place / "plan.txt"
    (pool,) = hosts["site-a"]["supernode_pools"]
    pool["node_config"]["note"] = "interrupted"
    fed.play("plan", "-e", f"flower_plan={file}", hosts=hosts)
    assert len(changes(file.read_text())) == 2

    def done():
        live = fed.cluster("site-a").get("apps/v1", "StatefulSet", "supernode-cpu", fed.namespace)
        return "interrupted" in str(live["spec"]["template"])

    finish = fed.start("site", "-e", f"flower_plan={file}", "-e", "flower_serial=1", hosts=hosts)
    fed.wait("the first site's object", done, 180, pause=0.2)
    finish.kill()
    fed.settled = False
    run = fed.site(hosts, "-e", f"flower_plan={file}")
    assert "1 changes are due, all of them planned" in run.messages(), run.messages()
    assert "nothing to do" in fed.play("plan", hosts=hosts).messages()
    assert {context: fed.node_config(context, min(fed.pods(context)))["note"] for context in ("site-a", "site-b")} == {
        "site-a": "interrupted",
        "site-b": "interrupted",
    }


@pytest.mark.soak
def test_sites_of_other_regions_are_denied_for_the_time_of_a_run(fed):
    run = fed.play("run", *IN_EU)
    assert "(2 nodes, 1200 examples; site-a 2)" in run.messages(), run.messages()
    assert "site-b has been denied since" in run.output and "msg: site-b is admitted" in run.output
    fed.wait_online(*fed.keys("site-b").values(), seconds=180)


@pytest.mark.soak
def test_a_site_that_someone_denies_during_such_a_run_stays_denied(fed):
    """And another such run is refused, because the end of one would admit the sites of the other."""
    going = fed.start("run", *IN_EU)
    fed.wait("the denial for the run", lambda: fed.ledger().read_denial("site-b"), 60)
    refused = fed.play("run", *IN_EU, rc=2).messages("hub", failed=True)
    assert "deny sites temporarily: site-b (a run in eu only)" in refused, refused
    assert fed.ledger().read_denial("site-b")["holder"].startswith("run ")
    fed.play("site_access", "-e", "flower_site=site-b flower_access=denied flower_reason=audit")
    run = going()
    assert run.rc == 0 and "(2 nodes, 1200 examples; site-a 2)" in run.messages(), run.messages()
    denial = fed.ledger().read_denial("site-b")
    assert denial["reason"] == "audit" and "holder" not in denial, denial
    fed.play("site_access", "-e", "flower_site=site-b flower_access=admitted")
    fed.wait_online(*fed.keys("site-b").values(), seconds=60)
