# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program in the SuperLink's pod: a stand-in for Flower's command line prints what a SuperLink would have."""

from __future__ import annotations

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.programs import pod_program

RUN = "13164552291825540154"
HEADER = "\x1b[34mUsing SuperLink: hub (127.0.0.1:8000)\n\x1b[92mINFO \x1b[0m:      Printing logstream for run_id `1`\n"


class Flower:
    """A SuperLink and its command line."""

    def __init__(self) -> None:
        self.status, self.log, self.away = "running", "", False
        self.calls: list[str] = []

    def __call__(self, arguments: list[str], standalone_mode: bool) -> int:
        self.calls.append(" ".join(arguments))
        if self.away:
            raise RuntimeError("no SuperLink")
        if arguments[0] == "log":
            assert arguments[1:] == [RUN, "hub", "--show"]
            if not self.log and not self.status.startswith("finished"):
                time.sleep(60)
            os.write(1, (HEADER + self.log + "\n").encode())
            return 0
        entry = {"run-id": RUN, "status": self.status, "pending-at": "2026-01-01 00:00:01Z"}
        if arguments[0] == "supernode":
            answer: dict[str, Any] = {"nodes": [{"node-id": 1, "status": "online"}, {"node-id": 2, "status": "offline"}]}
        elif "--run-id" in arguments:
            answer = {"runs": [entry]}
        else:
            answer = {"runs": [entry, {"run-id": "7", "status": "running"}, {"run-id": "8", "status": "finished:failed"}]}
        os.write(1, json.dumps({"success": True, **answer}).encode())
        return 0


@pytest.fixture
def flower() -> Iterator[Flower]:
    before = signal.signal(signal.SIGALRM, pod_program.give_up)
    yield Flower()
    signal.signal(signal.SIGALRM, before)


OTHERS = ("list", "--limit", "7")


def polled(
    flower: Flower, *, seen: int = 0, seconds: float = 60, lines: int = 1000, others: tuple[str, ...] = OTHERS
) -> Iterator[dict[str, Any]]:
    step = {"poll": RUN, "connection": "hub", "seconds": seconds, "pause": 0, "seen": seen, "lines": lines, "others": others}
    return pod_program.poll(flower, step)


def test_a_run_is_polled_to_its_end(flower: Flower) -> None:
    flower.log = "one\ntw"
    polls = polled(flower)
    first = next(polls)
    assert (first["at"], first["left_out"], first["lines"]) == (0, 0, ["one"]), "a line that is not complete has time"
    assert first["run"]["out"]["runs"][0]["status"] == "running"
    assert first["nodes"] == {"1": "online", "2": "offline"}
    assert [run["run-id"] for run in first["runs"]] == [RUN, "7"]
    flower.log = "one\ntwo\n\nUsing SuperLink: says the app\n\u00e9"
    second = next(polls)
    assert (second["at"], second["lines"]) == (1, ["two", "", "Using SuperLink: says the app"])
    assert "runs" not in second, "others are listed once"
    flower.status = "finished:completed"
    last = next(polls)
    assert (last["at"], last["lines"]) == (4, ["\u00e9"])
    assert list(polls) == []


