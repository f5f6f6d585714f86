# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Drills: each breaks one thing, measures the recovery and undoes it; what a drill that was killed has left is undone by the next one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

CONFIRM = ("-e", "flower_drill_confirm=scenario")
SITES = ("site-a", "site-b")


def rows(run: Any) -> dict[str, dict[str, Any]]:
    """Drill -> what was measured, as the playbook publishes it."""
    found = [one["result"]["ansible_stats"]["data"] for one in run.results if "ansible_stats" in one.get("result", {})]
    return {one["drill"]: one for one in found[-1]["flower_drill_result"]}


def denied(fed: Any) -> list[str]:
    """The sites that the gateway refuses."""
    text = fed.hub.get("v1", "ConfigMap", "superlink-clients", NAMESPACE)["data"]["denied.lst"]
    return [site for site in SITES if site in text]


def good(fed: Any, name: str, *arguments: str) -> dict[str, Any]:
    """Conduct one drill, which meets its target."""
    found = rows(fed.play("drill", "-e", f"flower_drill={name}", *CONFIRM, *arguments))[name]
    fed.settled = True  # it left nothing behind
    assert found["result"] == "met" and 0 < found["seconds"] <= found["target"], found
    assert not denied(fed)
    return found


def test_what_is_refused(fed):
    fed.settle()
    before = {site: fed.lives(site) for site in SITES}
    plan = fed.play("drill", "--check", "-e", "flower_drill=site_cut,supernode_killed", rc=0).messages("hub")
    assert "site_cut at site-a: the gateway refuses all calls of one site" in plan and "supernode_killed at site-" in plan, plan
    said = fed.play("drill", "-e", "flower_drill=site_cut", rc=2).messages("hub", failed=True)
    assert "flower_drill_confirm is not scenario" in said and "Nothing was broken" in said, said
    said = fed.play("drill", "-e", "flower_drill=disk_full", *CONFIRM, rc=2).messages("hub", failed=True)
    assert "flower_drill must name one or more of superlink_killed, supernode_killed, site_cut" in said, said
    assert {site: fed.lives(site) for site in SITES} == before and not denied(fed)
    fed.settled = True


def test_a_site_is_cut_off_during_the_run_of_the_drill(fed):
    """A run that the drill did not start refuses it. Killed during a drill, the next one undoes it."""
    fed.settle()
    run, finish = fed.begin(**{"num-server-rounds": 5, "sleep": 6})
    said = fed.play("drill", "-e", "flower_drill=site_cut", *CONFIRM, rc=2).messages("hub", failed=True)
    fed.settled = True
    assert f"run {run} is active" in said and "did not start" in said, said
    assert not finish().rc
    going = fed.start("drill", "-e", "flower_drill=site_cut flower_drill_site=site-b", *CONFIRM)
    fed.wait("the denial", lambda: "site-b" in denied(fed), 90)
    going.crash()
    assert "site-b" in denied(fed)
    again = fed.play("drill", "-e", "flower_drill=site_cut", rc=2)  # without its confirmation
    assert "site-b is admitted" in again.messages() and not denied(fed), again.messages("hub")
    fed.wait_online(*fed.keys("site-b").values())
    given = {"flower_drill_app": str(APP), "flower_drill_app_config": {"num-server-rounds": 3}}
    found = good(fed, "site_cut", "-e", json.dumps(given))
    assert found["affected"] == found["of"] == 2 and found["run"]["status"] == "finished:completed", found


@pytest.mark.soak
def test_the_superlink_is_killed(fed):
    fed.site()  # for `make soak`: a test before may have left something that is only due now, such as the end of a former CA
    found = good(fed, "superlink_killed")
    assert found["affected"] == found["of"] == 3, found


@pytest.mark.soak
def test_a_supernode_is_killed(fed):
    fed.settle()
    before = {site: fed.lives(site) for site in SITES}
    found = good(fed, "supernode_killed")
    assert found["affected"] == found["of"] == 1, found
    assert {site: fed.lives(site) for site in SITES} != before
    fed.unchanged()


@pytest.mark.soak
def test_a_site_is_cut_off_for_ten_minutes_during_a_run(fed):
    fed.settle()
    config = {"num-server-rounds": 45, "sleep": 6}
    given = {"flower_drill_app": str(APP), "flower_drill_app_config": config, "flower_drill_seconds": 600, "flower_drill_site": "site-b"}
    going = fed.start("drill", "-e", "flower_drill=site_cut", *CONFIRM, "-e", json.dumps(given))
    fed.wait("the end of the playbook", lambda: not going.running(), 2400, pause=5)
    run = going()
    found = rows(run)["site_cut"]
    assert found["seconds"] is not None and found["seconds"] <= 60, found
    assert found["affected"] == 1 and found["result"] == "met" and not denied(fed), found
    fed.settled = True
    fed.unchanged()
