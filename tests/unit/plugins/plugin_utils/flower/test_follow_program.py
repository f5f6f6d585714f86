# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The program in the pod that follows a run: a stand-in for Flower's command line prints, the processes are real."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.programs import follow_program
from ansible_collections.federated.flower.plugins.plugin_utils.programs.follow_program import Follower, LogLines

RUN = "13164552291825540154"
HEADER = "\x1b[34mUsing SuperLink: hub (127.0.0.1:8000)\n\x1b[92mINFO \x1b[0m:      Starting logstream for run_id `1`\n"


def test_lines_are_counted_after_the_header() -> None:
    lines = LogLines(1)
    assert lines.feed(HEADER.encode() + b"one\ntw") == []
    assert lines.feed(b"o\n\nthree \xc3") == ["two", ""]
    assert lines.feed(b"\xa9\nUsing SuperLink: says the app\n") == ["three \u00e9", "Using SuperLink: says the app"]
    assert lines.count == 5


class Flower:
    """Prints what a SuperLink would have, from a file that a test writes."""

    def __init__(self, folder: Path) -> None:
        self.log, self.state, self.calls = folder / "log", folder / "state", folder / "calls"
        self.log.write_text("")
        self.calls.write_text("")
        self.door = socket.create_server(("127.0.0.1", 0))
        self.port = self.door.getsockname()[1]
        self.set("running")

    def set(self, status: str) -> None:
        """Change the state of the run."""
        (self.state.parent / "new").write_text(status)
        (self.state.parent / "new").rename(self.state)

    def __call__(self, arguments: list[str], standalone_mode: bool) -> None:
        with self.calls.open("a") as stream:
            stream.write(" ".join(arguments) + "\n")
        status = self.state.read_text()
        if arguments[0] == "log":
            print(HEADER, end="")
            if arguments[-1] == "--show":
                print(self.log.read_text())
                return
            shown = 0
            while not self.state.read_text().startswith("finished"):
                text = self.log.read_text()
                print(text[shown:], end="")
                shown = len(text)
                if self.state.read_text() == "away":
                    raise RuntimeError("the SuperLink went away")
                time.sleep(0.02)
            return
        if status == "away":
            raise RuntimeError("no SuperLink")
        entry = {"run-id": RUN, "status": status, "pending-at": "2026-01-01 00:00:01Z"}
        if arguments[0] == "supernode":
            answer = {"nodes": [{"status": "online"}, {"status": "offline"}]}
        elif "--run-id" in arguments:
            answer = {"runs": [entry]}
        else:
            answer = {
                "runs": [entry, {"run-id": "7", "status": "running"}, {"run-id": "8", "status": "finished:failed"}]
            }
        print(json.dumps({"success": True, **answer}), file=sys.__stdout__)


@pytest.fixture
def flower(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Flower]:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    made = Flower(tmp_path)
    yield made
    made.door.close()


Messages = list[dict[str, Any]]


def asked(flower: Flower, **more: float) -> dict[str, Any]:
    """A request."""
    start = {"seconds": 0, "seen": 0, "beat": 0.1, "token": "t", "others": ["list", "--limit", "7"]}
    return {"run_id": RUN, "connection": "hub", "port": flower.port, **start, **more}


def follow(flower: Flower, react: Callable[[Messages], Any], seen: int = 0, seconds: float = 120) -> Messages:
    """Follow, and react to each message that says something; returns these messages."""
    messages: Messages = []

    def emit(message: dict[str, Any]) -> None:
        if message:
            messages.append(message)
            react(messages)

    Follower(flower, asked(flower, seconds=seconds, seen=seen), emit).follow()
    return messages


def wait(_messages: Messages) -> None:
    """Do nothing."""


def lines(messages: Messages) -> list[str]:
    """The log, whose pieces must fit together."""
    found: list[str] = []
    for message in messages:
        if "at" in message:
            assert message["at"] == len(found)
            found += message["lines"]
    return found


def looks(messages: Messages) -> Messages:
    return [message for message in messages if "run" in message]


