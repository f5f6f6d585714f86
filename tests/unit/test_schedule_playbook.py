# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The playbook schedule: what it lists, and what it refuses before anything is changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ansible_collections.federated.flower.tests.unit.ansible_run import api_server, inventory, play, written
from ansible_collections.federated.flower.tests.unit.read import ROOT

APP = f"flower_app={ROOT / 'examples' / 'quickstart'}"
EMPTY = {"kind": "List", "items": [], "metadata": {}}
NO_RIGHTS = {"status": {"resourceRules": []}}
DENIED = {"status": {"allowed": False}}


@pytest.mark.playbook
def test_bad_variables_are_refused_before_anything_is_changed(tmp_path: Path) -> None:
    answers = {"/selfsubjectrulesreviews": NO_RIGHTS, "/selfsubjectaccessreviews": DENIED}
    batch = {"kind": "APIResourceList", "groupVersion": "batch/v1", "resources": [{"name": "cronjobs", "kind": "CronJob", "namespaced": True, "verbs": ["list"]}]}
    answers |= {"/apis/batch/v1": batch, "/cronjobs?limit=500&labelSelector=": EMPTY}
    with api_server(answers) as (address, seen):
        fleet = written(tmp_path, inventory({"flower_auth": {"host": address, "api_key": "s3cr3t"}}, {}))
        for given, fault in (
            ("flower_schedule_state=gone", "hub: flower_schedule_state: gone is neither present nor absent"),
            ("flower_schedule=Weekly", "hub: flower_schedule: 'Weekly' is not a name"),
            (f"flower_schedule=weekly {APP} flower_schedule_cron=daily", "hub: flower_schedule_cron: 'daily' is not five fields"),
            ("flower_schedule=weekly flower_app=/nowhere", "hub: the app /nowhere does not exist"),
            (f"flower_schedule=weekly {APP} flower_run_datasets=ct", "hub: flower_run_datasets: the pods of a schedule cannot do this"),
        ):
            done = play(fleet, "schedule", "-e", given, "--check")
            assert done.returncode == 2 and fault in done.stdout, done.stdout
        assert seen == []
        done = play(fleet, "schedule", "-e", f"flower_schedule=weekly {APP}", "--check")
        assert done.returncode == 2 and "may not: " in done.stdout and "patch cronjobs.batch in namespace flower" in done.stdout, done.stdout
        assert "add schedule to flower_rbac_works" in done.stdout and "s3cr3t" not in done.stdout
    assert {one["method"] for one in seen} <= {"GET", "POST"} and all("review" in one["path"] for one in seen if one["method"] == "POST")
