# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.lease import parent
from ansible_collections.federated.flower.plugins.plugin_utils.lease.process import Process


@pytest.fixture(params=["reports its end", "is looked for"])
def sleeper(request, monkeypatch):
    """A process, its number wrapped; and how Linux or another system tells its end."""
    if request.param == "is looked for":
        monkeypatch.delattr(os, "pidfd_open")
    started = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    yield started, Process(started.pid)
    started.kill()
    started.wait()


def test_a_process_that_runs_has_not_ended(sleeper):
    _started, process = sleeper
    begun = time.monotonic()
    assert not process.ends_within(0.3)
    assert time.monotonic() - begun > 0.25


def test_the_end_is_seen_before_anyone_has_waited_for_it(sleeper):
    started, process = sleeper
    started.kill()
    assert process.ends_within(60)


def test_one_that_was_gone_before_has_ended():
    started = subprocess.Popen([sys.executable, "-c", ""])
    started.wait()
    assert Process(started.pid).ends_within(0)


@pytest.mark.parametrize(
    ("name", "pid"), [("ansible-local-6759qnjcijaa", 6759), ("ansible-local-19a8b7c6d_", 19), ("ansible-local-12345678901", 123), ("mine", None)]
)
def test_the_playbook_is_that_of_its_folder(name: str, pid: int | None) -> None:
    """A fork whose playbook was killed a moment ago has another parent, such as process 1, which never ends."""
    assert parent.playbook(Path("/tmp") / name) == (os.getppid() if pid is None else pid)
