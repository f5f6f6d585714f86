# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Heartbeats out of a database as flwr 1.41 has it."""

from __future__ import annotations

import io
import json
import sqlite3
import sys
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.drill import heartbeats
from ansible_collections.federated.flower.plugins.plugin_utils.programs import heartbeat_program

BIG = 2**63 + 5  # node ids have 64 bits without a sign, numbers of SQLite one with a sign


@pytest.fixture
def sight(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> heartbeats.Sight:
    path = tmp_path / "state.db"
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE node (node_id BIGINT, last_activated_at TEXT, online_until FLOAT, heartbeat_interval FLOAT, other TEXT)")
    rows = [
        (BIG - 2**64, "2026-11-24T20:00:00+00:00", 1000.0, 30.0),
        (7, "2026-11-24T21:00:00.500000+00:00", 1100.0, 30.0),
        (8, None, None, 30.0),
    ]
    database.executemany("INSERT INTO node VALUES (?, ?, ?, ?, 'x')", rows)
    database.commit()
    database.close()
    monkeypatch.setattr(heartbeat_program, "DATABASE", f"file:{path}?mode=ro")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{}\n")))
    heartbeat_program.main()
    return heartbeats.sight_of(json.loads(capsys.readouterr().out))


def test_last_heartbeat_is_two_intervals_before_the_end(sight: heartbeats.Sight) -> None:
    assert sight.nodes[str(BIG)].beat == 940
    assert sight.nodes["7"].beat == 1040
    assert sight.nodes["8"] == heartbeats.Heard()
    assert sight.now > 1.7e9


def test_who_is_back(sight: heartbeats.Sight) -> None:
    wanted = [str(BIG), "7", "8", "9"]
    assert sight.back(wanted, 1000) == ["7"]
    assert sight.back(wanted, 900) == [str(BIG), "7"]
    assert sight.back(wanted, 2000) == []
    begun = sight.nodes["7"].activated
    assert sight.back(wanted, begun - 1, restarted=True) == ["7"]
    assert sight.back(wanted, begun, restarted=True) == []
