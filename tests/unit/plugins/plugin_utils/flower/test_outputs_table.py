# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Outputs and their runs: what is listed, what is kept, and whether there is room for more."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import in_pod, outputs_table, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.flower.outputs_list import Room, Stored, TooFull
from ansible_collections.federated.flower.plugins.plugin_utils.flower.run_sites import during

NOW = datetime.datetime(2026, 11, 22, 12, 0, tzinfo=datetime.timezone.utc)
GIB = 2**30
LOST = "13164552291825540154"  # a run that the SuperLink does not know


def stored(run_id, days=0.0, size=GIB):
    changed = (NOW - datetime.timedelta(days=days)).timestamp()
    return Stored(str(run_id), 2, size, changed)


def run(run_id, status="completed", days=0.0):
    finished = (NOW - datetime.timedelta(days=days)).strftime("%Y-%m-%d %H:%M:%SZ")
    over = status in ("completed", "failed", "stopped")
    return {
        "run_id": str(run_id), "app": "me/app", "version": "1.0.0", "fab_hash": "abc", "status": status, "active": not over,
        "finished_at": finished if over else "",
    }  # fmt: skip


@pytest.fixture
def listed():
    """Runs 1 (the oldest) to 5, of which the second is unknown to the SuperLink and 5 is active."""
    outputs = [stored(1, 40), stored(LOST, 30), stored(3, 10), stored(4, 1), stored(5)]
    return outputs_table.entries(outputs, [run(1, days=40), run(3, "failed", 10), run(4, days=1), run(5, "running")])


def test_active_runs_first_then_the_newest(listed):
    assert [one["run_id"] for one in listed] == ["5", "4", "3", LOST, "1"]
    assert [one["status"] for one in listed] == ["running", "completed", "failed", "unknown", "completed"]
    assert listed[3]["finished_at"] == "2026-10-23 12:00:00Z", "of the last file"


def test_times_that_no_calendar_has_hide_no_outputs():
    (one,) = outputs_table.entries([Stored(LOST, 1, 1, 1e18)], [])
    assert one["finished_at"].startswith("9999-12-31")
    assert outputs_table.expired([one], None, NOW) == [] and outputs_table.expired([one], 0, None) == [LOST]


def test_folders_of_others_are_not_pruned():
    """On a claim of the user (superlink_outputs_claim) others may have folders whose names are years."""
    listed = outputs_table.entries([stored(LOST, 30), stored(2024, 900), stored(20241231, 800), stored(7, 40)], [run(7, days=40)])
    assert outputs_table.expired(listed, 0, None) == ["7", LOST]
    assert outputs_table.expired(listed, 1, None) == ["7"], "they do not count"


@pytest.mark.parametrize(
    ("keep", "older", "gone"),
    [
        (2, None, ["1", LOST]),
        (0, None, ["1", LOST, "3", "4"]),
        (9, None, []),
        (None, "20d", ["1", LOST]),
        (None, "0s", ["1", LOST, "3", "4"]),
        (3, "20d", ["1"]),
        (1, "20d", ["1", LOST]),
        (None, None, []),
    ],
)
def test_what_the_rules_let_go(listed, keep, older, gone):
    limit = outputs_table.age_limit(older, NOW) if older else None
    assert outputs_table.expired(listed, keep, limit) == gone


def test_what_was_handed_to_a_run_stays_until_that_can_be_submitted():
    """No run is active: one that was handed them may still send its inputs, or wait."""
    now = datetime.datetime.now(datetime.timezone.utc).timestamp()
    found = outputs_table.entries([Stored("1", 1, 1, 0, used=now - 60), Stored(LOST, 1, 1, 0, used=now - 3700), Stored("3" * 17, 1, 1, 0)], [])
    assert {one["run_id"]: one["in_use"] for one in found} == {"1": True, LOST: False, "3" * 17: False}
    assert outputs_table.expired(found, 0, None) == [LOST, "3" * 17]
    with pytest.raises(FlowerError, match="outputs of run 1 may be in use: .* within the last hour"):
        outputs_table.refuse_in_use(["1", "2"], found, [], [])
    late = {**run(9, "running"), "pending_at": "2999-01-01 00:00:00Z"}  # by a clock that is ahead
    assert outputs_table.entries([Stored("1", 1, 1, 0, used=now)], [late])[0]["in_use"]


