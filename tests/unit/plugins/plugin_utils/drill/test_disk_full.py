# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The SuperLink's process cannot write while the limit is held, and can when it is released."""

from __future__ import annotations

import contextlib
import io
import json
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.programs import disk_program as program

_WRITE = """\
import sqlite3, sys, time
database = sqlite3.connect(sys.argv[-1], isolation_level=None)
database.execute("CREATE TABLE t (x)")
print("ready", flush=True)
for line in sys.stdin:
    try:
        database.execute("INSERT INTO t VALUES (randomblob(9000))")
        print("written", flush=True)
    except sqlite3.OperationalError as error:
        print(error, flush=True)
"""


@pytest.fixture
def superlink(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[str]]:
    """A process that looks like a SuperLink and writes into a database of SQLite."""
    script = tmp_path / "flower-superlink-of-this-test"
    script.write_text(_WRITE)
    monkeypatch.setattr(program, "NAME", script.name.encode())
    command = [sys.executable, str(script), "--database", str(tmp_path / "state.db")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline().strip() == "ready"
        yield process
        process.kill()


def write(process: subprocess.Popen[str]) -> str:
    assert process.stdin
    assert process.stdout
    process.stdin.write("x\n")
    process.stdin.flush()
    return process.stdout.readline().strip()


def test_it_cannot_write_while_it_is_held(superlink: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert write(superlink) == "written"
    seen: list[str] = []
    monkeypatch.setattr(program.time, "sleep", lambda seconds: seen.append(write(superlink)))
    out, begun = io.StringIO(), time.monotonic()
    with contextlib.redirect_stdout(out):
        monkeypatch.setattr(program.time, "monotonic", iter([begun, begun, begun, begun + 5, *[begun + 11] * 9]).__next__)
        program.hold(10)
    states = [json.loads(line)["state"] for line in out.getvalue().splitlines()]
    assert (states[0], states[-1]) == ("full", "released")
    assert "waiting" in states
    assert seen
    assert all("disk I/O error" in words or "full" in words for words in seen), seen
    assert write(superlink) == "written"
    soft, hard = resource.prlimit(superlink.pid, resource.RLIMIT_FSIZE)
    assert soft == hard


def test_release_after_an_interruption(superlink: subprocess.Popen[str]) -> None:
    program.limit(superlink.pid, 0)
    assert write(superlink) != "written"
    assert program.release({}) == 1
    assert write(superlink) == "written"
    assert program.release({}) == 0


def test_no_superlink(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "NAME", b"flower-superlink-that-is-not-there")
    program.hold(1)
    assert "there is no process" in json.loads(capsys.readouterr().out)["fault"]
