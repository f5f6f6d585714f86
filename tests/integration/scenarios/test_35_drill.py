# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""Drills: each breaks one thing, measures the recovery and undoes it; what a drill that was killed has left is undone by the next run."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pyrage
import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.names import DRILL as MARK
from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP
from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

CONFIRM = ("-e", "flower_drill_confirm=scenario")
SITES = ("site-a", "site-b")


def rows(run: Any) -> dict[str, dict[str, Any]]:
    """Drill -> what was measured, as the playbook publishes it."""
    found = [one["result"]["ansible_stats"]["data"] for one in run.results if "ansible_stats" in one.get("result", {})]
    print("\n".join(line for one in run.results for line in one["result"].get("lines") or []))
    return {one["drill"]: one for one in found[-1]["flower_drill_result"]}


def marked(fed: Any) -> bool:
    """Whether there is a mark of a drill on the hub."""
    return fed.hub.get("v1", "ConfigMap", MARK, NAMESPACE) is not None


def good(fed: Any, name: str, *arguments: str) -> dict[str, Any]:
    """Conduct one drill, which meets its target."""
    found = rows(fed.play("drill", "-e", f"flower_drill={name}", *CONFIRM, *arguments))[name]
    fed.settled = True  # it left nothing behind
    assert found["result"] == "met" and 0 < found["seconds"] <= found["target"], found
    assert not marked(fed)
    return found


def backup(folder: Path) -> tuple[str, ...]:
    """Arguments that say where backups go, and who opens them."""
    made = pyrage.x25519.Identity.generate()
    path = folder / "backup.json"
    given = {"flower_backup_directory": str(folder), "flower_backup_recipients": [str(made.to_public())], "flower_backup_identity": str(made)}
    path.write_text(json.dumps(given))
    return ("-e", f"@{path}")


def test_what_is_refused(fed):
    fed.settle()
    before = {site: fed.lives(site) for site in SITES}
    plan = fed.play("drill", "--check", "-e", "flower_drill=site_cut,database_lost", rc=0).messages("hub")
    assert "site_cut at site-a: the gateway refuses all calls of one site" in plan, plan
    assert "refused now: hub: database_lost makes a backup and opens it" in plan, plan
    said = fed.play("drill", "-e", "flower_drill=site_cut", rc=2).messages("hub", failed=True)
    assert "flower_drill_confirm is not set" in said and "Nothing was changed" in said, said
    assert {site: fed.lives(site) for site in SITES} == before and not marked(fed)
    fed.settled = True


def test_a_site_is_cut_off_during_the_run_of_the_drill(fed):
    """A run that the drill did not start refuses it. Killed during a drill, the next run of site.yml undoes it."""
    fed.settle()
    run, finish = fed.begin(**{"num-server-rounds": 3, "sleep": 6})
    said = fed.play("drill", "-e", "flower_drill=site_cut", *CONFIRM, rc=2).messages("hub", failed=True)
    fed.settled = True
    assert f"run {run} of federated-flower/quickstart" in said and "did not start" in said, said
    assert not finish().rc
    going = fed.start("drill", "-e", "flower_drill=site_cut flower_drill_site=site-b", *CONFIRM)
    fed.wait("the denial", lambda: "site-b" in fed.hub.get("v1", "ConfigMap", "superlink-clients", NAMESPACE)["data"]["denied.lst"], 60)
    going.crash()
    assert marked(fed)
    again = fed.play("site")
    assert "the drill site_cut of" in again.messages() and "site-b was admitted again" in again.messages(), again.messages("hub")
    assert not marked(fed)
    fed.wait_online(*fed.keys("site-b").values())
    given = {"flower_drill_app": str(APP), "flower_drill_app_config": {"num-server-rounds": 3}, "flower_drill_seconds": 36}
    found = good(fed, "site_cut", "-e", json.dumps(given))
    assert found["affected"] == found["of"] == 2 and found["run"]["status"] == "finished:completed", found
    assert any("drill site_cut at site-a: met" in str(entry) for entry in fed.trail()[-3:])


@pytest.mark.soak
def test_the_superlink_is_killed(fed):
    fed.site()  # for `make soak`: a test before may have left something that is only due now, such as the end of a former CA
    found = good(fed, "superlink_killed")
    assert found["affected"] == found["of"] == 3, found


@pytest.mark.soak
@pytest.mark.parametrize("name", ["supernode_killed", "disk_full", "certificate_ended", "clock_wrong"])
def test_others(fed, name):
    fed.settle()
    good(fed, name)
    fed.unchanged()


@pytest.mark.soak
def test_the_database_is_lost(fed, tmp_path):
    fed.settle()
    known, before = set(fed.nodes()), set(fed.app_runs())
    found = good(fed, "database_lost", *backup(tmp_path))
    assert set(fed.nodes()) == known and set(fed.app_runs()) == before, found
    assert fed.python("hub", "superlink-0", "superlink", "import os; print(sorted(os.listdir('/data')))").count("drill") == 0
    fed.unchanged()


@pytest.mark.soak
def test_the_database_is_back_after_a_crash(fed, tmp_path):
    """Killed when the database was set aside: the next run of the playbook puts it back. Nothing is lost."""
    fed.settle()
    known, before = set(fed.nodes()), set(fed.app_runs())
    going = fed.start("drill", "-e", "flower_drill=database_lost", *CONFIRM, *backup(tmp_path))
    fed.wait("the stop of the SuperLink", lambda: not fed.pods("hub", name="superlink"), 120)
    time.sleep(3)
    going.crash()
    assert marked(fed)
    run = fed.play("site")
    assert "the SuperLink has its own database again" in run.messages(), run.messages("hub")
    assert not marked(fed)
    assert set(fed.nodes()) == known and set(fed.app_runs()) == before
    fed.wait_online(*(node for site in SITES for node in fed.keys(site).values()))
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
    assert found["affected"] == 1 and found["result"] == "met" and not marked(fed), found
    fed.settled = True
    fed.unchanged()
