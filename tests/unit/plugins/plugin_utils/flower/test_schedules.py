# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What is known of schedules, and what is refused."""

from __future__ import annotations

import datetime
import json
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import findings
from ansible_collections.federated.flower.plugins.plugin_utils.flower import schedules
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Forbidden

GOOD = {**schedules.DEFAULTS, "cron": "0 2 * * sun"}


class Hub:
    def __init__(self, **kinds: list[dict[str, Any]]) -> None:
        self.kinds = kinds

    def list(self, _api_version: str, kind: str, _namespace: str, *, labels: str) -> list[dict[str, Any]]:
        assert "app.kubernetes.io/name=flower-schedule" in labels and "app.kubernetes.io/instance=flower" in labels
        if not self.kinds:
            raise Forbidden("hub", "list", 403, {})
        return self.kinds[kind]


def cron_job(name: str, last: str = "", **spec: Any) -> dict[str, Any]:
    meta = {"name": f"flower-schedule-{name}", "annotations": {"federated.flower/app": "acme/train 1.0.0"}}
    status = {"lastScheduleTime": last} if last else {}
    return {"metadata": meta, "spec": {"schedule": "0 2 * * sun", "timeZone": "Europe/Berlin", "suspend": False, **spec}, "status": status}


def pod(name: str, created: str, phase: str, message: str = "", **more: Any) -> dict[str, Any]:
    meta = {"creationTimestamp": created, "annotations": {"federated.flower/schedule": name}}
    state = {"terminated": {"exitCode": 0, "message": message}} if phase in ("Succeeded", "Failed") else {"running": {}}
    return {"metadata": meta, "status": {"phase": phase, "containerStatuses": [{"state": state}], **more}}


def lines(hub: Hub, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.setattr(schedules, "_now", lambda: datetime.datetime(2026, 11, 28, 23, tzinfo=datetime.timezone.utc))
    return [schedules.describe(one) for one in schedules.read(hub, "flower", "flower")]  # type: ignore[arg-type]


def test_next_time_and_last_result(monkeypatch: pytest.MonkeyPatch) -> None:
    done = json.dumps({"status": "completed", "run": "42", "why": ""})
    skipped = json.dumps({"status": "skipped", "why": "run 42 of acme/train is active"})
    pods = [
        pod("weekly", "2026-11-22T01:00:00Z", "Succeeded", done),
        pod("weekly", "2026-11-15T01:00:00Z", "Failed", "{}"),
        pod("daily", "2026-11-28T01:00:00Z", "Succeeded", skipped),
        pod("lost", "2026-11-28T01:00:00Z", "Failed", containerStatuses=[], reason="Evicted"),
        pod("busy", "2026-11-28T01:00:00Z", "Running"),
        pod("refused", "2026-11-15T01:00:00Z", "Succeeded", done),
    ]
    jobs = [cron_job("weekly"), cron_job("new", suspend=True), cron_job("lost"), cron_job("daily", schedule="0 2 * * *", timeZone="Etc/UTC")]
    jobs += [cron_job("busy"), cron_job("swept", last="2026-11-22T01:00:00Z"), cron_job("refused", last="2026-11-22T01:00:00Z")]
    head = "acme/train 1.0.0, 0 2 * * sun Europe/Berlin"
    assert lines(Hub(CronJob=jobs, Pod=pods), monkeypatch) == [
        f"schedule busy: {head}, next 2026-11-29 02:00; last 2026-11-28 01:00 UTC: running",
        "schedule daily: acme/train 1.0.0, 0 2 * * * Etc/UTC, next 2026-11-29 02:00; last 2026-11-28 01:00 UTC: skipped (run 42 of acme/train is active)",
        f"schedule lost: {head}, next 2026-11-29 02:00; last 2026-11-28 01:00 UTC: failed (Evicted)",
        f"schedule new: {head}, suspended; it has not run yet",
        f"schedule refused: {head}, next 2026-11-29 02:00; last 2026-11-22 01:00 UTC: unknown (it has no pod)",
        f"schedule swept: {head}, next 2026-11-29 02:00; last 2026-11-22 01:00 UTC: unknown (it has no pod)",
        f"schedule weekly: {head}, next 2026-11-29 02:00; last 2026-11-22 01:00 UTC: completed, run 42",
    ]


@pytest.mark.parametrize("message", ["", "not JSON", "[1]", '{"status": ["a"]}', '{"why": "\\u001b[31m' + "x" * 3000 + '"}', "[" * 3000])
def test_any_message_of_a_pod_is_shown_safely(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = lines(Hub(CronJob=[cron_job("a", schedule="never\x1b[0m")], Pod=[pod("a", "2026-11-28T01:00:00Z", "Failed", message)]), monkeypatch)
    assert "no next time is known" in line and "\x1b" not in line and len(line) < 600


def test_without_the_right_nobody_says_that_there_are_none(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(Forbidden):
        lines(Hub(), monkeypatch)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"cron": "often"}, "flower_schedule_cron: 'often' is not five fields"),
        ({"cron": "0 0 30 2 *"}, "flower_schedule_cron: '0 0 30 2 *' never occurs"),
        ({"timezone": "Berlin"}, "flower_schedule_timezone: 'Berlin' is not a time zone"),
        ({"overlap": "queue"}, "flower_schedule_overlap: 'queue' is not one of skip, allow"),
        ({"min_supernodes": -1}, "flower_schedule_min_supernodes: -1 is not a number from 0"),
        ({"timeout": 5}, "flower_schedule_timeout: 5 is not a number from 60"),
    ],
)
def test_settings_are_refused_with_the_variable(changes: dict[str, Any], fault: str) -> None:
    assert schedules.problems(GOOD) == []
    assert [one[: len(fault)] for one in schedules.problems({**GOOD, **changes})] == [fault]


@pytest.mark.parametrize("name", ["Weekly", "-a", "a-", "a" * 37, "a_b", "a/b", "a\n"])
def test_names_are_refused(name: str) -> None:
    assert schedules.problem_of_name(name) and not schedules.problem_of_name("a" * 36)


def test_the_report_warns_of_the_last_run_that_did_not_complete() -> None:
    found = findings.Findings()
    findings.add_schedules([{"name": one or "new", "last": {"status": one} if one else {}} for one in ("", "completed", "skipped", "running", "failed")], found)
    assert len(found.warnings) == 1 and "schedule failed: its last run is failed" in found.warnings[0]
