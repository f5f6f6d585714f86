# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A plan is applied as it was shown and in no other way: not when it was edited, nor when the fleet or the inventory is another one."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
import yaml

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


def applied(run):
    """What the end of site.yml says of a plan."""
    return next(one["result"] for one in run.results if "planned" in one.get("result", {}))


def refused(fed, words, file, hosts, *arguments, playbook="site"):
    """A plan is refused with some words, and nothing is changed."""
    before, entries = fed.everything(), len(fed.trail())
    run = fed.play(playbook, "-e", f"flower_plan={file}", *arguments, hosts=hosts, rc=2)
    assert words in run.messages(failed=True), run.messages(failed=True)
    assert fed.everything() == before and len(fed.trail()) == entries
    assert fed.hub.get("coordination.k8s.io/v1", "Lease", "flower-lease", fed.namespace) is None, "a playbook that fails returns it"


def test_a_plan_is_applied_as_it_was_shown(fed, place):
    hosts, file, site = noted(fed, "first"), place / "plan.yml", fed.cluster("site-b")
    before = fed.everything()
    run = fed.play("plan", "-e", f"flower_plan={file}", hosts=hosts)
    text = file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600 and not fed.shown(place)
    name = f"StatefulSet {fed.namespace}/{POD}"
    assert f"#   ~ {name} (restarts 1 pod)" in text and "# site-a: nothing to do" in text and "note=first" in text.replace('"', "")
    assert fed.everything() == before
    assert [one["object"] for host in yaml.safe_load(text)["plan"]["clusters"].values() for one in host["objects"]] == [name]
    # The same plan is not written twice, and a changed one, or what is not a plan, is no plan.
    again = fed.play("plan", "-e", f"flower_plan={file}", hosts=hosts)
    assert file.read_text() == text and published(again) == published(run)
    edited = place / "edited.yml"
    edited.write_text(text.replace("first", "second"))
    refused(fed, "was edited, so it is not what was planned", edited, hosts)
    refused(fed, "hosts, by inventory and --limit: hub, site-a, site-b in the plan, site-b now", file, hosts, "--limit", "site-b")
    # Behind its back: an administrator of the site, and the inventory.
    mark = {"metadata": {"annotations": {"example.com/seen": "yes"}}}
    site.patch("apps/v1", "StatefulSet", POD, fed.namespace, mark)
    refused(fed, f"site-b: {name}: it was changed since", file, hosts)
    mark["metadata"]["annotations"]["example.com/seen"] = None
    site.patch("apps/v1", "StatefulSet", POD, fed.namespace, mark)
    refused(fed, f"site-b: {name}: the inventory wants something else now", file, noted(fed, "other"))

    trail = len(fed.trail())
    run = fed.site(hosts, "-e", f"flower_plan={file}")
    result, (entry,) = applied(run), fed.trail()[trail:]
    assert result["planned"] == result["applied"] and len(result["applied"]) == 1
    assert entry["sites"]["hub"]["words"] == [f"plan {published(again)}"]
    lines = [
        f"{host}: {one['change']} {one['object']} {one['sha256']}" for host, facts in entry["sites"].items() for one in facts.get("objects", [])
    ]
    assert lines == result["applied"], "the audit trail has something else"
    printed = [
        f"{host}: {one['change']} {one['object']} {one['sha256']}"
        for host, facts in yaml.safe_load(text)["plan"]["clusters"].items() for one in facts["objects"]
    ]  # fmt: skip
    assert printed == result["applied"], "the file has something else"
    after = fed.everything()
    assert {which for which in before if before[which] != after.get(which)} == {("site-b", f"{POD}-{min(fed.partitions('site-b').values())}")}
    assert len(after) == len(before) and fed.node_config("site-b", min(fed.pods("site-b")))["note"] == "first"

    run = fed.site(hosts, "-e", f"flower_plan={file}")
    assert "nothing is left to do: it was applied before" in run.messages() and set(run.changed.values()) == {0}
    assert fed.everything() == after


