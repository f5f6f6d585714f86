# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What was measured becomes a verdict, a table and errors."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.drill import drill_verdict as verdict
from ansible_collections.federated.flower.plugins.plugin_utils.drill.drill_verdict import Measured


@pytest.mark.parametrize(
    ("found", "run", "result"),
    [
        (Measured(3, 3, 12.4), None, verdict.MET),
        (Measured(3, 3, 60.0), None, verdict.MET),
        (Measured(3, 3, 60.1), None, verdict.MISSED),
        (Measured(3, 3, None), None, verdict.MISSED),
        (Measured(3, 0, None), None, verdict.NO_EFFECT),
        (Measured(3, 3, 12.4, error="it broke"), None, verdict.FAILED),
        (Measured(), None, verdict.NO_EFFECT),
        (Measured(error="it broke"), None, verdict.FAILED),
        (Measured(2, 2, 12.4), {"id": "7", "status": "finished:completed"}, verdict.MET),
        (Measured(2, 2, 12.4), {"id": "7", "status": "finished:failed"}, verdict.FAILED),
        (Measured(2, 2, 12.4), {"id": "7", "status": "running"}, verdict.FAILED),
    ],
)
def test_result(found: Measured, run: dict[str, str] | None, result: str) -> None:
    row = verdict.row("site_cut", "site-a", 60, found, run)
    assert row["result"] == result
    assert bool(verdict.faults([row])) == (result != verdict.MET)
    if run:
        assert f"run 7: {run['status']}" in row["note"]
    assert all(part in verdict.words(row) for part in (f"{found.affected} of {found.of}", "target 60 s"))


def test_table_and_errors() -> None:
    rows = [
        verdict.row("site_cut", "site-a", 60, Measured(2, 2, 11.6, "cut off for 61 s")),
        verdict.row("superlink_killed", "hub", 30, Measured(3, 3, 41.2)),
        verdict.row("disk_full", "hub", 60, Measured(3, 2, None, error="not back after 300 s: site-b gpu/0")),
    ]
    head, *lines = verdict.table(rows)
    assert head.split() == ["drill", "at", "SuperNodes", "recovered", "target", "result", "note"]
    assert lines[0].split() == ["site_cut", "site-a", "2", "of", "2", "12", "s", "60", "s", "met", "cut", "off", "for", "61", "s"]
    assert all(line.index(word) == head.index("result") for line, word in zip(lines, ("met", "missed", "failed"), strict=True))
    missed, failed = verdict.faults(rows)
    assert missed.startswith("superlink_killed at hub: after 41 s, and the target is 30 s (flower_drill_targets)")
    assert failed == "disk_full at hub: not back after 300 s: site-b gpu/0"
