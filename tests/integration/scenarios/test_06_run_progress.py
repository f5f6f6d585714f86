# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What a run shows while it is waited for; runs that are interrupted, followed again, listed and stopped."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.tests.integration.scenarios.conftest import APP, Federation, Run, kill_forks

ROOT = Path(__file__).parents[3]
SILENCE = 30 + 2  # seconds; the playbook promises 30, and its lines pass through a few processes
DELAY = 8  # seconds from an app's print to the terminal: the log is read every two seconds, and now and then by a new program
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Playbook:
    """A playbook whose output is read as it comes, through a pipe, as a controller does."""

    def __init__(self, fed: Federation, log: Path, name: str, **variables: Any) -> None:
        command = ["ansible-playbook", "-i", str(fed.inventory()), str(ROOT / "playbooks" / f"{name}.yml")]
        self.lines: list[tuple[float, str]] = []
        self.log = log
        self.process = subprocess.Popen(
            [*command, "-e", json.dumps(variables)],
            env={**fed.environment(log.with_suffix(".jsonl")), "ANSIBLE_LOG_PATH": str(log)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        self.reader = threading.Thread(target=self._read)
        self.reader.start()
        fed.started.append(self)

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.append((time.time(), line.rstrip("\n")))

    @property
    def text(self) -> str:
        """The output so far."""
        return "\n".join(line for _at, line in self.lines)

    def wait_for(self, pattern: str, seconds: float = 120) -> re.Match[str]:
        """Wait until something is shown."""
        deadline = time.monotonic() + seconds
        while not (found := re.search(pattern, self.text)):
            assert self.process.poll() is None or re.search(pattern, self.text), self.text
            assert time.monotonic() < deadline, self.text
            time.sleep(0.2)
        return found

    def end(self, seconds: float = 300) -> int:
        """Wait for its end."""
        try:
            return self.process.wait(seconds)
        finally:
            self.crash()
            self.reader.join()

    def running(self) -> bool:
        """Whether it has not ended."""
        return self.process.poll() is None

    def crash(self) -> None:
        """End it with its forks; no matter if it is over."""
        kill_forks(self.process)
        self.process.kill()
        self.process.wait()


def runs(fed: Federation, *arguments: str, rc: int = 0) -> Run:
    """Run runs.yml, which leaves the federation as it is."""
    words = [word for variable in arguments for word in (("-e", variable) if "=" in variable else (variable,))]
    run = fed.start("runs", *words)()
    assert run.rc == rc, run.details()
    return run


Start = Callable[..., Playbook]


@pytest.fixture
def start(fed: Federation, tmp_path: Path) -> Iterator[Start]:
    """Starts a playbook on the federation; what is left of it at the end of the test is killed."""
    started: list[Playbook] = []

    def begin(name: str = "run", **variables: Any) -> Playbook:
        started.append(Playbook(fed, tmp_path / f"{len(started)}-{name}.log", name, **variables))
        return started[-1]

    yield begin
    for one in started:
        if one.process.poll() is None:
            os.killpg(one.process.pid, signal.SIGKILL)
        one.end(30)


@pytest.fixture
def timed(tmp_path: Path) -> Path:
    """The example app, which also says when it prints the report of a round."""
    app = Path(shutil.copytree(APP, tmp_path / "timed", ignore=shutil.ignore_patterns("__pycache__")))
    server = app / "quickstart" / "server_app.py"
    text = server.read_text()
    assert 'f"round {self.done + server_round}: accuracy' in text
    text = text.replace('f"round {self.done + server_round}: accuracy', 'f"at {time.time():.2f} round {self.done + server_round}: accuracy')
    server.write_text(text.replace("import json\n", "import json\nimport time\n"))
    return app


def test_a_run_shows_what_it_does(start: Start, timed: Path, fed: Federation) -> None:
    """Lines come soon, there is no long silence, a log file has the same text, and another run says that it is not alone."""
    run = start(flower_app=str(timed), flower_run_config={"num-server-rounds": 2, "sleep": 35.0})
    run_id = run.wait_for(r"hub: run (\d+) was submitted\..*-e flower_run_id=\1")[1]
    run.wait_for(rf"hub: \d\d:\d\d:\d\d run {run_id}: running for ")
    listed = runs(fed, "flower_runs_status=active")
    assert any(line.startswith(run_id) and "federated-flower/quickstart" in line for line in listed.table), listed.table
    other = start(flower_app=str(APP), flower_run_config={"num-server-rounds": 1})
    other.wait_for(rf"(behind|shares the SuperNodes with) .*run {run_id} of federated-flower/quickstart \(running\)")
    assert run.end() == 0, run.text
    assert other.end() == 0, other.text

    printed = [(at, re.search(r"^hub \| at ([0-9.]+) round \d", line)) for at, line in run.lines]
    delays = [at - float(found[1]) for at, found in printed if found]
    assert len(delays) == 2, run.text
    assert max(delays) <= DELAY, delays
    # From the first line about the run to the last line of the output.
    moments = [at for at, _line in run.lines]
    first = next(at for at, line in run.lines if "was submitted" in line)
    pauses = [after - before for before, after in zip(moments, moments[1:]) if before >= first]
    assert max(pauses) <= SILENCE, sorted(pauses)[-3:]
    states = re.findall(rf"hub: \d\d:\d\d:\d\d run {run_id}: running for [0-9:]+, 3 of \d+ SuperNodes online", run.text)
    assert len(states) >= 3, run.text

    assert not CONTROL.search(run.text)
    log = run.log.read_text()
    assert not CONTROL.search(log)
    for _at, line in run.lines:
        if line.startswith(("hub |", f"hub: run {run_id}")) or f" run {run_id}: " in line:
            assert line in log, line


def test_a_quiet_run(start: Start) -> None:
    run = start(flower_app=str(APP), flower_run_config={"num-server-rounds": 1}, flower_run_quiet=True)
    assert run.end() == 0, run.text
    assert "hub: run " in run.text
    assert "hub |" not in run.text
    assert "SuperNodes online" not in run.text


def test_an_interrupted_run_continues_and_is_stopped_by_its_id(start: Start, fed: Federation) -> None:
    run = start(flower_app=str(APP), flower_run_config={"num-server-rounds": 20, "sleep": 10.0})
    run_id = run.wait_for(r"hub: run (\d+) was submitted")[1]
    run.wait_for(r"hub \| round 1: accuracy")
    run.process.send_signal(signal.SIGINT)
    assert run.end(30) != 0
    assert fed.app_runs()[run_id] == "running"

    again = start(flower_run_id=run_id)
    again.wait_for(r"hub \| round 1: accuracy")  # the log from its start
    checked = runs(fed, "--check", "flower_runs=stop", f"flower_run_id={run_id}")
    assert f"would stop run {run_id}" in checked.messages()
    assert fed.app_runs()[run_id] == "running"
    stopped = runs(fed, "flower_runs=stop", f"flower_run_id={run_id}")
    assert f"stopped run {run_id}" in stopped.messages()
    assert stopped.changed["hub"] == 1
    assert again.end(60) == 2
    assert f"run {run_id} of federated-flower/quickstart stopped after" in again.text

    over = runs(fed, "flower_runs=stop", f"flower_run_id={run_id}")
    assert f"run {run_id} has already ended (stopped)" in over.messages()
    assert over.changed["hub"] == 0
    shown = runs(fed, "flower_runs=show", f"flower_run_id={run_id}").table
    assert "status        stopped" in shown
    assert any(line.startswith("last metrics  round ") and "accuracy" in line for line in shown), shown
    logs = runs(fed, "flower_runs=logs", f"flower_run_id={run_id}").table
    assert any(line.startswith("round 1: accuracy") for line in logs), logs
    # A run that is over is shown at once.
    begun = time.monotonic()
    ended = start(flower_run_id=run_id)
    assert ended.end(60) == 2
    assert "hub | round 1: accuracy" in ended.text
    assert time.monotonic() - begun < 30


def test_runs_that_are_not_there_and_words_that_are_none(fed: Federation) -> None:
    refused = runs(fed, "flower_runs=stop", "flower_run_id=123", rc=2)
    assert "has no run 123 (run_ids); no run was stopped" in refused.messages(failed=True)
    assert "needs the ids of the runs" in runs(fed, "flower_runs=logs", rc=2).messages(failed=True)
    assert "remove is not one of list, show, logs, stop" in runs(fed, "flower_runs=remove", rc=2).messages(failed=True)
    wrong = runs(fed, "flower_runs_since=yesterday", "flower_runs_limit=-1", rc=2).messages(failed=True)
    assert "since: 'yesterday' is neither a time" in wrong
    assert "limit: -1 is negative" in wrong


def test_the_result_is_published(fed: Federation) -> None:
    config = json.dumps({"flower_app": str(APP), "flower_run_config": {"num-server-rounds": 1}})
    run = fed.start("run", "-e", config)()
    assert run.rc == 0, run.details()
    published = next(one["result"]["ansible_stats"] for one in run.results if one["result"].get("ansible_stats"))
    found = published["data"]["flower_run_result"]
    assert found["outcome"] == "completed"
    assert found["run_id"].isdigit()
    assert found["metrics"]["round"] == 1
    assert 0 < found["metrics"]["evaluate"]["accuracy"] < 1