def test_a_plan_is_applied_by_its_hash(fed):
    """As in a workflow of AWX, whose jobs share no files. It leaves the base inventory."""
    fed.site(noted(fed, "hash"))
    run = fed.play("plan")
    wanted = published(run)
    assert wanted in run.messages()
    wrong = fed.play("site", "-e", f"flower_plan_hash={wanted[::-1]}", rc=2).messages(failed=True)
    assert f"the plan {wanted[::-1]} is not what would be done now, which has the SHA-256 {wanted}" in wrong, wrong
    run = fed.play("site", "-e", f"flower_plan_hash={wanted}")
    assert applied(run)["planned"] == applied(run)["applied"] != []
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
    file = place / "plan.yml"
    one = fed.play("plan", "-e", f"flower_plan={file}", hosts=fed.base(), **own)
    other = fed.play("plan", hosts=fed.base(), **own)
    assert published(one) == published(other), (one.log, other.log)
    assert "(in part made when the plan is applied)" in file.read_text() and not fed.shown(place)
    try:
        run = fed.play("site", "-e", f"flower_plan={file}", hosts=fed.base(), **own)
        assert applied(run)["planned"] == applied(run)["applied"] and len(applied(run)["applied"]) > 30
        fed.unchanged(fed.base(), **own)
    finally:
        fed.play("teardown", "-e", "flower_teardown=true", "-e", "flower_delete_volumes=true", hosts=fed.base(), **own)


@pytest.mark.soak
def test_a_plan_that_was_interrupted_is_finished(fed, place):
    hosts, file = noted(fed, "interrupted"), place / "plan.yml"
    (pool,) = hosts["site-a"]["supernode_pools"]
    pool["node_config"]["note"] = "interrupted"
    fed.play("plan", "-e", f"flower_plan={file}", hosts=hosts)
    planned = [one["object"] for host in yaml.safe_load(file.read_text())["plan"]["clusters"].values() for one in host["objects"]]
    assert len(planned) == 2

    def done():
        live = fed.cluster("site-a").get("apps/v1", "StatefulSet", "supernode-cpu", fed.namespace)
        return "interrupted" in str(live["spec"]["template"])

    finish = fed.start("site", "-e", f"flower_plan={file}", "-e", "flower_serial=1", hosts=hosts)
    fed.wait("the first site's object", done, 180, pause=0.2)
    finish.kill()
    fed.settled = False
    run = fed.site(hosts, "-e", f"flower_plan={file}")
    assert "the rest of it, 1 objects, is applied: an earlier run did not finish it" in run.messages(), run.messages()
    assert [line.split()[3] for line in applied(run)["applied"]] == [f"{fed.namespace}/{POD}"]
    assert "site-b: nothing to do" in fed.play("plan", hosts=hosts).messages()
    assert {context: fed.node_config(context, min(fed.pods(context)))["note"] for context in ("site-a", "site-b")} == {
        "site-a": "interrupted",
        "site-b": "interrupted",
    }


@pytest.mark.soak
def test_sites_of_other_regions_are_denied_for_the_time_of_a_run(fed):
    run = fed.play("run", *IN_EU)
    assert "(2 nodes, 1200 examples; site-a 2)" in run.messages(), run.messages()
    assert "site-b is denied since" in run.output and "msg: site-b is admitted" in run.output
    fed.wait_online(*fed.keys("site-b").values(), seconds=180)


@pytest.mark.soak
def test_a_site_that_someone_denies_during_such_a_run_stays_denied(fed):
    """And another such run is refused, because the end of one would admit the sites of the other."""
    going = fed.start("run", *IN_EU)
    fed.wait("the denial for the run", lambda: fed.ledger().read_denial("site-b"), 60)
    refused = fed.play("run", *IN_EU, rc=2).messages("hub", failed=True)
    assert "deny sites for a time: site-b (a run in eu only)" in refused, refused
    assert fed.ledger().read_denial("site-b")["holder"].startswith("run ")
    fed.play("site_access", "-e", "flower_site=site-b flower_access=denied flower_reason=audit")
    run = going()
    assert run.rc == 0 and "(2 nodes, 1200 examples; site-a 2)" in run.messages(), run.messages()
    denial = fed.ledger().read_denial("site-b")
    assert denial["reason"] == "audit" and "holder" not in denial, denial
    fed.play("site_access", "-e", "flower_site=site-b flower_access=admitted")
    fed.wait_online(*fed.keys("site-b").values(), seconds=60)
