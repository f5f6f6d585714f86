# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What an interrupted gate leaves: nothing that goes on changing clusters."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

TOOLS = Path(__file__).parents[2] / "tools"
CONFTEST = """\
from ansible_collections.federated.flower.tests.integration.conftest import pytest_configure
"""
TEST = """\
import subprocess, time
from pathlib import Path

import pytest

@pytest.fixture
def playbook():
    process = subprocess.Popen(["sleep", "300"], start_new_session=True)
    yield process
    process.kill()
    process.wait()
    time.sleep(2)
    Path("ended").touch()

def test_long(playbook):  # says it here: within a fixture, the signal could come before its end is registered
    Path("new").write_text(str(playbook.pid))
    Path("new").rename("pid")
    playbook.wait()
"""


def test_a_signal_ends_what_fixtures_have_started(tmp_path):
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    (tmp_path / "test_long.py").write_text(TEST, encoding="utf-8")
    pytest = f"{sys.executable} -m pytest -q -p no:cacheprovider --rootdir=. -n 1 -- test_long.py"
    gate = [sys.executable, TOOLS / "together.py", f"{sys.executable} {TOOLS / 'second_try.py'} gate {pytest}"]
    environment = {**os.environ, "FLOWER_BUILD": str(tmp_path / "build")}
    with subprocess.Popen(gate, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as process:
        try:
            deadline = time.monotonic() + 300
            while not (tmp_path / "pid").exists():
                assert time.monotonic() < deadline and process.poll() is None
                time.sleep(0.1)
        finally:
            process.send_signal(signal.SIGTERM)
            said = process.communicate(timeout=300)[0]
    assert process.returncode == 128 + signal.SIGTERM and (tmp_path / "ended").exists(), said
    pid = (tmp_path / "pid").read_text()
    assert not Path("/proc", pid).exists()