@pytest.mark.parametrize("name", ["2024", "1732440000", "1732440000123", "20251124103000"])
def test_a_folder_of_the_user_whose_name_is_a_time_stays(name):
    """A claim of the user may have them beside the outputs."""
    assert outputs_table.expired(outputs_table.entries([stored(name, 400)], []), 0, None) == []


@pytest.mark.parametrize("text", ["30", "d", "-1d", "30 days", "999999w", ""])
def test_what_is_no_duration(text):
    with pytest.raises(FlowerError, match="older_than: .* is not a duration like"):
        outputs_table.age_limit(text, NOW)


@pytest.mark.parametrize("one", ["..", "7/..", "", "-1", "٧", "x"])
def test_ids_are_numbers(one):
    with pytest.raises(FlowerError, match="a run id is a number"):
        runs.ids(["1", one])


def test_table(listed):
    lines = outputs_table.table(listed)
    assert lines[0].split() == ["run", "app", "status", "finished", "(UTC)", "files", "size", "notes"]
    assert lines[2].split() == ["4", "me/app", "1.0.0", "completed", "2026-11-21", "12:00", "2", "1.0", "GiB"]
    assert (
        outputs_table.summary(listed, [], Room(10 * GIB, 8 * GIB))
        == "outputs of 5 runs, 5.0 GiB; 8.0 GiB of 10.0 GiB are free"
    )
    assert "no run is submitted" in outputs_table.summary(listed, [], Room(10 * GIB, GIB, 2 * GIB))


def test_the_floor():
    assert Room(10, 4, 5).is_low and not Room(10, 5, 5).is_low and not Room(10, 0).is_low
    assert Room(10, 4, 5).with_floor("") == Room(10, 4, 5)
    assert Room(10, 4, 5).with_floor("2Ki").floor == 2048
    for wrong in ("much", "-1"):
        with pytest.raises(TooFull, match="is not a quantity"):
            Room(10, 4).with_floor(wrong)


def node(came, left="N/A", status="online"):
    return {"online-at": came, "offline-at": left, "status": status}


def test_sites_that_were_online_during_a_run():
    nodes = {
        "1": node("2026-11-22 10:00:00Z"),
        "2": node("2026-11-22 11:30:00Z"),
        "3": node("2026-11-22 09:00:00Z", "2026-11-22 10:30:00Z", "offline"),
        "4": node("2026-11-22 09:00:00Z", "2026-11-22 09:30:00Z", "offline"),
        "5": node("N/A", status="registered"),
        "6": node("2026-11-22 10:00:00Z"),
    }
    homes = {"1": "site-a", "2": "late", "3": "site-b", "4": "gone", "5": "never"}
    times = {"running_at": "2026-11-22 10:00:00Z", "finished_at": "2026-11-22 11:00:00Z"}
    assert during(nodes, homes, times) == ["site-a", "site-b"]
    assert during(nodes, homes, {}) == ["late", "site-a"], "without times, those that are online"


RUNNING = [{"name": "outputs", "state": {"running": {}}}]


@pytest.mark.parametrize(
    ("pod", "runs"),
    [
        (None, False),
        ({"metadata": {}, "status": {}}, False),
        ({"metadata": {}, "status": {"containerStatuses": RUNNING}}, True),
        ({"metadata": {"deletionTimestamp": "x"}, "status": {"containerStatuses": RUNNING}}, False),
        ({"metadata": {}, "status": {"containerStatuses": [{"name": "outputs", "state": {"waiting": {}}}]}}, False),
        ({"metadata": {}, "status": {"containerStatuses": [{"name": "superexec", "state": {"running": {}}}]}}, False),
    ],
)
def test_whether_the_reader_runs(pod, runs):
    assert in_pod.is_running(pod, "outputs") is runs
