# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook schedule, and maintenance windows in playbooks: what is refused before anything is changed."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest
import yaml
from ansible.parsing.dataloader import DataLoader
from ansible.template import Templar

from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written
from ansible_collections.federated.flower.tests.unit.read import ROOT
from ansible_collections.federated.flower.tests.unit.test_collection import trusted

APP = f"flower_app={ROOT / 'examples' / 'quickstart'}"
ALL = {"status": {"resourceRules": [{"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]}]}}
NONE = {"status": {"resourceRules": [], "allowed": False}}


def fleet_at(folder: Path, address: str, **site: Any) -> Path:
    hub = {"flower_auth": {"host": address, "api_key": "s3cr3t"}, "flower_platform": "kubernetes"}
    return written(folder, inventory(hub, {"site-a": site}))


@pytest.mark.playbook
def test_bad_variables_are_refused_before_anything_is_changed(tmp_path: Path) -> None:
    with api_server({"/selfsubjectrulesreviews": NONE, "/selfsubjectaccessreviews": NONE}) as (address, seen):
        fleet = fleet_at(tmp_path, address)
        for given, fault in (
            ("flower_schedule_state=gone", "hub: flower_schedule_state: gone is neither present nor absent"),
            (f"flower_schedule=weekly {APP} flower_schedule_cron=daily", "hub: flower_schedule_cron: 'daily' is not five fields"),
            (f"flower_schedule=weekly {APP} flower_run_datasets=ct", "hub: flower_run_datasets: schedules do not support this"),
            (f"flower_schedule=weekly {APP} flower_run_config='a=1 b=2'", "hub: run_config is a text and not a mapping. Give it in JSON"),
        ):
            done = play(fleet, "schedule", "-e", given, "--check")
            assert done.returncode == 2 and fault in done.stdout, done.stdout
        assert seen == []
        done = play(fleet, "schedule", "-e", f"flower_schedule=weekly {APP}", "--check")
        assert done.returncode == 2 and "may not: " in done.stdout and "patch cronjobs.batch in namespace flower" in done.stdout, done.stdout
        assert "add schedule to flower_rbac_works" in done.stdout and "s3cr3t" not in done.stdout
    assert {one["method"] for one in seen} <= {"GET", "POST"} and all("review" in one["path"] for one in seen if one["method"] == "POST")


@pytest.mark.playbook
def test_maintenance_is_respected(tmp_path: Path) -> None:
    now = datetime.datetime.now(datetime.timezone.utc)
    begin, end = (now + datetime.timedelta(hours=hours) for hours in (-1, 20))
    window = {"from": f"{begin:%a %H:%M}", "to": f"{end:%a %H:%M}"}
    until = f"site-a is in maintenance until {end:%Y-%m-%d %H:%M} UTC"
    answers = {"/selfsubjectrulesreviews": ALL, "/configmaps/flower-federation": {"kind": "ConfigMap", "data": {}, "metadata": {"name": "flower-federation"}}}
    with api_server(answers) as (address, seen):
        fleet = fleet_at(tmp_path, address, flower_maintenance=[window])
        done = play(fleet, "run", "-e", APP)
        assert done.returncode == 2 and until in done.stdout and "Nothing was submitted" in done.stdout and seen == [], done.stdout
        cron = {"flower_schedule_cron": f"{begin:%M %H} * * *", "flower_schedule": "daily", "flower_app": str(ROOT / "examples" / "quickstart")}
        done = play(fleet, "schedule", "-e", str(cron).replace("'", '"'), "--check")
        next_week = end + datetime.timedelta(days=7)
        words = f"site-a is in maintenance until {next_week:%Y-%m-%d %H:%M} UTC (flower_maintenance). Choose other times"
        assert done.returncode == 2 and (words in done.stdout or until in done.stdout), done.stdout
        assert not [one for one in seen if one["method"] not in ("GET", "POST")]
        fleet = fleet_at(tmp_path, address, flower_maintenance=[{**window, "to": "Sunday"}])
        done = play(fleet, "run", "-e", APP)
        assert done.returncode == 2 and "site-a: flower_maintenance[0].to: 'Sunday' is not a time" in done.stdout, done.stdout
        done = play(fleet_at(tmp_path, address, flower_maintenance=[window]), str(ROOT / "playbooks/parts/maintenance.yml"))
        assert done.returncode == 0 and "Skip sites in maintenance" in done.stdout, done.stdout


def pause(runs: list[str], error: str = "", **holders: str | None) -> dict[str, Any]:
    """What the part of reconcile.yml makes of the sites that the hub knows, of which a, b and c are in maintenance."""
    (part,) = yaml.safe_load((ROOT / "playbooks/parts/maintenance.yml").read_text(encoding="utf-8"))
    denial = {name: {} if holder is None else {"state": "denied", **({"holder": holder} if holder else {})} for name, holder in holders.items()}
    hub = {
        "sites": {name: {"access": access} for name, access in denial.items()},
        "runs": [{"run-id": str(number), "status": status} for number, status in enumerate(runs)],
        "error": error,
    }
    given = {"__maintenance_hub": hub, "__maintenance_open": dict.fromkeys("abc", "noon"), "__maintenance_given": True}
    templar = Templar(loader=DataLoader(), variables=trusted(part["vars"]) | given | {"ansible_check_mode": False, "__maintenance_mode": "heal"})
    deny, admit = (task for task in part["tasks"] if "federated.flower.site_access" in task)
    return {"deny": templar.template(trusted(deny["loop"])), "admit": templar.template(trusted(admit["federated.flower.site_access"]["sites"]))}


def test_sites_are_denied_when_no_run_is_active_and_only_those_of_the_holder_are_admitted() -> None:
    known: dict[str, str | None] = {"a": None, "b": "maintenance", "d": None, "e": "maintenance", "f": "", "g": "run 1"}
    assert pause(["finished:completed"], **known) == {"deny": ["a"], "admit": ["e"]}
    assert pause(["finished:failed", "pending"], **known) == {"deny": [], "admit": ["e"]}
    assert pause([], "the SuperLink does not answer", **known) == {"deny": [], "admit": ["e"]}
    assert pause([], a="", b="drill") == {"deny": [], "admit": []}
