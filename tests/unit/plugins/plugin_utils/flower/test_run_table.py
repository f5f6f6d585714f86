# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Runs are chosen and shown."""

from __future__ import annotations

import datetime
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.flower import run_table, runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import (
    Answer,
    FlowerCLI,
    FlowerError,
    read_answer,
)

NOW = datetime.datetime(2026, 11, 22, 12, 0, tzinfo=datetime.timezone.utc)
NOTHING: dict[str, Any] = {"run_ids": [], "status": [], "app": None, "since": None, "limit": 0}


def run(number: int, status: str, app: str = "me/app", at: str = "11:0", **more: Any) -> dict[str, Any]:
    """A run as Flower lists it."""
    return {
        "run-id": f"{number}",
        "fab-id": app,
        "fab-version": "1.0.0",
        "fab-hash": "9bbe",
        "status": status,
        "status-details": "N/A",
        "elapsed": 61.5,
        "pending-at": f"2026-11-22 {at}{number}:00Z",
        "starting-at": "N/A",
        "running-at": "N/A" if status == "pending" else "2026-11-22 11:30:00Z",
        "finished-at": "2026-11-22 11:31:01Z" if status.startswith("finished") else "N/A",
        **more,
    }


RUNS = [
    run(5, "pending"),
    run(4, "pending", "other/app"),
    run(3, "running", "me/tabular"),
    run(2, "finished:failed", **{"status-details": "ServerApp failed\nwith exception"}),
    run(1, "finished:completed", at="09:0"),
]


def chosen(**given: Any) -> list[str]:
    listed = run_table.entries(RUNS)
    return [one["run_id"] for one in run_table.chooser({**NOTHING, **given}, NOW)(listed)]


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({}, "54321"),
        ({"status": ["active"]}, "543"),
        ({"status": ["failed", "running"]}, "32"),
        ({"status": ["finished"], "limit": 1}, "2"),
        ({"app": "app"}, "5421"),
        ({"app": "me/*"}, "5321"),
        ({"app": "me"}, ""),
        ({"since": "1h"}, "5432"),
        ({"since": "2026-11-22T11:03"}, "543"),
        ({"since": "2026-11-22T13:04+02:00"}, "54"),
        ({"since": "2026-11-22"}, "54321"),
        ({"run_ids": ["1", "5"], "status": ["running"], "app": "x", "limit": 1}, "51"),
    ],
)
def test_filters(given: dict[str, Any], found: str) -> None:
    assert "".join(chosen(**given)) == found


def test_all_faults_are_named() -> None:
    with pytest.raises(FlowerError) as caught:
        chosen(run_ids=["1", "x1"], since="yesterday", limit=-1)
    for word in ("run_ids: a run id is a number, not 'x1'", "since: 'yesterday' is neither", "limit: -1 is negative"):
        assert word in caught.value.message


@pytest.mark.parametrize("text", ["999999w", "1y", "-1d", "2026-13-01"])
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(FlowerError, match="is neither a time"):
        chosen(since=text)


def test_the_table() -> None:
    assert run_table.table(run_table.entries(RUNS)) == [
        "run  app               status     elapsed  submitted (UTC)   notes",
        "5    me/app 1.0.0      pending             2026-11-22 11:05  behind 3, 4",
        "4    other/app 1.0.0   pending             2026-11-22 11:04  behind 3",
        "3    me/tabular 1.0.0  running    0:01:01  2026-11-22 11:03",
        "2    me/app 1.0.0      failed     0:01:01  2026-11-22 11:02  ServerApp failed with exception",
        "1    me/app 1.0.0      completed  0:01:01  2026-11-22 09:01",
    ]
    assert run_table.table([]) == ["run  app  status  elapsed  submitted (UTC)  notes"]
    listed = run_table.entries(RUNS)
    assert run_table.summary(listed[:1], listed) == "1 of 5 runs, 3 active, 2 of them pending"
    assert run_table.summary([], listed[3:]) == "0 of 2 runs, 0 active"
    assert run_table.missing(["1", "9"], listed) == ["9"]


def test_details() -> None:
    (one,) = run_table.entries(RUNS[3:4])
    lines = run_table.details([one | {"log": ["a"], "metrics": {"round": 2, "train": {"loss": 0.5}}}])
    assert "details       ServerApp failed with exception" in lines
    assert lines[-3:] == ["last metrics  round 2; train {'loss': 0.5}", "end of the log:", "  a"]
    assert run_table.details([run_table.entries(RUNS[:1])[0] | {"log": []}])[-1] == "no log"


class Stopping:
    """Answers the steps of a stop."""

    def __init__(self, *answers: dict[str, Any]) -> None:
        self.answers = list(map(read_answer, answers))

    command = staticmethod(lambda *words: list(words))

    def do(self, steps: list[Any], *, seconds: float) -> list[Any]:
        assert len(steps) == len(self.answers)
        return self.answers


def listed(status: str) -> dict[str, Any]:
    return {"rc": 0, "out": {"success": True, "runs": [{"run-id": "1", "status": status}]}}


@pytest.mark.parametrize(
    ("ok", "status", "over", "refused"),
    [
        (True, "finished:stopped", {}, {}),
        (False, "finished:stopped", {}, {}),
        (False, "finished:completed", {"1": "completed"}, {}),
        (False, "running", {}, {"1": "[code: 9] no"}),
    ],
)
def test_what_became_of_a_stop(ok: bool, status: str, over: dict[str, str], refused: dict[str, str]) -> None:
    answer = {"rc": 0, "out": {"success": ok, "error-message": "Stopping… [code: 9] no"}}
    assert runs.stop(Stopping(answer, listed(status)), ["1"]) == (over, refused)
    assert runs.stop(Stopping(), []) == ({}, {})


NODES_LISTED = Answer(True, {"success": True, "nodes": [{"node-id": 10, "status": "online"}]}, "")
RUNS_LISTED = Answer(True, {"success": True, "runs": [{"run-id": 7, "status": "running"}]}, "")
BUSY = Answer(False, {}, "database\n  is locked")


@pytest.mark.parametrize(("nodes", "runs_", "what"), [(BUSY, RUNS_LISTED, "SuperNodes"), (NODES_LISTED, BUSY, "runs"), (NODES_LISTED, RUNS_LISTED, "")])
def test_no_list_is_not_an_empty_one(nodes: Answer, runs_: Answer, what: str) -> None:
    cli: Any = FlowerCLI(SimpleNamespace(name="hub"), "flower")  # type: ignore[arg-type]
    cli.do = lambda _steps, seconds: [nodes, runs_]
    if not what:
        assert runs.read_nodes_and_runs(cli) == ({"10": {"node-id": 10, "status": "online"}}, [{"run-id": "7", "status": "running"}])
        return
    with pytest.raises(FlowerError, match=f"cannot list the {what} on hub: database is locked"):
        runs.read_nodes_and_runs(cli)
