# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The lease on a hub: who gets it, who keeps it, who has lost it."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.state import hub_lease
from ansible_collections.federated.flower.plugins.plugin_utils.state.hub_lease import Lease, Lost
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.state.lease_hub import LeaseHub

JANE, BOB = "jane@laptop, federated.flower.site, ansible-local-1abc", "bob@desk, site.yml, ansible-local-2def"


@pytest.fixture
def hub() -> LeaseHub:
    return LeaseHub()


def lease(hub: LeaseHub, identity: str = JANE) -> Lease:
    return Lease(hub, "flower", "study", identity)


def silent(_text: str) -> None:
    """Nobody listens."""


def test_all_tasks_of_a_run_hold_the_same_lease(hub: LeaseHub) -> None:
    lease(hub).take(0, silent)
    written = hub.versions
    assert lease(hub, JANE.replace("jane", "admin")).take(0, silent) is not None and hub.holder == JANE
    assert hub.versions == written, "what was renewed a moment ago is not written again"
    hub.taken_by(JANE, ago=20)
    written = hub.versions
    assert lease(hub).take(0, silent, had=True) is not None and hub.versions == written + 1


def test_another_run_is_refused_and_told_who_holds_it(hub: LeaseHub) -> None:
    hub.taken_by(JANE, ago=20)
    words = "^jane@laptop, federated.flower.site has been changing the federation study since .* nothing was changed"
    with pytest.raises(ClusterError, match=words) as refused:
        lease(hub, BOB).take(0, silent)
    assert "-e flower_lease_break=true" in str(refused.value) and hub.holder == JANE


def test_another_run_waits_until_it_is_returned(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    hub.taken_by(JANE)
    said: list[str] = []
    monkeypatch.setattr(hub_lease.time, "sleep", lambda _seconds: lease(hub).give_back())
    assert lease(hub, BOB).take(60, said.append) is not None and hub.holder == BOB
    assert len(said) == 1 and said[0].startswith("Waiting for jane@laptop, federated.flower.site, who has been changing the federation study")


@pytest.mark.parametrize(("ago", "breaks"), [(63, False), (0, True)])
def test_one_that_ended_or_is_broken_is_taken(hub: LeaseHub, ago: float, breaks: bool) -> None:
    hub.taken_by(JANE, ago=ago)
    lease(hub, BOB).take(0, silent, breaks=lambda live: breaks)
    assert hub.holder == BOB and hub.lease is not None and hub.lease["spec"]["leaseTransitions"] == 1
    with pytest.raises(Lost, match="bob@desk, site.yml took it at"):
        lease(hub).renew()
    with pytest.raises(Lost):
        lease(hub).give_back()
    assert hub.holder == BOB


def test_one_that_ended_between_two_tasks_is_taken_again_if_nobody_else_had_it(hub: LeaseHub) -> None:
    hub.taken_by(JANE, ago=600)
    assert lease(hub).take(0, silent, had=True) is not None and hub.holder == JANE


@pytest.mark.parametrize("ago", [0, 600])
def test_a_run_that_lost_it_does_not_wait_for_it(hub: LeaseHub, ago: float) -> None:
    """Also where the other one was killed in the meantime."""
    hub.taken_by(BOB, ago=ago)
    with pytest.raises(Lost, match="this run changes nothing more"):
        lease(hub).take(60, silent, had=True)
    assert hub.holder == BOB


def test_a_run_that_lost_it_to_one_that_ended_does_not_go_on(hub: LeaseHub) -> None:
    with pytest.raises(Lost, match="someone took and returned it, or deleted it"):
        lease(hub).take(0, silent, had=True)
    assert hub.lease is None


def test_there_is_none_without_a_namespace(hub: LeaseHub) -> None:
    hub.has_namespace = False
    assert lease(hub).take(0, silent) is None and lease(hub).take(0, silent, had=True) is None


def test_a_thread_renews_it_while_a_task_works(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hub that does not answer for a moment is asked again."""
    monkeypatch.setattr(hub_lease.record, "RENEW", 0.01)
    monkeypatch.setattr(hub_lease, "_AGAIN", 0.01)
    lease(hub).take(0, silent)
    hub.is_down = True
    with lease(hub).kept():
        assert not hub.renewed.wait(0.1)
        hub.is_down = False
        assert hub.renewed.wait(20)
        hub.renewed.clear()
        assert hub.renewed.wait(20)
    assert not [one for one in threading.enumerate() if "(_keep)" in one.name]


@pytest.mark.parametrize(("given", "used"), [(1.0, 5.0), (8.0, 8.0), (30.0, 9.0), (600.0, 9.0)])
def test_a_slow_hub_has_the_time_of_its_connection_as_far_as_the_lease_allows(hub: LeaseHub, given: float, used: float) -> None:
    """A renewal reads and writes. One that fails leaves time for the next one, after the pause between two and before the lease ends."""
    hub.timeout = given
    with lease(hub).kept():
        assert hub.timeout == hub.retry_seconds == used
    assert hub_lease.record.RENEW + 2 * used + hub_lease._AGAIN + 2 * used < hub_lease.record.SECONDS


def test_a_fork_that_hangs_after_its_playbook_was_killed_loses_it(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_lease.record, "RENEW", 0.01)
    monkeypatch.setattr(hub_lease, "_ABANDONED", 0.05)
    lease(hub).take(0, silent)
    with lease(hub).kept(lambda: True):
        thread = next(one for one in threading.enumerate() if "(_keep)" in one.name)
        thread.join(20)
        assert not thread.is_alive() and hub.renewed.is_set()


def test_the_thread_of_a_task_leaves_the_lease_of_someone_else_alone(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hub_lease.record, "RENEW", 0.01)
    hub.taken_by(BOB)
    written = hub.versions
    with lease(hub).kept():
        assert not hub.renewed.wait(0.1)
    assert hub.versions == written


def test_two_forks_that_take_it_at_once_both_have_it(hub: LeaseHub, monkeypatch: pytest.MonkeyPatch) -> None:
    first, read = lease(hub), hub.get

    def get(*place: Any) -> Any:
        found = read(*place)
        if first is not None and found is None:
            hub.taken_by(JANE)
        return found

    monkeypatch.setattr(hub, "get", get)
    assert first.take(0, silent) is not None and hub.holder == JANE
