# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Steps of the demo: what is shown of a command while it runs and when it ends, and what it reports of itself."""

from __future__ import annotations

import importlib
import io
import json
import os
import shlex
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.unit.read import ROOT

#: Events of a playbook.
SITE = """\
{"activity": "Check the hub", "task": "Check the hub"}
{"activity": "Deploy the sites", "task": "federated.flower.supernode : Deploy the SuperNodes"}
{"message": "3 SuperNodes of 2 sites are online at 10.97.0.10:32341."}
"""
FAILED = '{"failed": "site-a: the API server does not answer\\nwhy it does not"}\n'


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    module = importlib.import_module("steps")
    monkeypatch.setattr(module, "POLL_INTERVAL", 0.02)
    monkeypatch.setattr(module, "time", SimpleNamespace(monotonic=lambda: 0.0))  # each step takes 0 s, on any machine
    return module


class Recorder:
    """A display that keeps what it is given."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.statuses: list[str] = []
        self.print = self.lines.append
        self.show_status = self.statuses.append


def runner_in(steps: ModuleType, folder: Path, **options: Any) -> Any:
    (folder / "log").touch()
    return steps.Runner(Recorder(), steps.Durations(folder / "cache/seconds.json"), folder / "log", dict(os.environ), folder, **options)


def command(events: str = "", then: str = "echo printed") -> list[str]:
    """A command that reports events, and does something else after that."""
    return ["sh", "-c", f'printf %s {shlex.quote(events)} >>"$FLOWER_PROGRESS"; {then}']


# ---- the display ------------------------------------------------------------------------------------------------


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_terminal_has_a_status_line_that_is_rewritten(steps: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "20")
    display = steps.Display(out := Terminal())
    display.show_status("short")
    display.show_status("longer than the terminal is wide")
    display.print("done")
    assert out.getvalue() == "\rshort\x1b[K\rlonger than the te…\x1b[K\r\x1b[Kdone\n"


def test_elsewhere_a_status_line_is_printed_now_and_then(steps: ModuleType) -> None:
    times = [0.0, 10.0, 24.0, 25.0, 25.0, 26.0, 49.0, 60.0]
    display = steps.Display(out := io.StringIO(), lambda: times.pop(0))
    for number in range(5):
        display.show_status(str(number))
    display.print("done")
    assert out.getvalue() == "... 2\ndone\n"


# ---- a step -----------------------------------------------------------------------------------------------------

#: A step waits until its status was seen.
WAIT = "while [ -e unseen ]; do sleep 0.01; done"


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ({"command": command(SITE, WAIT)}, "1/2 step: Deploy the sites, task 2, 0 s (usually 1 min 24 s)"),
        ({"command": command('{"activity": "Go build"}\n', WAIT), "estimate": "5 min"}, "1/2 step: Go build, 0 s (usually 5 min)"),
        (
            {"command": command(SITE, f"echo 'hub | round 1: 0.5'; {WAIT}"), "estimate": "5 min", "highlight": r"\| (round .*)"},
            "1/2 step: round 1: 0.5, 0 s (usually 5 min)",
        ),
    ],
)
def test_the_status_of_a_step(steps: ModuleType, tmp_path: Path, options: dict[str, Any], status: str) -> None:
    """What it does, how long it has taken, and how long it usually takes."""
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache/seconds.json").write_text('{"step": [84.2, 300, 9, 84.4, 20]}')
    (tmp_path / "unseen").touch()
    runner = runner_in(steps, tmp_path)

    def show_status(text: str) -> None:
        runner.display.statuses.append(text)
        if text == status:
            (tmp_path / "unseen").unlink(missing_ok=True)

    runner.display.show_status = show_status
    runner.run(steps.Step("step", **options), "1/2")
    assert status in runner.display.statuses


def test_the_last_durations_are_kept(steps: ModuleType, tmp_path: Path) -> None:
    """Those of a step with another estimate are kept apart."""
    path = tmp_path / "cache/seconds.json"
    quick, slow, other = steps.Step("clusters", [], "a moment"), steps.Step("clusters", [], "5 min"), steps.Step("other", [])
    durations = steps.Durations(path)
    assert [durations.estimate(step) for step in (quick, slow, other)] == ["a moment", "5 min", ""]
    for seconds in (1, 2, 3, 4, 5, 60.04):
        durations.record(quick, seconds)
    durations.record(other, 84)
    durations = steps.Durations(path)
    assert [durations.estimate(step) for step in (quick, slow, other)] == ["4 s", "5 min", "1 min 24 s"]
    assert json.loads(path.read_text()) == {"clusters (a moment)": [2, 3, 4, 5, 60.0], "other": [84]}


def test_a_step_that_succeeds(steps: ModuleType, tmp_path: Path) -> None:
    runner = runner_in(steps, tmp_path)
    progress = runner.run(steps.Step("federation", command(SITE)), "2/4")
    runner.run(steps.Step("report", command(SITE), shows_result=True), "3/4")
    assert runner.display.lines == ["2/4 federation: 0 s. 3 SuperNodes of 2 sites are online at 10.97.0.10:32341.", "3/4 report: 0 s"]
    assert (progress.message, progress.output) == (["3 SuperNodes of 2 sites are online at 10.97.0.10:32341."], ["printed"])
    assert "--- 2/4 federation: sh" in runner.log.read_text() and "\nprinted\n" in runner.log.read_text()
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["log"]


def test_verbose_shows_the_output(steps: ModuleType, tmp_path: Path) -> None:
    runner = runner_in(steps, tmp_path, verbose=True)
    runner.run(steps.Step("removal", command()), "1/1")
    assert (runner.display.lines, runner.display.statuses) == (["printed", "1/1 removal: 0 s"], [])
    assert "printed" in runner.log.read_text()


@pytest.mark.parametrize(
    ("events", "then", "shown"),
    [
        (FAILED, "exit 2", ["    site-a: the API server does not answer\n    why it does not"]),
        ("", "printf 'first\\n\\nERROR! the last line\\n'; exit 4", ["    first", "    ERROR! the last line"]),
    ],
)
def test_a_step_that_fails(steps: ModuleType, tmp_path: Path, events: str, then: str, shown: list[str]) -> None:
    runner, step = runner_in(steps, tmp_path), steps.Step("federation", command(events, then))
    with pytest.raises(steps.StepFailed) as error:
        runner.run(step, "1/2")
    assert error.value.step is step
    assert runner.display.lines == ["1/2 federation: failed after 0 s", *shown]
    assert not (tmp_path / "cache").exists(), "its duration says nothing of the next one"


# ---- events -----------------------------------------------------------------------------------------------------


def test_events_of_a_playbook(steps: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLOWER_PROGRESS", str(tmp_path / "progress"))
    monkeypatch.syspath_prepend(str(ROOT / "tools/demo_callback"))
    callback = importlib.import_module("demo_progress").CallbackModule()

    def result(action: str, **data: Any) -> Any:
        return SimpleNamespace(task=SimpleNamespace(action=action), host=SimpleNamespace(get_name=lambda: "hub"), result=data)

    callback.v2_playbook_on_play_start(SimpleNamespace(get_name=lambda: "Deploy the hub"))
    callback.v2_playbook_on_task_start(SimpleNamespace(get_name=lambda: "Apply"), False)
    callback.v2_runner_on_ok(result("federated.flower.apply", msg="applied"))
    callback.v2_runner_on_ok(result("ansible.builtin.debug", msg="3 are online"))
    callback.v2_runner_on_ok(result("federated.flower.node_info", sites={"site-b": {"gpus": {"nvidia.com/gpu": 4}}}))
    callback.v2_runner_on_ok(result("federated.flower.supernode_info", sites={"site-b": {"reachable": True}}))
    callback.v2_runner_on_failed(result("ansible.builtin.command", msg="is of no importance"), ignore_errors=True)
    callback.v2_runner_on_failed(result("federated.flower.apply", msg="hub: refused"))
    callback.v2_runner_on_unreachable(result("federated.flower.apply", msg="no connection"))
    progress = steps.Progress()
    for line in (tmp_path / "progress").read_text().splitlines():
        progress.read_event(line)
    assert progress == steps.Progress(
        "Deploy the hub", 1, ["3 are online"], ["hub: refused", "hub: no connection"], {"site-b": {"gpus": {"nvidia.com/gpu": 4}}}
    )


def test_events_of_the_fleet(steps: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests/fleet"))
    from flower_fleet import cli, console

    monkeypatch.setenv("FLOWER_PROGRESS", str(tmp_path / "progress"))
    monkeypatch.setenv("FLOWER_FLEET_KUBECONFIG", str(tmp_path / "missing"))
    monkeypatch.setattr(cli, "_leave", sys.exit)
    monkeypatch.setattr(cli.signal, "signal", lambda *_: None)
    with pytest.raises(SystemExit):
        cli.main(["up"])
    progress = steps.Progress()
    progress.read_event((tmp_path / "progress").read_text())
    assert len(progress.failures) == 1 and progress.failures[0] in capsys.readouterr().err
    shown = console.Console()
    with shown.phase("Go build of kubernetes") as phase, shown.phase("image flower"):
        phase.note = "640 packages"
        looks = iter([False])
        shown._stop = SimpleNamespace(wait=lambda seconds: next(looks, True))
        shown._beat()
    progress.read_event((tmp_path / "progress").read_text().splitlines()[-1])
    assert progress.activity == "Go build of kubernetes, 640 packages; image flower"
