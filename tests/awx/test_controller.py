# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: Apache-2.0
"""C(playbooks/awx.yml) and what it creates, on a real controller with real clusters, in the order of a new user.

The tests build on each other: a federation grows from nothing to two sites and is removed at the end.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest
from conftest import NAME, Console, Controller, Refused, fleet, wait

STUDY = {f"{NAME} {verb}" for verb in ("run", "runs", "outputs")}
CONFIG = {"num-server-rounds": 1, "min-nodes": 2}


@pytest.fixture(autouse=True)
def in_order(request: pytest.FixtureRequest) -> Iterator[None]:
    """What builds on a test that failed is not tried."""
    if request.session.testsfailed:
        pytest.skip("a test before this one failed")
    yield


@contextmanager
def launched_by(console: Console, name: str, **options: Any) -> Iterator[Any]:
    """The job that a schedule launches in a few seconds. Afterwards the schedule is as it was."""
    schedule = console.admin.named("schedules", name)
    path = f"schedules/{schedule['id']}/"
    before = {one["id"] for one in console.admin.get(f"{path}jobs/")["results"]}
    soon = (datetime.now(timezone.utc) + timedelta(seconds=20)).strftime("%Y%m%dT%H%M%SZ")
    console.admin.call("PATCH", path, {"rrule": f"DTSTART:{soon} RRULE:FREQ=DAILY;INTERVAL=1", **options})

    def launched() -> list[Any]:
        return [one for one in console.admin.get(f"{path}jobs/")["results"] if one["id"] not in before]

    try:
        (job,) = wait(f"a job of the schedule {name}", launched, 120)
        yield job
    finally:
        console.admin.call("PATCH", path, {key: schedule[key] for key in ("rrule", *options)})


def changed_hosts(console: Console, job: Any) -> list[tuple[str, int]]:
    """The hosts on which a job changed something, with the numbers of its tasks that did."""
    found = console.admin.get(f"jobs/{job['id']}/job_host_summaries/")["results"]
    return [(one["host_name"], one["changed"]) for one in found if one["changed"]]


def test_names_of_others_are_refused_before_anything_is_created(console: Console) -> None:
    other = console.admin.post("credential_types/", name=f"{NAME} kubeconfig", kind="cloud", inputs={}, injectors={})
    try:
        run = console.playbook()
        assert run.rc != 0
        assert f"credential types that this role did not create: {NAME} kubeconfig" in " ".join(run.output.split())
        assert console.playbook(awx_state="absent").changed == 0
        assert NAME not in console.admin.names("organizations")
        assert console.admin.get(f"credential_types/{other['id']}/")["description"] == ""
    finally:
        console.admin.call("DELETE", f"credential_types/{other['id']}/")


def test_the_second_run_changes_nothing(console: Console) -> None:
    assert console.playbook("--check").rc == 0
    assert NAME not in console.admin.names("organizations")
    first = console.playbook()
    assert first.rc == 0 and first.changed > 0
    again = console.playbook()
    assert (again.rc, again.changed) == (0, 0)
    # Of options that the row of the notification lacks, awx.awx does not know the defaults.
    shown = console.playbook("--check")
    assert (shown.rc, shown.changed) == (0, 1)


def test_the_inventory_comes_from_the_project(console: Console) -> None:
    console.sync()
    assert console.hosts() == {"hub", "site-a", "site-b"}
    inventory = console.admin.named("inventories", NAME)
    assert {"flower_hub", "flower_sites", "region_eu"} <= console.admin.names("groups", inventory=str(inventory["id"]))


def test_the_workflow_waits_for_an_approval_and_deploys(console: Console, member: Callable[[str], Controller]) -> None:
    operator = member("operators")
    job = operator.launch(f"{NAME} rollout", "workflow_job_templates")

    def waiting() -> Any:
        now = operator.get(f"workflow_jobs/{job['id']}/")
        assert now["status"] in ("pending", "waiting", "running"), (now["status"], console.admin.nodes(now))
        return operator.get("workflow_approvals/", status="pending", name=f"{NAME} approval")["results"]

    (approval,) = wait("the approval", waiting, 600)
    assert set(console.admin.nodes(job)) == {"sync", "preflight", "hub", "approval"}
    wait("a notification of the approval", console.told("approval"), 60)
    operator.post(f"workflow_approvals/{approval['id']}/approve/")
    console.admin.done(operator.get(f"workflow_jobs/{job['id']}/"), seconds=900)
    ended = console.admin.nodes(job)
    assert {one["status"] for one in ended.values()} == {"successful"}, ended
    assert "audit" in ended
    shown = console.admin.get(f"jobs/{ended['status']['id']}/")
    assert shown["artifacts"]["flower_status_result"]["healthy"] is True
    wait("a notification of the end", console.told(f"{NAME} rollout", "successful"), 60)


def test_a_new_host_of_the_inventory_joins_with_no_other_step(console: Console) -> None:
    console.sync()  # it has just been done, and yet the job does it again
    console.project.commit(fleet("site-a", "site-b", "site-c"))
    with launched_by(console, f"{NAME} hourly site", enabled=True) as job:
        assert "site-c" in console.admin.text(console.admin.done(job))
    assert console.hosts() == {"hub", "site-a", "site-b", "site-c"}
    status = console.admin.done(console.admin.launch(f"{NAME} status"))
    found = status["artifacts"]["flower_status_result"]
    assert (found["healthy"], found["unreachable"]) == (True, [])
    assert "site-c" in console.admin.text(status)


def test_a_host_that_disappears_is_reported_and_not_removed(console: Console) -> None:
    before = console.pods("site-c")
    assert before
    console.project.commit(fleet("site-a", "site-b"))
    report = "site-c is not in the inventory, but still in the ledger"
    with launched_by(console, f"{NAME} hourly site", enabled=True) as job:
        end = console.admin.done(job)
    assert console.hosts() == {"hub", "site-a", "site-b"}
    assert report in " ".join(console.admin.text(end).split())
    assert changed_hosts(console, end) == []
    status = console.admin.done(console.admin.launch(f"{NAME} status"), "failed")
    assert report in " ".join(console.admin.text(status).split())
    assert console.pods("site-c") == before
    console.project.commit(fleet("site-a", "site-b", "site-c"))
    again = console.admin.done(console.admin.launch(f"{NAME} site"))
    assert changed_hosts(console, again) == []
    assert console.pods("site-c") == before


def test_site_in_check_mode_finds_nothing_to_change(console: Console) -> None:
    job = console.admin.done(console.admin.launch(f"{NAME} site", job_type="check", diff_mode=True))
    assert changed_hosts(console, job) == []


def test_a_data_scientist_may_launch_studies_and_nothing_else(
    console: Console, member: Callable[[str], Controller]
) -> None:
    scientist = member("data scientists")
    assert {name for name in scientist.names("job_templates") if name.startswith(NAME)} == STUDY
    for kind in ("workflow_job_templates", "inventories", "credentials", "projects", "inventory_sources"):
        assert {name for name in scientist.names(kind) if name.startswith(NAME)} == set(), kind
    for name in console.admin.names("job_templates", name__startswith=NAME) - STUDY:
        with pytest.raises(Refused) as refused:
            scientist.post(f"job_templates/{console.admin.named('job_templates', name)['id']}/launch/")
        assert refused.value.code in (403, 404), name
    # Neither other credentials, hosts and inventories, nor variables that the survey does not have.
    answers = {"flower_app": "apps/quickstart", "flower_run_config": json.dumps(CONFIG), "flower_version": "1.0.0"}
    job = scientist.launch(f"{NAME} run", extra_vars=answers, limit="site-a")
    assert set(job["ignored_fields"]) >= {"limit"} and "flower_version" in json.dumps(job["ignored_fields"])
    end = scientist.done(job)
    found = end["artifacts"]["flower_run_result"]
    assert found["outcome"] == "completed"
    listed = scientist.done(
        scientist.launch(f"{NAME} runs", extra_vars={"flower_runs": "show", "flower_run_id": str(found["run_id"])})
    )
    assert str(found["run_id"]) in scientist.text(listed)
    kept = scientist.done(scientist.launch(f"{NAME} outputs"))
    assert "outputs of " in scientist.text(kept)
    with pytest.raises(Refused):
        scientist.launch(f"{NAME} run")  # the survey wants an app


def test_an_auditor_may_read_and_launch_nothing(console: Console, member: Callable[[str], Controller]) -> None:
    auditor = member("auditors")
    seen = {name for name in auditor.names("job_templates") if name.startswith(NAME)}
    assert seen == console.admin.names("job_templates", name__startswith=NAME)
    for name in sorted(seen):
        with pytest.raises(Refused) as refused:
            auditor.launch(name, extra_vars={"flower_app": "apps/quickstart"})
        assert refused.value.code == 403, name


def test_a_schedule_launches_its_template(console: Console) -> None:
    with launched_by(console, f"{NAME} daily status") as job:
        assert console.admin.done(job)["launch_type"] == "scheduled"


def test_a_job_that_was_canceled_is_completed_by_the_next(console: Console) -> None:
    sites = ("site-a", "site-b", "site-c")
    console.project.commit(fleet(*sites, replicas=2))
    job = console.admin.launch(f"{NAME} site")
    wait(
        "a task on a cluster",
        lambda: console.admin.get(f"jobs/{job['id']}/job_events/", event="runner_on_ok")["count"],
        120,
    )
    time.sleep(3)  # into the middle: no event says that a task has begun to change something
    console.admin.post(f"jobs/{job['id']}/cancel/")
    assert console.admin.ended(job)["status"] == "canceled"
    again = console.admin.post(f"jobs/{job['id']}/relaunch/")
    assert changed_hosts(console, console.admin.done(again)) != [], "it was canceled after the last change"
    status = console.admin.done(console.admin.launch(f"{NAME} status"))
    assert status["artifacts"]["flower_status_result"]["healthy"] is True
    assert {site: len(console.pods(site)) for site in sites} == dict.fromkeys(sites, 2)


def test_status_fails_when_a_cluster_is_cut_off(console: Console, cut: Callable[[], None]) -> None:
    console.notified.clear()
    cut()
    job = console.admin.done(console.admin.launch(f"{NAME} status"), "failed")
    assert "site-b" in console.admin.text(job)
    assert job["artifacts"]["flower_status_result"]["unreachable"] == ["site-b", "site-c"]
    wait("a notification of the failure", console.told(f"{NAME} status", "failed"), 60)


def test_absent_removes_what_it_created_and_nothing_else(console: Console) -> None:
    console.tear_down()
    organization = console.admin.named("organizations", NAME)
    kept = console.admin.post("workflow_job_templates/", name=f"{NAME} of others", organization=organization["id"])
    gone = console.playbook(awx_state="absent", awx_delete_organization=False)
    assert gone.rc == 0 and gone.changed > 0
    for kind in ("job_templates", "workflow_job_templates", "inventories", "projects", "credentials", "credential_types",
                 "execution_environments", "teams", "notification_templates", "schedules", "inventory_sources"):  # fmt: skip
        left = {name for name in console.admin.names(kind) if name.startswith(NAME)}
        assert left - {kept["name"]} == set(), kind
    assert console.admin.named("workflow_job_templates", kept["name"])
    assert console.playbook(awx_state="absent", awx_delete_organization=False).changed == 0
    assert console.playbook(awx_state="absent").changed == 1
    assert NAME not in console.admin.names("organizations")
    console.admin.call("DELETE", kept["url"])  # a workflow outlives its organization
