# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""A database is set aside and put back, also when that was interrupted anywhere. No row is lost."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.programs import database_aside_program as program


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("DATABASE", "KEPT", "OTHER"):
        monkeypatch.setattr(program, name, getattr(program, name).replace("/data", str(tmp_path)))
    make(program.DATABASE, 3)
    return tmp_path


def make(path: str, rows: int) -> None:
    database = sqlite3.connect(path)
    database.execute("CREATE TABLE run (run_id BIGINT)")
    database.execute("CREATE TABLE nonce_store (nonce TEXT)")
    database.executemany("INSERT INTO run VALUES (?)", [(number,) for number in range(rows)])
    database.commit()
    database.close()


def test_rows_are_counted() -> None:
    assert program.look() == {"there": True, "kept": False, "counts": {"run": [3, 3]}, "kept_counts": {}}


def test_aside_and_back() -> None:
    assert program.take() == {"there": False, "kept": True}
    assert program.take() == {"there": False, "kept": True}
    assert program.look()["kept_counts"] == {"run": [3, 3]}
    assert program.give() == {"there": True, "kept": False, "other": False}
    assert program.give() == {"there": True, "kept": False, "other": False}
    assert program.look()["counts"] == {"run": [3, 3]}


def test_what_stands_in_its_place_is_kept() -> None:
    program.take()
    make(program.DATABASE, 1)
    Path(program.DATABASE + ".restore").write_text("half of a database")
    assert program.give() == {"there": True, "kept": False, "other": True}
    assert program.look()["counts"] == {"run": [3, 3]}
    assert program.counts(program.OTHER) == {"run": [1, 1]}
    assert not Path(program.DATABASE + ".restore").exists()


def test_it_is_deleted_when_another_one_is_there() -> None:
    program.take()
    assert program.drop() == {"there": False, "kept": True}
    make(program.DATABASE, 3)
    assert program.drop() == {"there": True, "kept": False}
    assert program.look()["counts"] == {"run": [3, 3]}


def test_nothing_to_set_aside() -> None:
    os.unlink(program.DATABASE)
    assert "there is no database" in program.take()["fault"]


@pytest.mark.parametrize("ended", [0, 1, 2, 3])
def test_interrupted_between_two_files(ended: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a journal beside it: whatever was renamed belongs together again."""
    for end in program.BESIDE[:-1]:
        Path(program.DATABASE + end).write_text(end)
    rename, left = os.rename, [ended]

    def some(old: str, new: str) -> None:
        if os.path.exists(old) and left[0] == 0:
            raise KeyboardInterrupt
        rename(old, new)
        left[0] -= 1

    monkeypatch.setattr(os, "rename", some)
    with pytest.raises(KeyboardInterrupt):
        program.take()
    monkeypatch.setattr(os, "rename", rename)
    assert program.give()["there"]
    assert not program.give()["kept"]
    for end in program.BESIDE[:-1]:
        assert Path(program.DATABASE + end).read_text() == end
        assert not os.path.exists(program.KEPT + end)