def test_a_run_is_followed_to_its_end(flower: Flower) -> None:
    flower.log.write_text("one\ntwo\nthr")

    def react(messages: Messages) -> None:
        if lines(messages) == ["one", "two"] and looks(messages):
            flower.log.write_text("one\ntwo\nthree\nlast")  # the stream need not show the end
            flower.set("finished:completed")

    messages = follow(flower, react)
    assert lines(messages) == ["one", "two", "three", "last"]
    first, last = looks(messages)[0], looks(messages)[-1]
    assert last["run"]["out"]["runs"][0]["status"] == "finished:completed"
    assert "run" in messages[-1], "the end comes after the log"
    assert first["nodes"] == ["online", "offline"]
    assert [run["run-id"] for run in first["runs"]] == [RUN, "7"]
    assert "runs" not in last, "others are read once"
    assert not list(flower.log.parent.glob("follow-*"))


def test_it_continues_after_what_is_known(flower: Flower) -> None:
    flower.log.write_text("one\ntwo\nthree\n")
    flower.set("finished:failed")
    messages = follow(flower, wait, seen=2)
    assert messages[0] == {"at": 2, "left_out": 0, "lines": ["three", ""]}


def test_the_log_is_read_again_when_it_ends_early(flower: Flower) -> None:
    flower.log.write_text("one\n")

    def away(look: dict[str, Any]) -> bool:
        return bool(look["run"]["rc"]) and "no SuperLink" in look["run"]["out"]

    def react(messages: Messages) -> None:
        found = lines(messages)
        if found == ["one"] and flower.state.read_text() == "running":
            flower.set("away")
        if found == ["one"] and any(map(away, looks(messages))):
            flower.log.write_text("one\ntwo\n")
            flower.set("running")
        if "two" in found:
            flower.set("finished:completed")

    messages = follow(flower, react)
    assert lines(messages) == ["one", "two", ""]
    assert flower.calls.read_text().count("--stream") < 6, "not as fast as it can"


def quiet_follower(flower: Flower, emit: Callable[[dict[str, Any]], None], seen: int = 0) -> Follower:
    request = asked(flower, seconds=1, seen=seen, beat=1)
    return Follower(flower, request, emit)


