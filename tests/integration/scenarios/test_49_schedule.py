# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A CronJob of the hub starts runs of an app and follows them; sites in maintenance take no part."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.lane import NAMESPACE

APP = Path(__file__).parents[3] / "examples" / "quickstart"
OWN = f"flower-schedule-{(NAME := 'often')}"
ACCOUNT = f"system:serviceaccount:{NAMESPACE}:{OWN}"
KINDS = {
    "v1": ("ConfigMap", "ServiceAccount"),
    "batch/v1": ("CronJob",),
    "rbac.authorization.k8s.io/v1": ("Role", "RoleBinding"),
    "networking.k8s.io/v1": ("NetworkPolicy",),
}


def schedule(fed: Any, *arguments: str, **given: Any) -> Any:
    return fed.play("schedule", *arguments, "-e", json.dumps({"flower_schedule": NAME, **given}))


def report(fed: Any, **given: Any) -> dict[str, Any]:
    found: dict[str, Any] = fed.play("status", "-e", "flower_status_format=json", **given).report
    return found


def last(fed: Any) -> dict[str, str]:
    """What the status knows of the last time."""
    found = report(fed)["schedules"]
    return found[0]["last"] if found else {}


def there(fed: Any) -> list[str]:
    return [kind for api, kinds in KINDS.items() for kind in kinds if fed.hub.get(api, kind, OWN, NAMESPACE)]


def ended(fed: Any, job: str) -> dict[str, str]:
    """Start a job of the CronJob, as kubectl create job does, and wait for its end: its pod's message."""
    template = fed.hub.get("batch/v1", "CronJob", OWN, NAMESPACE)["spec"]["jobTemplate"]["spec"]
    fed.hub.create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": job, "namespace": NAMESPACE}, "spec": template})

    def message() -> str:
        for pod in fed.hub.list("v1", "Pod", NAMESPACE, labels=f"batch.kubernetes.io/job-name={job}"):
            for one in pod["status"].get("containerStatuses", []):
                if "terminated" in one["state"]:
                    return str(one["state"]["terminated"].get("message"))
        return ""

    found: dict[str, str] = json.loads(fed.wait(f"job {job}", message, 300))
    return found


@pytest.fixture(scope="module")
def scheduled(federation: Any) -> Iterator[Any]:
    federation.settle()
    yield federation
    federation.play("schedule", "-e", f"flower_schedule={NAME}", "-e", "flower_schedule_state=absent", rc=None)
    federation.settled = False


def test_a_cronjob_starts_a_run_and_the_status_has_its_result(scheduled: Any) -> None:
    fed, before = scheduled, set(scheduled.app_runs())
    wanted = {
        "flower_app": str(APP),
        "flower_run_config": {"num-server-rounds": 1},
        "flower_schedule_cron": "* * * * *",
        "flower_schedule_min_supernodes": 3,
    }
    assert schedule(fed, "--check", **wanted).changed["hub"] and there(fed) == []
    assert schedule(fed, **wanted).changed["hub"] and len(there(fed)) == 6
    assert not schedule(fed, **wanted).changed["hub"]
    run = fed.wait("a run of the CronJob", lambda: next(iter(set(fed.app_runs()) - before), ""), 240, pause=3)
    assert schedule(fed, flower_schedule_suspend=True).changed["hub"]
    fed.wait("its end", lambda: fed.app_runs()[run].startswith("finished"), 300, pause=3)
    status = fed.wait("its result", lambda: found if (found := last(fed)).get("status") != "running" else {}, 180)
    assert (status["status"], status["run"]) == ("completed", run), status
    assert not schedule(fed, flower_schedule_suspend=True).changed["hub"]


