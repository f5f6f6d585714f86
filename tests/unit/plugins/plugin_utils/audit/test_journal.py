# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.audit.journal import FILE, Journal, abandoned
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError

PLACE = {"inventory": ["/i"], "hub": "hub", "namespace": "f"}


def note(site="a", pid=1, host="ctl", place=None):
    return {
        "run": {"pid": pid, "who": {"host": host}, "place": place or PLACE},
        "site": site,
        "facts": {"words": ["ä"]},
    }


@pytest.fixture
def dead():
    """The id of a process that is gone."""
    process = subprocess.Popen([sys.executable, "-c", ""])
    process.wait()
    return process.pid


def folder(tmp_path, name):
    path = tmp_path / f"ansible-local-{name}"
    path.mkdir()
    return path


def test_notes_are_kept_until_they_are_taken(tmp_path):
    journal = Journal(tmp_path)
    assert journal.read() == []
    with journal.taken() as notes:
        assert notes == []
    assert not journal.path.exists()
    journal.note(note("a"))
    journal.note(note("b"))
    assert (tmp_path / FILE).stat().st_mode & 0o777 == 0o600
    with pytest.raises(RuntimeError), journal.taken() as notes:
        assert len(notes) == 2
        raise RuntimeError
    with journal.taken() as notes:
        assert [one["site"] for one in notes] == ["a", "b"]
    assert journal.read() == []
    journal.note(note("c"))
    assert [one["site"] for one in journal.read()] == ["c"]


def test_many_write_at_once(tmp_path):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: Journal(tmp_path).note(note("x" * 5000 + str(number))), range(200)))
    assert len({one["site"] for one in Journal(tmp_path).read()}) == 200


def test_a_line_that_was_cut_off_is_no_note(tmp_path):
    journal = Journal(tmp_path)
    journal.note(note("a"))
    with journal.path.open("ab") as file:
        file.write(b'{"run": {"pi')
    assert [one["site"] for one in journal.read()] == ["a"]


def test_a_journal_that_cannot_be_written(tmp_path):
    with pytest.raises(ClusterError, match="cannot be stored for the audit trail in .*: No such file or directory"):
        Journal(tmp_path / "gone").note(note())


def test_what_runs_that_were_killed_left(tmp_path, dead):
    mine = folder(tmp_path, "1")
    for name, one in {
        "mine": None,
        "killed": note("killed", dead),
        "alive": note("alive", os.getpid()),
        "elsewhere": note("elsewhere", dead, host="other"),
        "another": note("another", dead, place={**PLACE, "namespace": "g"}),
    }.items():
        if one:
            Journal(folder(tmp_path, name)).note(one)
    Journal(mine).note(note("mine", dead))
    folder(tmp_path, "empty").joinpath(FILE).touch()
    (found,) = abandoned(mine, "ctl", PLACE)
    with found.taken() as notes:
        assert [one["site"] for one in notes] == ["killed"]
    assert abandoned(mine, "ctl", PLACE) == []


def test_what_others_left_in_a_shared_folder_is_none_of_ours(tmp_path, dead, monkeypatch):
    """Whoever may write to that folder may leave a journal in it, or a link to a file of someone else."""
    mine = folder(tmp_path, "1")
    killed, linked = folder(tmp_path, "killed"), folder(tmp_path, "linked")
    Journal(killed).note(note("killed", dead))
    (linked / FILE).symlink_to(killed / FILE)
    assert [one.path.parent for one in abandoned(mine, "ctl", PLACE)] == [killed]
    with pytest.raises(ClusterError, match="cannot be stored"):
        Journal(linked).note(note())
    user = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: user + 1)
    assert abandoned(mine, "ctl", PLACE) == []
