# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The table of capabilities in CONTRIBUTING.md: each has a core scenario, and each file of scenarios is in it."""

from __future__ import annotations

import re

from ansible_collections.federated.flower.tests.unit.read import ROOT

SCENARIOS = ROOT / "tests" / "integration"
CORE = SCENARIOS / "scenarios" / "core"


def table() -> dict[str, tuple[list[str], list[str]]]:
    """Capability -> its core scenarios and its nightly files."""
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8").partition("### Capabilities")[2].partition("\n## ")[0]
    rows = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return {row[0].strip(): (re.findall(r"`([^`]+)`", row[1]), re.findall(r"`([^`]+)`", row[2])) for row in rows}


def core_tests() -> set[str]:
    """The core scenarios, as C(file::test)."""
    return {
        f"{path.stem}::{name}"
        for path in CORE.glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M)
    }


def test_each_capability_has_a_core_scenario() -> None:
    rows = table()
    assert len(rows) >= 14
    assert not [capability for capability, (core, _nightly) in rows.items() if not core]


def test_the_core_scenarios_are_those_of_the_table() -> None:
    listed = [test for core, _nightly in table().values() for test in core]
    assert sorted(listed) == sorted(core_tests())


def test_each_file_of_scenarios_is_in_the_table_once() -> None:
    listed = [name for _core, nightly in table().values() for name in nightly]
    files = [path.stem for path in SCENARIOS.rglob("test_*.py") if CORE not in path.parents]
    assert sorted(listed) == sorted(files)