def test_other_runs_are_listed_now_and_then_while_it_is_pending(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    flower.status = "pending"
    polls = polled(flower)
    assert ["runs" in next(polls) for _time in range(3)] == [True, False, False]
    monkeypatch.setattr(pod_program, "OTHERS_PAUSE", 0)
    polls = polled(flower)
    assert all("runs" in next(polls) for _time in range(3))
    assert "list --limit 7 hub --format json" in flower.calls
    assert not any(call.startswith("log") for call in flower.calls), "it would wait for the first line"
    assert "runs" not in next(polled(flower, others=()))


def test_it_goes_on_after_what_is_known_and_a_flood_is_cut(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    flower.log = "".join(f"{number}\n" for number in range(10))
    assert next(polled(flower, seen=8))["lines"] == ["8", "9"]
    cut = next(polled(flower, seen=1, lines=3))
    assert (cut["at"], cut["left_out"], cut["lines"]) == (1, 6, ["7", "8", "9"])
    monkeypatch.setattr(pod_program, "MOST_CHARACTERS", 5)
    cut = next(polled(flower))
    assert (cut["left_out"], cut["lines"]) == (5, list("56789"))


def test_long_lines(flower: Flower) -> None:
    shown = "".join(f"{number}%" + "#" * 100 + "\r" for number in range(1000))
    flower.log = f"{'x' * 5000}\n{shown}\nshort\rdone\n"
    assert next(polled(flower))["lines"] == ["x" * 4000, "999%" + "#" * 100, "short\rdone"]


def test_a_log_without_lines_is_not_waited_for(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pod_program, "FIRST_LINE_SECONDS", 1)
    assert next(polled(flower))["lines"] == []
    assert signal.alarm(0) == 0


def test_a_superlink_that_is_away_is_reported(flower: Flower) -> None:
    flower.away = True
    found = next(polled(flower))
    assert found == {"run": {"rc": "RuntimeError: no SuperLink", "out": ""}, "at": 0, "left_out": 0, "lines": []}


def stand_in(folder: Path, text: str) -> None:
    """A package flwr whose command line is this."""
    package = folder / "flwr" / "cli"
    package.mkdir(parents=True)
    (package / "app.py").write_text(text)


def test_files_and_variables_of_a_request(tmp_path: Path) -> None:
    app = """def app(arguments, standalone_mode):
    import json, os
    print(json.dumps([arguments, open(os.path.join(os.environ["FLWR_HOME"], "config.toml")).read(), os.environ["FLWR_HOME"], "\u00e9"], ensure_ascii=False))
"""
    stand_in(tmp_path, app)
    request = {"files": {"config.toml": "x = 1"}, "environment": {"FLWR_HOME": "@FOLDER@"}, "steps": [{"command": ["list", "@FOLDER@/app"]}]}
    done = subprocess.run(
        [sys.executable, str(Path(pod_program.__file__))], input=json.dumps(request) + "\n", capture_output=True, text=True, check=True,
        env={"PYTHONPATH": str(tmp_path), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
    )  # fmt: skip
    arguments, config, folder, text = json.loads(done.stdout)["out"]
    assert arguments == ["list", f"{folder}/app"] and config == "x = 1" and text == "\u00e9"
    assert not Path(folder).exists()


def test_a_program_that_nobody_reads_ends(tmp_path: Path) -> None:
    """The pipe is full and open, as some container runtimes leave it when a connection is lost."""
    stand_in(tmp_path, "app = None\n")
    source = Path(pod_program.__file__).read_text()
    assert 'step["seconds"] + 120' in source
    flood = "def poll(app, step):\n    while True: yield {'lines': ['x' * 2000]}\n\n\n"
    source = source.replace('step["seconds"] + 120', 'step["seconds"]').replace("if __name__", f"{flood}if __name__")
    (tmp_path / "program.py").write_text(source)
    command = [sys.executable, str(tmp_path / "program.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": str(tmp_path)}) as process:
        process.stdin.write(json.dumps({"steps": [{"poll": RUN, "seconds": 1}]}) + "\n")
        process.stdin.flush()
        assert process.wait(60) == 1


def test_what_the_same_token_asks_for_is_done_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = []

    def app(arguments: list[str], standalone_mode: bool) -> int:
        done.append(arguments)
        return len(done)

    first = pod_program.run_once(app, ["run"], "token")
    assert pod_program.run_once(app, ["run"], "token") == first
    assert pod_program.run_once(app, ["run"], "other") != first
    assert len(done) == 2


def test_code_of_an_app_is_found_but_not_executed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "inert_probe"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('executed')\n")
    (package / "server.py").write_text("raise RuntimeError('executed')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    with pytest.raises(RuntimeError, match="executed"):
        importlib.util.find_spec("inert_probe.server")
    monkeypatch.setattr(sys, "meta_path", [pod_program.InertApps(str(tmp_path)), *sys.meta_path])
    try:
        assert importlib.util.find_spec("inert_probe.server").origin == str(package / "server.py")
        assert importlib.util.find_spec("inert_probe.nothing") is None
    finally:
        sys.modules.pop("inert_probe", None)
