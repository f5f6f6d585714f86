# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The copy of the database that a standby gets."""

from __future__ import annotations

import contextlib
import sqlite3

from ansible_collections.federated.flower.plugins.plugin_utils.programs import database_program


def test_nobody_is_online_in_a_copy(tmp_path, monkeypatch):
    """A SuperLink that takes over has heard of nobody: who counted as online for another minute would seem to have come back."""
    monkeypatch.setattr(database_program, "DATABASE", str(tmp_path / "state.db"))
    monkeypatch.setattr(database_program, "COPIES", {use: str(tmp_path / use) for use in database_program.COPIES})
    with contextlib.closing(sqlite3.connect(tmp_path / "state.db", isolation_level=None)) as database:
        database.execute("CREATE TABLE node (node_id INTEGER, online_until REAL)")
        database.execute("INSERT INTO node VALUES (1, 99999999999)")
        for use, wanted in (("standby", True), ("backup", False)):
            assert database_program.copy({"use": use})["size"]
            with contextlib.closing(sqlite3.connect(tmp_path / use)) as made:
                ((until,),) = made.execute("SELECT online_until FROM node")
            assert (until < 99999999999) == wanted
        assert database.execute("SELECT online_until FROM node").fetchone() == (99999999999,)
