# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The lease of a playbook that was killed is kept until what it left behind has ended, and what it left behind begins nothing more."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.lease import holding, keeper
from ansible_collections.federated.flower.plugins.plugin_utils.lease.holding import HELD, LOST, Holding
from ansible_collections.federated.flower.plugins.plugin_utils.lease.taking import Lost


class Lease:
    """Counts what is asked of it. Of the first renewals, some fail; after C(most) of them someone else has it."""

    def __init__(self, fails: int = 0, most: int = 1000) -> None:
        self.fails, self.most = fails, most
        self.renewed = self.returned = 0
        self.often = threading.Event()

    def renew(self) -> bool:
        if self.fails:
            self.fails -= 1
            raise ClusterError("down")
        if self.renewed == self.most:
            raise Lost("bob took it")
        self.renewed += 1
        if self.renewed == 3:
            self.often.set()
        return True

    def give_back(self) -> bool:
        self.returned += 1
        return True


@pytest.fixture
def mine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Holding]:
    """The lease is held."""
    monkeypatch.setattr(keeper, "RENEW", 0.01)
    monkeypatch.setattr(keeper, "_AGAIN", 0.01)
    with Holding.begin(tmp_path) as found:
        found.note(HELD, holder="jane")
        yield found


def wind_up(lease: Any, mine: Holding, folder: Path) -> None:
    lock = holding.open_lock(folder)
    try:
        keeper.wind_up(lease, mine, lock)
    finally:
        os.close(lock)


def test_it_is_renewed_until_no_task_works(mine: Holding, tmp_path: Path) -> None:
    lease = Lease(fails=1)
    winding = threading.Thread(target=wind_up, args=(lease, mine, tmp_path))
    with holding.working(tmp_path):
        winding.start()
        assert lease.often.wait(20), "the lease is not renewed"
        assert not lease.returned
    winding.join(20)
    assert not winding.is_alive() and lease.returned == 1 and mine.is_held


def test_it_is_returned_at_once_when_none_works(mine: Holding, tmp_path: Path) -> None:
    lease = Lease()
    wind_up(lease, mine, tmp_path)
    assert (lease.renewed, lease.returned) == (0, 1)


def test_a_task_that_hangs_loses_it(mine: Holding, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeper, "LONGEST", 0.3)
    lease = Lease()
    with holding.working(tmp_path):
        wind_up(lease, mine, tmp_path)
    assert lease.renewed and lease.returned == 1
    assert mine.last()["state"] == LOST and "changes nothing more" in mine.last()["msg"]


def test_what_someone_else_took_meanwhile_is_not_returned(mine: Holding, tmp_path: Path) -> None:
    lease = Lease(most=2)
    with holding.working(tmp_path):
        wind_up(lease, mine, tmp_path)
    assert not lease.returned and mine.last() == {"state": LOST, "msg": "bob took it"}


def test_a_fork_of_a_playbook_that_has_ended_begins_no_task(tmp_path: Path) -> None:
    for pid, words in ((os.getppid(), ""), (os.getppid() + 1, "the playbook of this task has ended")):
        with Holding.begin(tmp_path) as mine:
            mine.note(HELD, holder="jane", pid=pid)
            with holding.working(tmp_path) as why:
                assert bool(why) == bool(words) and words in why
