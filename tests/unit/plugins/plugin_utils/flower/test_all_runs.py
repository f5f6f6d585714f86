# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run that is active is seen, however many others there were since: a SuperLink lists its newest 20, unless it is asked for more."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import run_stop, runs_info, superlink_info
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.flower import runs
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import Answer, FlowerCLI, FlowerError
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unreachable
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import restart_conditions


class SuperLink(FlowerCLI):
    """Answers as the command line of flwr 1.41: runs 1 to 30, of which the first is active."""

    def __init__(self) -> None:
        super().__init__(SimpleNamespace(name="hub"), "flower")  # type: ignore[arg-type]
        self.statuses = {str(number): "finished:completed" for number in range(30, 1, -1)} | {"1": "running"}
        self.asked: list[list[str]] = []

    def do(self, steps: Sequence[Mapping[str, Any]], **_more: Any) -> list[Answer]:
        return [self.answer(step) for step in steps]

    def answer(self, step: Mapping[str, Any]) -> Answer:
        words = step.get("command") or ["list", "--run-id", step["wait_finished"]]
        self.asked.append(words)
        given = dict(zip(words, words[1:]))
        if words[0] == "supernode":
            return Answer(True, {"nodes": []}, "")
        if words[0] == "stop":
            self.statuses[words[1]] = "finished:stopped"
            return Answer(True, {}, "")
        chosen = [given["--run-id"]] if "--run-id" in given else [*self.statuses][: int(given.get("--limit", 20))]
        if chosen[0] not in self.statuses:
            return Answer(False, {}, f"Displaying information for run ID {chosen[0]}...\n\n[code: 16] Run ID not found.")
        listed = [{"run-id": one, "status": self.statuses[one], "pending-at": f"2026-11-21 10:00:{int(one):02}Z"} for one in chosen]
        return Answer(True, {"success": True, "runs": listed}, "")


def act(module: Any, cli: SuperLink, monkeypatch: pytest.MonkeyPatch, **given: Any) -> dict[str, Any]:
    action = object.__new__(module.ActionModule)
    action.inventory_host = "hub"
    action._task = SimpleNamespace(check_mode=False, no_log=False)
    action.connect = lambda: contextlib.nullcontext(SimpleNamespace(name="hub"))
    monkeypatch.setattr(module, "FlowerCLI", lambda *_place: cli)
    found: dict[str, Any] = action.execute(action._checked(action.ARGS, action.SPEC, given, ""), {})
    return found


def test_an_old_run_that_is_active_is_listed() -> None:
    cli = SuperLink()
    assert [run["run-id"] for run in restart_conditions.active_runs(runs.read_all(cli))] == ["1"]
    assert [run["run-id"] for run in restart_conditions.active_runs(runs.read_nodes_and_runs(cli)[1])] == ["1"]
    assert len(runs.read_all(cli)) == 30


@pytest.mark.parametrize(("most", "count"), [(runs.SHOWN, 100), (superlink_info.ALL_RUNS, 150)])
def test_the_state_of_the_hub_has_the_newest_runs_unless_all_are_asked_for(most: int, count: int) -> None:
    cli = SuperLink()
    cli.statuses = {str(number): "finished:completed" for number in range(150, 1, -1)} | {"1": "running"}
    found = runs.read_nodes_and_runs(cli, most)[1]
    assert len(found) == count and bool(restart_conditions.active_runs(found)) == (count == 150)


def test_restarts_wait_for_an_old_run() -> None:
    with pytest.raises(FlowerError, match=r"which would fail run 1 of an app \(running\)"):
        restart_conditions.wait_no_run(SuperLink(), 0, print)


