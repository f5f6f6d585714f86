# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What `make check` leaves out: files that have not changed since a gate passed."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from ansible_collections.federated.flower.tests.unit.read import ROOT


@pytest.fixture
def changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, in a folder with two files."""
    spec = importlib.util.spec_from_file_location("changed", ROOT / "tools/changed.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    (tmp_path / "stage").mkdir()
    monkeypatch.setenv("FLOWER_STAGE", str(tmp_path / "stage"))
    for name in ("plugins/a.py", "docs/b.rst", "build/c.txt"):
        path = tmp_path / "checkout" / name
        path.parent.mkdir(parents=True)
        path.write_text("1")
    monkeypatch.chdir(tmp_path / "checkout")
    return module


def test_all_is_new_until_it_has_passed(changed: ModuleType) -> None:
    assert changed.Passed("lint").changed() is None


def test_what_has_changed_since(changed: ModuleType) -> None:
    changed.Passed("lint").note()
    assert changed.Passed("lint").changed() == []
    Path("docs/b.rst").write_text("2")
    Path("plugins/new.py").touch()
    Path("build/c.txt").write_text("2")
    assert changed.Passed("lint").changed() == ["docs/b.rst", "plugins/new.py"]
    assert changed.Passed("unit").changed() is None, "another gate"


def test_a_change_while_it_ran_counts(changed: ModuleType) -> None:
    begun = changed.Passed("lint")
    Path("plugins/a.py").write_text("2")
    begun.note()
    assert changed.Passed("lint").changed() == ["plugins/a.py"]


def test_a_file_that_is_gone_counts_for_all(changed: ModuleType) -> None:
    changed.Passed("lint").note()
    Path("docs/b.rst").unlink()
    assert changed.Passed("lint").changed() is None


def test_a_gate_that_reads_some_files(changed: ModuleType) -> None:
    changed.Passed("page", ["docs/"]).note()
    Path("plugins/a.py").write_text("2")
    assert changed.Passed("page", ["docs/"]).changed() == []
    Path("docs/b.rst").write_text("2")
    assert changed.Passed("page", ["docs/"]).changed() == ["docs/b.rst"]
