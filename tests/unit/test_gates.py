# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The suites of tools/test.py: each gate is in one, and what failed is printed with the command that runs it alone."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from ansible_collections.federated.flower.tests.unit.read import ROOT

# Targets that run tests and are in neither suite: on request, on other machines, or variants of others.
OTHERS = {"check", "test", "nightly", "scenario", "core-limited", "soak", "awx"}
REPORT = """\
<testsuites><testsuite>
<testcase classname="tests.integration.scenarios.core.test_operation" name="test_deploy"><failure message="no"/></testcase>
<testcase classname="tests.integration.scenarios.core.test_operation" name="test_upgrade"/>
<testcase classname="tests.integration.test_apply" name="test_prune"><error message="no"/></testcase>
</testsuite></testsuites>
"""


@pytest.fixture
def gates(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program."""
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    spec = importlib.util.spec_from_file_location("gates", ROOT / "tools" / "test.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_each_gate_is_in_one_suite(gates: ModuleType) -> None:
    text = (ROOT / "Makefile").read_text(encoding="utf-8")
    recipes = re.findall(r"^([a-z-]+):.*?##.*?\n((?:\t.*\n)+)", text, re.M)
    tests = {name for name, recipe in recipes if re.search(r"pytest|molecule test|sanity\.py|lint\.sh|tools/test\.py", recipe)}
    suites = [{target for phase in gates.SUITES[suite] for target in phase.split()} for suite in ("test", "nightly")]
    assert not set.intersection(*suites) - {"fleet-down"}
    assert set.union(*suites) - {"fleet-up", "fleet-core", "fleet-down"} == tests - OTHERS


def test_what_failed_is_printed_with_the_command_that_runs_it_alone(gates: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "core.xml").write_text(REPORT)
    assert gates.failures(tmp_path, [("core", False, 1.0), ("lint", False, 1.0), ("unit", True, 1.0)]) == [
        "tests/integration/scenarios/core/test_operation.py: test_deploy",
        "    run it alone: make scenario NAME=core/test_operation",
        "tests/integration/test_apply.py: test_prune",
        "    run it alone: make scenario NAME=test_apply",
        "lint: see above; run it alone: make lint",
    ]


def test_unit_tests_start_no_playbook() -> None:
    """They would take twice as long: what starts one belongs to the gate C(playbooks)."""
    starts = re.compile(r'\["ansible-playbook"|"ansible", "playbook"|with_name\("ansible-playbook"|ansible_run import .*\bplay\b')
    texts = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "tests/unit").rglob("test_*.py") if path != Path(__file__)}
    assert [name for name, text in texts.items() if starts.search(text) and "mark.playbook" not in text] == []


def test_all_tests_that_no_quick_gate_runs_can_be_collected() -> None:
    """A name that a file imports from another one may be gone, and only the nightly gates would find it."""
    folders = ["tests/integration", "tests/fleet", "tests/skupper_standin"]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-p", "no:cacheprovider", *folders]
    run = subprocess.run(command, cwd=ROOT, env=environment, text=True, capture_output=True, check=False)
    assert run.returncode == 0, run.stdout[-3000:] + run.stderr[-1000:]
    assert "test_21_ocm.py" in run.stdout
