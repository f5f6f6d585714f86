# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""CI's second try: for few files only, asked for only, and never silent."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = Path(__file__).parents[2] / "tools" / "second_try.py"
ONCE = """\
from pathlib import Path

def test_before():
    with Path("order").open("a") as file:
        file.write("before ")

def test_slow():
    seen = Path(__file__ + ".seen")
    first = not seen.exists()
    seen.touch()
    assert not first
"""

# Fails once only, because of what another file did in the same session.
SHOWN = """\
import os

def test_shown():
    found = os.path.exists("secret")
    if found:
        os.remove("secret")
    assert not found, "shown (no second try)"
"""
JUDGE = """\
import os, pytest

@pytest.fixture(scope="session")
def judged():
    yield
    found = os.path.exists("secret")
    if found:
        os.remove("secret")
    assert not found, "shown (no second try)"
"""


def run(folder: Path, files: dict[str, str], asked: str = "1") -> tuple[int, str, str]:
    """Exit status, what was printed, and the list of tests that passed at the second try only."""
    (folder / "tests").mkdir()
    for name, text in files.items():
        (folder / "tests" / name).write_text(text, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, PROGRAM, "gate", sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir=.", "--", "tests"],
        cwd=folder,
        env={**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "FLOWER_BUILD": str(folder / "build"), "FLOWER_SECOND_TRY": asked},
        capture_output=True,
        text=True,
        check=False,
    )
    noted = folder / "build" / "times" / "gate-unsteady.txt"
    return done.returncode, done.stdout, noted.read_text(encoding="utf-8") if noted.exists() else ""


def test_a_file_that_failed_is_run_again_and_named(tmp_path):
    code, said, noted = run(tmp_path, {"test_a.py": ONCE, "test_b.py": "def test_b(): pass\n"})
    assert code == 0 and noted == "tests/test_a.py::test_slow\n", said
    assert "FAILED tests/test_a.py::test_slow" in said and "a second try of tests/test_a.py" in said
    assert (tmp_path / "order").read_text() == "before before ", "not the whole file"


@pytest.mark.parametrize(
    "files",
    [
        {"test_a.py": "def test_a(): assert False\n"},
        {f"test_{name}.py": ONCE for name in "abc"},
        {"test_a.py": "import nothing_of_this_name\n"},
        {"test_a.py": "def test_a(): open('secret', 'w')\n", "test_z.py": SHOWN},
        {"conftest.py": JUDGE, "test_a.py": "def test_a(judged): open('secret', 'w')\n", "test_b.py": "def test_b(judged): pass\n"},
    ],
    ids=["both times", "three files", "cannot be imported", "a file that judges others", "a fixture that judges others"],
)
def test_what_is_no_chance_fails(tmp_path, files):
    code, said, noted = run(tmp_path, files)
    assert code and not noted, said


def test_nobody_asked(tmp_path):
    assert run(tmp_path, {"test_a.py": ONCE}, asked="")[0] == 1
