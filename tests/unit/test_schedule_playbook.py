# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook schedule, and maintenance windows in playbooks: what is refused before anything is changed."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written
from ansible_collections.federated.flower.tests.unit.read import ROOT

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
            (f"flower_schedule=weekly {APP} flower_run_datasets=ct", "hub: flower_run_datasets: the pods of a schedule cannot do this"),
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