@pytest.mark.parametrize(
    ("verb", "resource", "name", "allowed"),
    [("create", "pods/exec", "superlink-0", True), ("create", "pods/exec", "serverapp-0", False), ("list", "pods", "", False), ("get", "secrets", "", False)],
)
def test_the_account_of_its_pods_has_the_rights_of_a_data_scientist_at_most(scheduled: Any, verb: str, resource: str, name: str, allowed: bool) -> None:
    resource, _slash, subresource = resource.partition("/")
    where = {"verb": verb, "resource": resource, "subresource": subresource, "name": name, "namespace": NAMESPACE}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": {"user": ACCOUNT, "resourceAttributes": where}}
    answer = scheduled.hub.request("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", body=review)
    assert answer["status"]["allowed"] is allowed, answer


def test_an_overlap_and_missing_supernodes_are_skipped_and_a_failure_is_known(scheduled: Any) -> None:
    fed = scheduled
    held, finish = fed.hold()
    try:
        found = ended(fed, "overlap")
        assert found["status"] == "skipped" and f"run {held} of federated-flower/" in found["why"], found
    finally:
        assert finish().rc == 0
    schedule(fed, flower_schedule_min_supernodes=4)
    assert ended(fed, "few") == {"status": "skipped", "why": "3 of at least 4 SuperNodes are online"}
    schedule(fed, flower_schedule_min_supernodes=1, flower_app=str(APP), flower_run_config={"fail": True})
    found = ended(fed, "failing")
    assert found["status"] == "failed" and fed.app_runs()[found["run"]] == "finished:failed", found
    seen = report(fed)
    assert seen["schedules"][0]["last"]["status"] == "failed" and f"schedule {NAME}: its last run is failed" in " ".join(seen["warnings"]), seen


def test_a_schedule_is_removed(scheduled: Any) -> None:
    fed = scheduled
    assert schedule(fed, "--check", flower_schedule_state="absent").changed["hub"] and len(there(fed)) == 6
    assert schedule(fed, flower_schedule_state="absent").changed["hub"]
    fed.wait("no objects", lambda: there(fed) == [], 60)
    assert not schedule(fed, flower_schedule_state="absent").changed["hub"]


def test_a_site_in_maintenance_is_denied_and_comes_back(scheduled: Any) -> None:
    fed, hosts = scheduled, scheduled.base()
    nodes = list(fed.keys("site-a").values())
    now = datetime.datetime.now(datetime.timezone.utc)
    begin, end = (f"{now + datetime.timedelta(hours=hours):%Y-%m-%d %H:%M}" for hours in (-1, 5))
    hosts["site-a"]["flower_maintenance"] = [{"from": begin, "to": end}]
    heal = ("-e", "flower_reconcile=heal")
    refused = fed.play("run", "-e", f"flower_app={APP}", hosts=hosts, rc=2)
    assert f"site-a is in maintenance until {end} UTC" in refused.messages(failed=True)
    _held, finish = fed.hold()
    try:
        fed.play("reconcile", *heal, hosts=hosts)
        assert "access" not in fed.ledger().read_records()["site-a"], "a run is active"
    finally:
        assert finish().rc == 0
    fed.play("reconcile", hosts=hosts)
    assert "access" not in fed.ledger().read_records()["site-a"], "a report changes nothing"
    fed.play("reconcile", *heal, hosts=hosts)
    access = fed.ledger().read_records()["site-a"]["access"]
    assert (access["holder"], access["reason"]) == ("maintenance", f"maintenance until {end} UTC")
    fed.wait("its SuperNodes offline", lambda: {fed.nodes()[node] for node in nodes} == {"offline"}, 180, pause=3)
    seen = report(fed, hosts=hosts)
    assert seen["healthy"] and f"site-a: maintenance until {end} UTC" in " ".join(seen["warnings"]), seen
    fed.site(hosts)
    hosts["site-a"]["flower_maintenance"] = [{"from": begin, "to": f"{now:%Y-%m-%d %H:%M}"}]
    fed.play("reconcile", *heal, hosts=hosts)
    assert "access" not in fed.ledger().read_records()["site-a"]
    fed.wait_online(*nodes, seconds=420)