def test_a_superlink_that_stops_need_not_wait_for_the_stream(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    """It takes no connections any more, and would wait until it is killed for the end of the log, which it serves."""
    monkeypatch.setattr(follow_program, "_KNOCK", 0.05)
    monkeypatch.setattr(follow_program, "_AGAIN", 0.05)
    flower.log.write_text("one\n")

    def react(messages: Messages) -> None:
        if messages[-1].get("at") == 0:
            flower.door.shutdown(socket.SHUT_RDWR)  # closed here, it would be open in the forked processes
        if flower.calls.read_text().count("--stream") > 1:
            flower.log.write_text("one\ntwo\n")
            flower.set("finished:completed")

    messages = follow(flower, react)
    assert lines(messages) == ["one", "two", ""]
    assert looks(messages)[-1]["run"]["out"]["runs"][0]["status"] == "finished:completed"


def test_a_flood_is_cut(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_program, "MOST", 3)
    messages: list[dict[str, Any]] = []
    follower = quiet_follower(flower, messages.append, seen=4)
    follower.gather(["early"])
    follower.gather([*map(str, range(10)), "x" * 5000])
    follower.flush()
    follower.flush()
    follower.gather(["next"])
    follower.flush()
    assert [(message["at"], message["left_out"]) for message in messages] == [(4, 9), (16, 0)]
    assert [len(line) for line in messages[0]["lines"]] == [1, 1, 4000]


def test_a_long_log_is_cut_however_it_comes(flower: Flower) -> None:
    flower.log.write_text("".join(f"line {number} {'x' * 90}\n" for number in range(20000)))
    flower.set("finished:completed")
    messages = follow(flower, wait)
    shown = [message for message in messages if "at" in message]
    assert sum(len(message["lines"]) for message in shown) < 10000
    assert shown[-1]["lines"][-2].startswith("line 19999 ")
    assert shown[-1]["at"] + shown[-1]["left_out"] + len(shown[-1]["lines"]) == 20001


def test_a_line_without_end_needs_no_memory() -> None:
    lines = LogLines(0)
    for number in range(1000):
        assert lines.feed(b"\r%03d%%" % number + b"#" * 1000) == []
        assert len(lines._rest) < 20000
    (line,) = lines.feed(b"\ndone")
    assert line.endswith("999%" + "#" * 1000), "the last state of a progress bar"
    assert len(lines.feed(b"y" * 10**6 + b"\n")[0]) == follow_program._KEPT


def test_a_slow_look_is_not_waited_for_busily(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    selects = []
    select = follow_program.select.select
    monkeypatch.setattr(follow_program.select, "select", lambda *args: (selects.append(args[3]), select(*args))[1])
    slow = flower.__call__

    def app(arguments: list[str], standalone_mode: bool) -> None:
        time.sleep(0 if arguments[0] == "log" else 0.5)
        slow(arguments, standalone_mode)

    request = asked(flower)
    Follower(app, request, lambda _message: None).follow()
    assert len(selects) < 10


def test_all_runs_are_listed_now_and_then(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    flower.set("pending")

    def react(messages: Messages) -> None:
        if len(looks(messages)) == 4:
            flower.set("finished:stopped")

    found = looks(follow(flower, react))
    assert ["runs" in look for look in found] == [True] + [False] * (len(found) - 1)
    monkeypatch.setattr(follow_program, "_OTHERS", 0)
    flower.set("pending")
    assert all("runs" in look for look in looks(follow(flower, react))[:4])
    assert "list --limit 7 hub --format json" in flower.calls.read_text().splitlines()


def test_few_logs_are_streamed_at_once(flower: Flower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each stream holds a thread of the SuperLink."""
    monkeypatch.setattr(follow_program, "STREAMS", 1)
    monkeypatch.setattr(follow_program, "_AGAIN", 0.1)
    (tmp_path / "follow-other").write_text("other")
    flower.log.write_text("one\ntw")
    left = ["one\ntwo\n", "one\ntwo\n\nfour\nfi", "one\ntwo\n\nfour\nfive"]

    def react(messages: Messages) -> None:
        complete = flower.log.read_text().split("\n")[:-1]
        if left and lines(messages) == complete:
            flower.log.write_text(left.pop(0))
        elif not left:
            flower.set("finished:completed")

    messages = follow(flower, react)
    assert lines(messages) == ["one", "two", "", "four", "five"]
    assert "--stream" not in flower.calls.read_text()
    old = time.time() - 400
    os.utime(tmp_path / "follow-other", (old, old))
    assert not quiet_follower(flower, wait).is_crowded()


def test_a_superlink_that_hangs_is_reported(flower: Flower, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follow_program, "_LOOK", 1)

    def hanging(arguments: list[str], standalone_mode: bool) -> None:
        time.sleep(60 if "list" in arguments else 0)

    messages: Messages = []
    request = asked(flower, beat=1)
    Follower(hanging, request, messages.append).follow()
    assert looks(messages) == [{"run": {"rc": 1, "out": "it ended without an answer"}}]


def test_a_program_that_nobody_reads_ends(flower: Flower, tmp_path: Path) -> None:
    """The pipe is full and open, as some container runtimes leave it when a connection is lost."""
    source = Path(follow_program.__file__).read_text()
    code = (
        "import os, sys, tempfile; tempfile.tempdir = sys.argv[1]\n"
        "def app(arguments, standalone_mode):\n"
        "    while arguments[0] == 'log': print('x' * 2000)\n"
        "request = dict(run_id='1', connection='hub', port=sys.argv[2], seconds=600, seen=0, beat=1, token='t', others=['list'])\n"
        "try: Follower(app, request, Output(1).emit).follow()\n"
        "except Unread: os._exit(7)\n"
    )
    program = tmp_path / "program.py"
    program.write_text(source.rpartition("if __name__")[0] + code)
    command = [sys.executable, str(program), str(tmp_path), str(flower.port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.wait(60) == 7
    assert not list(tmp_path.glob("follow-*")), "it has cleaned up"


def test_a_later_program_takes_over(flower: Flower, tmp_path: Path) -> None:
    started = time.monotonic()
    follow(flower, lambda _messages: (tmp_path / "follow-t").write_text("other"))
    assert time.monotonic() - started < 60
    assert (tmp_path / "follow-t").read_text() == "other"


def test_the_time_ends_it_after_one_look(flower: Flower) -> None:
    assert [look["run"]["rc"] for look in looks(follow(flower, wait, seconds=0))] == [0]
