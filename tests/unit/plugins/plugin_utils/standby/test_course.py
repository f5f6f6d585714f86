# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""When a hub that is followed is copied: after each change of a node or a run, and not for signs of life."""

from __future__ import annotations

import contextlib
import sqlite3

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.programs import database_program
from ansible_collections.federated.flower.plugins.plugin_utils.standby.course import CLOSELY, NOTED, Course, Seen
from ansible_collections.federated.flower.plugins.plugin_utils.standby.terms import ACTIVE, FENCED, STANDBY, Term


@pytest.fixture
def database(tmp_path, monkeypatch):
    """A database with the tables of Flower that matter, and one that does not."""
    path = tmp_path / "state.db"
    monkeypatch.setattr(database_program, "DATABASE", str(path))
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as opened:
        opened.execute("CREATE TABLE node (node_id INTEGER, status TEXT, unregistered_at TEXT, online_until REAL, public_key BLOB)")
        opened.execute("CREATE TABLE task (task_id INTEGER, run_id INTEGER, finished_at TEXT, active_until TEXT)")
        opened.execute("CREATE TABLE run (run_id INTEGER, bytes_sent INTEGER)")
        opened.execute("CREATE TABLE message (message_id TEXT)")
        opened.execute("INSERT INTO node VALUES (1, 'online', '', 5.5, x'00ff')")
        opened.execute("INSERT INTO task VALUES (1, 7, NULL, NULL)")
        opened.execute("INSERT INTO run VALUES (7, 0)")
        yield opened


def mark():
    return database_program.events({})["mark"]


@pytest.mark.parametrize("change", [
    "INSERT INTO node VALUES (2, 'registered', '', NULL, x'01')",
    "UPDATE node SET unregistered_at = '2026-11-25'",
    "INSERT INTO run VALUES (8, 0)",
    "UPDATE task SET finished_at = '2026-11-25 10:00:00'",
    "DELETE FROM run",
    "ALTER TABLE run ADD COLUMN paused_at TEXT",
])  # fmt: skip
def test_what_a_standby_must_know_changes_the_mark(database, change):
    before = mark()
    assert before and mark() == before
    database.execute(change)
    assert mark() != before


@pytest.mark.parametrize("change", [
    "UPDATE node SET online_until = 99.5, status = 'offline'",
    "UPDATE task SET active_until = '2026-11-25'",
    "UPDATE run SET bytes_sent = 1000",
    "INSERT INTO message VALUES ('m')",
])  # fmt: skip
def test_signs_of_life_do_not(database, change):
    before = mark()
    database.execute(change)
    assert mark() == before


def test_the_order_of_rows_is_none(database):
    database.execute("INSERT INTO run VALUES (8, 0)")
    before = mark()
    database.execute("DELETE FROM run WHERE run_id = 7")
    database.execute("INSERT INTO run VALUES (7, 0)")
    assert mark() == before


def test_nobody_is_online_in_a_copy(database, tmp_path, monkeypatch):
    """A SuperLink that takes over has heard of nobody: who counted as online for another minute would seem to have come back."""
    monkeypatch.setattr(database_program, "COPIES", {use: str(tmp_path / use) for use in database_program.COPIES})
    database.execute("UPDATE node SET online_until = 99999999999")
    for use, wanted in (("standby", True), ("backup", False)):
        assert database_program.copy({"use": use})["size"]
        with contextlib.closing(sqlite3.connect(tmp_path / use)) as made:
            ((until,),) = made.execute("SELECT online_until FROM node")
        assert (until < 99999999999) == wanted
    assert database.execute("SELECT online_until FROM node").fetchone() == (99999999999,)


def test_no_database_has_a_mark_of_its_own(tmp_path, monkeypatch):
    monkeypatch.setattr(database_program, "DATABASE", str(tmp_path / "none.db"))
    assert mark() == "" and not list(tmp_path.iterdir())


SEEN = Seen("d", "o", "f")


def test_a_new_course_copies_everything():
    course = Course()
    assert course.looks_closely("d", 0) and course.is_behind(SEEN, True) and course.claim_of(SEEN) == ""


def test_a_change_of_a_run_is_looked_at_closely_and_at_once():
    course = Course(SEEN, claim="uid", looked=100, noted=100)
    assert course.looks_closely("e", 101) and not course.looks_closely("d", 101)
    assert course.looks_closely("d", 100 + CLOSELY)
    assert course.is_behind(Seen("e", "o", "f"), True) and not course.is_behind(SEEN, True)


def test_the_database_is_copied_again_only_when_it_has_changed():
    course = Course(SEEN, claim="uid")
    assert course.claim_of(Seen("d", "p", "g")) == "uid"
    assert course.claim_of(Seen("e", "o", "f")) == ""


def test_the_database_is_copied_once_more_after_a_change():
    """Flower writes logs and usage after the state of a run."""
    course = Course()
    course.copied(SEEN, "uid", is_whole=True, with_database=True)
    assert course.again and course.copies == 1
    assert not course.is_behind(SEEN, False), "not at each look"
    assert course.is_behind(SEEN, True) and course.claim_of(SEEN) == ""
    course.copied(SEEN, "uid", is_whole=True, with_database=True)
    assert not course.again and not course.is_behind(SEEN, True) and course.claim_of(SEEN) == "uid"


def test_files_that_were_being_written_are_copied_by_the_next_copy():
    course = Course()
    course.copied(SEEN, "uid", is_whole=False, with_database=False)
    assert course.is_behind(SEEN, True)


def test_it_is_noted_now_and_then_that_nothing_happened():
    course = Course(noted=100)
    assert not course.is_silent(100 + NOTED - 1) and course.is_silent(100 + NOTED)


@pytest.mark.parametrize("standby, hub, good", [
    (Term(STANDBY, 1, "a", "b", "t", "uid"), Term(ACTIVE, 1, "a", "b", "t"), True),
    (Term(STANDBY, 1, "a", "b", "t", "other"), Term(ACTIVE, 1, "a", "b", "t"), False),
    (Term(STANDBY, 1, "a", "b", "t", "uid"), Term(ACTIVE, 2, "a", "b", "t"), False),
    (Term(FENCED, 1, "a", "b", "t", "uid"), Term(ACTIVE, 1, "a", "b", "t"), False),
    (Term(STANDBY, 1, "c", "b", "t", "uid"), Term(ACTIVE, 1, "a", "b", "t"), False),
])  # fmt: skip
def test_only_the_records_of_the_last_copy_are_renewed(standby, hub, good):
    assert Course(claim="uid").is_copied(standby, hub) == good
