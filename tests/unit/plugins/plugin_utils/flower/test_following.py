# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A run is followed over lost connections: no line is lost or repeated, and what is said is said at a steady pace."""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.action import run
from ansible_collections.federated.flower.plugins.plugin_utils.flower import following
from ansible_collections.federated.flower.plugins.plugin_utils.flower.cli import FlowerCLI
from ansible_collections.federated.flower.plugins.plugin_utils.flower.following import Following, RunReport, ahead
from ansible_collections.federated.flower.plugins.plugin_utils.flower.progress import Progress
from ansible_collections.federated.flower.plugins.plugin_utils.flower.runs import Run, UnknownRun
from ansible_collections.federated.flower.plugins.plugin_utils.kube.api_errors import Unreachable


class Watch:
    """Collects what is reported."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.left_out: list[int] = []
        self.reports: list[RunReport] = []
        self.troubles: list[str] = []

    def log(self, lines: Sequence[str], left_out: int) -> None:
        self.lines += lines
        self.left_out += [left_out] if left_out else []

    def report(self, report: RunReport) -> None:
        self.reports.append(report)

    def trouble(self, text: str) -> None:
        self.troubles.append(text)


def report(status: str, at: int = 0, *lines: str, left_out: int = 0, **more: Any) -> dict[str, Any]:
    out = {"success": True, "runs": [{"run-id": "5", "status": status, "elapsed": 3, "fab-id": "me/app"}]}
    return {"run": {"rc": 0, "out": out}, "at": at, "left_out": left_out, "lines": list(lines), **more}


class Pod:
    """Answers each exec with some messages, and then an error or the end."""

    def __init__(self, *answers: Sequence[Any]) -> None:
        self.answers = list(answers)
        self.asked: list[dict[str, Any]] = []

    def exec(self, *_place: Any, stdin: bytes, on_stdout: Callable[[bytes], None], **_options: Any) -> Any:
        self.asked.append(json.loads(stdin.decode().splitlines()[1]))
        text = b""
        for message in self.answers.pop(0):
            if isinstance(message, Exception):
                self.give(text, on_stdout)
                raise message
            text += json.dumps(message).encode() + b"\n"
        self.give(text + b".\n", on_stdout)
        return SimpleNamespace(stdout=b"", stderr=b"", rc=0)

    @staticmethod
    def give(text: bytes, on_stdout: Callable[[bytes], None]) -> None:
        """Frames end anywhere."""
        for start in range(0, len(text), 7):
            on_stdout(text[start : start + 7])


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following.time, "sleep", lambda seconds: None)


def followed(*answers: Sequence[Any], seconds: float = 60) -> tuple[Following, Watch, Pod]:
    pod, watch = Pod(*answers), Watch()
    pod.name = "hub"
    found = Following(FlowerCLI(pod, "flower"), "5", watch)
    found.follow(seconds)
    return found, watch, pod


def steps(pod: Pod, name: str) -> list[Any]:
    return [request["steps"][0][name] for request in pod.asked]


def test_lines_come_once_over_lost_connections() -> None:
    found, watch, pod = followed(
        [report("running"), report("running", 0, "a", "\x1b[1mb"), Unreachable("hub: lost")],
        [report("running", 2, "c"), report("running", 3), Unreachable("hub: lost")],
        [report("finished:completed", 1, "b", "c", "d")],
    )
    assert watch.lines == list(found.lines) == ["a", "b", "c", "d"]
    assert steps(pod, "seen") == [0, 2, 3]
    assert [bool(one) for one in steps(pod, "others")] == [True, False, False], "only while it may be pending"
    assert watch.troubles == ["hub: lost"] * 2
    assert (found.run.status, found.trouble) == ("finished:completed", "")


WAITS = "\x1b[92mINFO \x1b[0m:      Waiting for nodes to connect: {} connected (minimum required: 5)."


def test_flowers_line_of_each_second_is_taken_once() -> None:
    lines = [WAITS.format(2), WAITS.format(2), WAITS.format(3), WAITS.format(3), "dot", "dot"]
    found, watch, _pod = followed([report("running", 0, *lines[:1]), report("running", 1, *lines[1:]), report("finished:stopped", 6, WAITS.format(3))])
    clean = [f"INFO :      Waiting for nodes to connect: {count} connected (minimum required: 5)." for count in (2, 3)]
    assert watch.lines == list(found.lines) == [*clean, "dot", "dot", clean[1]]


def test_a_damaged_report_is_read_again() -> None:
    class Damaging(Pod):
        def exec(self, *place: Any, on_stdout: Callable[[bytes], None], **options: Any) -> Any:
            ended = super().exec(*place, on_stdout=on_stdout, **options)
            if len(self.asked) == 1:
                on_stdout(b'{"at": 1, "left_\n')
            return ended

    pod, watch = Damaging([report("running", 0, "a")], [report("finished:completed", 1, "b")]), Watch()
    pod.name = "hub"
    assert Following(FlowerCLI(pod, "flower"), "5", watch).follow(60).finished
    assert watch.lines == ["a", "b"]
    assert "lost in transit" in watch.troubles[0]


def test_a_gap_is_read_again() -> None:
    _found, watch, pod = followed([report("running", 2, "c")], [report("finished:failed", 0, "a", "b", "c")])
    assert watch.lines == ["a", "b", "c"]
    assert steps(pod, "seen") == [0, 0]
    assert "lost in transit" in watch.troubles[0]


@pytest.mark.parametrize(
    ("seen", "at", "left_out", "lines", "new", "left", "then"),
    [
        (0, 0, 5, "xyz", "xyz", [5], 8),
        (3, 0, 5, "xyz", "xyz", [2], 8),
        (6, 0, 5, "xyz", "yz", [], 8),
        (9, 0, 5, "xyz", "", [], 9),
    ],
)
def test_lines_that_are_left_out(
    seen: int, at: int, left_out: int, lines: str, new: str, left: list[int], then: int
) -> None:
    known = [report("running", 0, *"k" * seen)]
    found, watch, _pod = followed([*known, report("finished:completed", at, *lines, left_out=left_out)])
    assert watch.lines[seen:] == list(new)
    assert (watch.left_out, found._seen) == (left, then)


def test_a_superlink_that_is_away_is_no_end() -> None:
    away = report("") | {"run": {"rc": "ConnectError: refused", "out": ""}}
    found, watch, _pod = followed([report("running"), away, away, report("finished:stopped")])
    assert len(watch.troubles) == 2
    assert "ConnectError" in watch.troubles[0]
    assert found.trouble == ""


def test_an_unknown_run_ends_it() -> None:
    out = {"success": False, "error-message": "[code: 3] Run ID 5 not found"}
    with pytest.raises(UnknownRun, match="no information about run 5"):
        followed([report("") | {"run": {"rc": 0, "out": out}}])


def test_time_ends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = itertools.count(0, 10)
    monkeypatch.setattr(following.time, "monotonic", lambda: next(clock))
    found, _watch, pod = followed(*([[report("running")]] * 9), seconds=60)
    assert found.run.status == "running"
    assert 1 < len(pod.asked) < 9
    assert all(0 <= seconds <= 60 for seconds in steps(pod, "seconds"))


def test_supernodes_are_counted() -> None:
    nodes = {"1": "online", "2": "offline", "3": "unregistered", "4": "online"}
    _found, watch, _pod = followed([report("running", nodes=nodes), report("finished:completed")])
    assert [(one.online, one.nodes, one.online_ids) for one in watch.reports] == [(2, 3, ("1", "4")), (None, 0, ())]


def test_a_program_that_fails_is_reported() -> None:
    class Failing(Pod):
        def exec(self, *place: Any, **options: Any) -> Any:
            super().exec(*place, **options)
            rc = 137 if len(self.asked) == 1 else 0
            return SimpleNamespace(stdout=b"", stderr=b"killed", rc=rc)

    pod, watch = Failing([], [report("finished:completed")]), Watch()
    pod.name = "hub"
    Following(FlowerCLI(pod, "flower"), "5", watch).follow(60)
    assert "ended with code 137: killed" in watch.troubles[0]


def test_what_was_submitted_before() -> None:
    runs = [
        {"run-id": "9", "status": "pending", "fab-id": "a/late", "pending-at": "2026-01-01 00:00:09Z"},
        {"run-id": "5", "status": "pending", "fab-id": "me/app", "pending-at": "2026-01-01 00:00:05Z"},
        {"run-id": "4", "status": "running", "fab-id": "a/b", "pending-at": "2026-01-01 00:00:04Z"},
        {"run-id": "3", "status": "running", "fab-id": None, "pending-at": "2026-01-01 00:00:03Z"},
    ]
    assert ahead(runs, "5") == (Run("3", "running"), Run("4", "running", app="a/b"))
    assert ahead([], "5") == ()


# ---- what is said ----------------------------------------------------------------------------------------------------


class Said:
    """A progress, its clock and its lines."""

    def __init__(self, **options: Any) -> None:
        self.lines: list[str] = []
        self.now = 0.0
        self.progress = Progress(self.lines.append, "hub", "5", clock=lambda: self.now, **options)

    def new(self) -> list[str]:
        """Lines since the last time, without the time of day."""
        found = [re.sub(r"^hub: \d\d:\d\d:\d\d ", "hub: ", line) for line in self.lines]
        self.lines.clear()
        return found


def news(status: str, online: int | None = 2, others: tuple[Run, ...] | None = None, elapsed: float = 0) -> RunReport:
    return RunReport(Run("5", status, elapsed=elapsed, app="me/app"), online, 3, others)


def test_log_lines_are_shown_as_they_are() -> None:
    said = Said()
    said.progress.log(["round 1: fine", "", "INFO :      ", "  indented"], 4)
    assert said.new() == ["hub | (4 lines omitted)", "hub | round 1: fine", "hub |   indented"]


def test_the_state_is_said_when_it_changes_and_at_a_steady_pace() -> None:
    said = Said(interval=30)
    said.progress.report(news("pending", others=(Run("4", "running", app="a/b"),)))
    assert said.new() == ["hub: run 5: pending, 2 of 3 SuperNodes online, behind run 4 of a/b (running)"]
    said.now = 10
    said.progress.report(news("pending"))
    assert said.progress.tick() == 20
    assert said.new() == []
    said.progress.report(news("running", elapsed=1))
    assert said.new() == ["hub: run 5: running for 0:00:01, 2 of 3 SuperNodes online"]
    said.now = 40
    assert said.progress.tick() == 30
    assert said.new() == ["hub: run 5: running for 0:00:31, 2 of 3 SuperNodes online"]
    said.progress.report(news("finished:completed"))
    assert said.new() == []


def test_an_app_that_waits_for_supernodes_is_told() -> None:
    said = Said()
    said.progress.report(news("running"))
    said.progress.log(["INFO :      Waiting for nodes to connect: 2 connected (minimum required: 5)."], 0)
    said.new()
    for now, elapsed in ((30, "0:00:30"), (60, "0:01:00")):
        said.now = now
        said.progress.log([], 0)  # the same, again
        said.progress.tick()
        assert said.new() == [f"hub: run 5: running for {elapsed}, 2 of 3 SuperNodes online, its app waits for 5 SuperNodes, and 2 can be reached"]
    said.progress.log(["INFO :      [ROUND 1/3]"], 0)
    said.now = 90
    said.progress.tick()
    assert "waits" not in said.new()[-1]


def test_others_are_named_once() -> None:
    said = Said()
    for _time in range(2):
        said.progress.report(news("running", None, (Run("4", "running", app="a/b"),)))
    assert said.new() == [
        "hub: run 5: running for 0:00:00, number of online SuperNodes not known",
        "hub: run 5: it shares the SuperNodes with run 4 of a/b (running)",
    ]


def test_trouble_is_said_once_and_again_at_the_pace_and_its_end() -> None:
    said = Said()
    said.progress.report(news("running"))
    said.new()
    said.progress.trouble("hub: refused")
    said.progress.trouble("hub: refused")
    assert said.new() == [
        "hub: run 5: has not been readable for 0:00:00, retrying (hub: refused); last seen: running for 0:00:00, 2 of 3 SuperNodes online"
    ]
    said.now = 30
    said.progress.tick()
    assert "has not been readable for 0:00:30" in said.new()[0]
    said.progress.report(news("running"))
    assert said.new() == ["hub: run 5: running for 0:00:00, 2 of 3 SuperNodes online"]


def test_quiet() -> None:
    said = Said(quiet=True)
    said.progress.begin(submitted=True)
    assert "-e flower_run_id=5" in said.new()[0]
    with said.progress.steady():
        said.progress.report(news("running"))
        said.progress.log(["line"], 0)
        said.progress.trouble("hub: refused")
    assert said.new() == []


@pytest.mark.parametrize("no_log", [False, True])
def test_a_task_without_log_says_nothing(monkeypatch: pytest.MonkeyPatch, no_log: bool) -> None:
    lines: list[str] = []
    monkeypatch.setattr(following.in_pod, "send", lambda *_place, **_more: pytest.fail("not asked"))

    class Finished(Following):
        def follow(self, seconds: float) -> Run:
            self.watch.log(["secret"], 0)
            return Run(self.run.run_id, "finished:completed")

    monkeypatch.setattr(run, "Following", Finished)
    action = run.ActionModule.__new__(run.ActionModule)
    action.params = {"interval": 30, "quiet": False, "wait_timeout": 1}
    action.inventory_host, action.say = "hub", lines.append
    action._task = SimpleNamespace(no_log=no_log)
    action._wait(FlowerCLI(Pod(), "flower"), "5", submitted=True)
    assert ("hub | secret" in lines) is not no_log
    assert "hub: run 5 was submitted" in lines[0]