def test_all_runs_are_listed_again_when_those_that_were_active_are_over(monkeypatch: pytest.MonkeyPatch) -> None:
    cli, looked = SuperLink(), []
    cli.statuses["5"] = "pending"

    def look(_cli: FlowerCLI, run_id: str, _seconds: float, pause: float) -> runs.Run:
        looked.append(run_id)
        if len(looked) % 2 == 0:
            cli.statuses[run_id] = "finished:completed"
        if len(looked) == 4:
            cli.statuses["9"] = "running"  # it began meanwhile
        return runs.Run(run_id, cli.statuses[run_id])

    monkeypatch.setattr(restart_conditions, "read_run", look)
    told: list[str] = []
    restart_conditions.wait_no_run(cli, 60, told.append)
    shown = [words.partition("waiting for ")[2].partition(", up to ")[0] for words in told]
    assert [words.split()[1] for words in shown] == ["5", "1", "9"]
    assert [words.endswith(" and 1 more") for words in shown] == [True, False, False], "what the others do is not known any more"
    assert looked == ["5", "5", "1", "1", "9", "9"]
    assert len(cli.asked) == 3, "a long list is costly"


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of a wait, which passes only while it pauses."""
    now = [100.0]
    monkeypatch.setattr(
        restart_conditions, "time", SimpleNamespace(monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds))
    )
    return now


@pytest.mark.parametrize("error", [Unreachable("the exec broke off"), FlowerError("database is locked")])
def test_a_wait_of_an_hour_bears_a_hub_that_is_silent_for_a_moment(monkeypatch: pytest.MonkeyPatch, clock: list[float], error: Exception) -> None:
    cli, looks = SuperLink(), [0]

    def look(_cli: FlowerCLI, run_id: str, _seconds: float, pause: float) -> runs.Run:
        looks[0] += 1
        if looks[0] < 20:
            raise error
        cli.statuses[run_id] = "finished:completed"
        return runs.Run(run_id, cli.statuses[run_id])

    monkeypatch.setattr(restart_conditions, "read_run", look)
    restart_conditions.wait_no_run(cli, 3600, print)
    assert looks[0] == 20
    cli.statuses["1"], looks[0] = "running", -20
    with pytest.raises(ClusterError, match="pods are restarted only if no run is active, and active runs cannot be listed: "):
        restart_conditions.wait_no_run(cli, 3600, print)


def test_a_run_that_the_superlink_does_not_have_any_more_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    cli = SuperLink()

    def look(*_given: Any, **_more: Any) -> runs.Run:
        del cli.statuses["1"]
        raise runs.UnknownRun("the SuperLink has no run 1")

    monkeypatch.setattr(restart_conditions, "read_run", look)
    restart_conditions.wait_no_run(cli, 60, print)


def test_a_run_that_is_named_is_looked_up_by_its_number(monkeypatch: pytest.MonkeyPatch) -> None:
    cli = SuperLink()
    found = act(runs_info, cli, monkeypatch, run_ids=["1", "30"])
    assert [(one["run_id"], one["status"]) for one in found["runs"]] == [("30", "completed"), ("1", "running")]
    assert found["msg"] == "2 of 2 runs, 1 active"
    assert act(run_stop, cli, monkeypatch, run_ids=["1"])["stopped"] == ["1"]
    assert all("--run-id" in words or words[0] == "stop" for words in cli.asked)
    for module in (runs_info, run_stop):
        with pytest.raises(FlowerError, match="has no run 99 "):
            act(module, cli, monkeypatch, run_ids=["1", "99"])


def test_a_run_that_waits_is_shown_with_those_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    cli = SuperLink()
    cli.statuses["30"] = "pending"
    (one,) = act(runs_info, cli, monkeypatch, run_ids=["30"])["runs"]
    assert one["behind"] == ["1"]
    assert act(runs_info, cli, monkeypatch)["msg"] == "30 of 30 runs, 2 active, 1 of them pending"


def test_that_a_run_cannot_be_looked_up_does_not_mean_that_there_is_none() -> None:
    cli = SuperLink()
    cli.answer = lambda _step: Answer(False, {}, "database is locked")  # type: ignore[method-assign]
    with pytest.raises(FlowerError, match="database is locked"):
        runs.read_some(cli, ["1"])
    assert runs.read_some(cli, []) == []
