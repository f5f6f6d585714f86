# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import os
import threading

from ansible_collections.federated.flower.plugins.plugin_utils.lease import holding
from ansible_collections.federated.flower.plugins.plugin_utils.lease.holding import HELD, LOST, RETURNED, Holding


def test_the_last_state_counts(tmp_path):
    with Holding.begin(tmp_path) as mine:
        assert mine.last() == {} and not mine.is_held
        mine.note(HELD, holder="jane")
        assert mine.is_held and mine.last()["holder"] == "jane"
        mine.note(RETURNED)
        assert not mine.is_held


def lost(folder):
    with holding.working(folder) as words:
        return words


def test_a_task_sees_that_the_lease_was_lost(tmp_path):
    assert lost(tmp_path) == "" and os.listdir(tmp_path) == [], "a run without a lease writes nothing"
    with Holding.begin(tmp_path) as mine:
        assert lost(tmp_path) == ""
        mine.note(HELD)
        assert lost(tmp_path) == ""
        mine.note(LOST, msg="bob took it")
        assert lost(tmp_path) == "bob took it"


def test_the_end_of_all_tasks_is_waited_for(tmp_path):
    with Holding.begin(tmp_path) as mine:
        mine.note(HELD)
        lock = holding.open_lock(tmp_path)
        with holding.working(tmp_path):
            with holding.working(tmp_path):
                assert not holding.is_idle_within(lock, 0)
            assert not holding.is_idle_within(lock, 0.3)
        assert holding.is_idle_within(lock, 0)
        os.close(lock)


def test_who_keeps_a_former_one_does_not_see_the_next(tmp_path):
    with Holding.begin(tmp_path) as first:
        first.note(HELD)
        kept = Holding.open(tmp_path)
        first.note(RETURNED)
    with kept, Holding.begin(tmp_path) as second:
        second.note(HELD)
        assert kept.last() == {"state": RETURNED} and not kept.is_held


def test_it_is_still_known_when_the_folder_is_gone(tmp_path):
    with Holding.begin(tmp_path) as mine:
        mine.note(HELD)
        (tmp_path / holding.FILE).unlink()
        assert mine.is_held
    assert Holding.open(tmp_path) is None


def test_half_a_line_is_none(tmp_path):
    with Holding.begin(tmp_path) as mine:
        mine.note(HELD)
        (tmp_path / holding.FILE).open("a").write('{"state": "lo')
        assert mine.is_held


def test_only_the_user_can_read_it_and_a_link_is_not_followed(tmp_path):
    with Holding.begin(tmp_path):
        assert (tmp_path / holding.FILE).stat().st_mode & 0o777 == 0o600


def test_one_at_a_time(tmp_path):
    order = []
    with Holding.begin(tmp_path) as mine:
        other = Holding.open(tmp_path)

        def second():
            with other, other.locked():
                order.append("second")

        with mine.locked():
            thread = threading.Thread(target=second)
            thread.start()
            thread.join(0.2)
            order.append("first")
        thread.join(10)
    assert order == ["first", "second"]
    assert os.listdir(tmp_path) == [holding.FILE]


def test_a_playbook_that_asks_for_the_lease_first_changes_nothing_without(tmp_path):
    with holding.working(tmp_path, needed=True) as words:
        assert words == holding.SKIPPED
    with Holding.begin(tmp_path) as mine:
        mine.note(holding.ABSENT)  # of a hub that is new: it was asked for
    with holding.working(tmp_path, needed=True) as words:
        assert words == ""
