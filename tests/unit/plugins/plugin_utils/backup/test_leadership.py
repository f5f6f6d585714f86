# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""A hub that has another volume than at the last copy: what the records know of it, and when it is refused."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.backup import hub_pair, leadership, leadership_plans
from ansible_collections.federated.flower.plugins.plugin_utils.backup.leadership import ACTIVE, FENCED, STANDBY, Term
from ansible_collections.federated.flower.plugins.plugin_utils.backup.leadership_plans import Failover
from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.checks.inventory import peers, standby_faults
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.backup.two_hubs import SPACE, Kept
from ansible_collections.federated.flower.tests.unit.rows import each_row

COPY = Term(STANDBY, 1, "a", "b", "2026-11-24T20:00:00Z", "uid", "data")

A1 = Term(ACTIVE, 1, "a", "b", "2026-11-24T20:00:00Z")
B1 = Term(STANDBY, 1, "a", "b", "2026-11-24T20:00:00Z", "uid")
EMPTY = Term(STANDBY, 1, "a", "b")
FENCED_A2, ACTIVE_B2 = Term(FENCED, 2, "b"), Term(ACTIVE, 2, "b", "a")


def test_records_of_earlier_releases_are_read():
    """Those of one had no volumes of the hub, those of another one that with the outputs, too."""
    first = {name: value for name, value in json.loads(COPY.text()).items() if not name.startswith("hub_")}
    term = leadership.parse(json.dumps(first), "here")
    assert leadership_plans.recorded_claim("a", term, None) == ""
    assert not leadership_plans.volume_error("a", "b", "", "data", term), "the next copy notes it"
    second = json.dumps({**json.loads(COPY.text()), "hub_outputs": "not copied"})
    assert leadership_plans.recorded_claim("a", leadership.parse(second, "here"), None) == "data"


@each_row(("own", "there", "known"), [
    (Term(ACTIVE, 1, "a", "b"), COPY, "data"),
    (None, COPY, "data"),  # restored from a backup
    (Term(ACTIVE, 1, "a", "b", hub_claim="new"), COPY, "data"),  # a copy of what was accepted was not completed
    (Term(ACTIVE, 3, "a", "b", hub_claim="data"), Term(FENCED, 3, "a"), "data"),  # a failover, and no copy since
    (Term(ACTIVE, 2, "a", "b"), Term(ACTIVE, 1, "b", "a", hub_claim="of b"), ""),  # the former hub came back
    (Term(FENCED, 2, "b"), COPY, "data"),  # a failover that was interrupted
    (None, None, ""),
])  # fmt: skip
def test_what_is_known(own, there, known):
    assert leadership_plans.recorded_claim("a", there, own) == known


def test_a_hub_with_another_volume_is_not_copied():
    def fault(live, there=COPY):
        return leadership_plans.volume_error("a", "b", "data", live, there)

    assert not fault("data")
    other = fault("new")
    assert "a has another volume for its database than before" in other and "does not replace the copy on b" in other
    assert "-e flower_failover_hub_lost=true" in other and "copy of 2026-11-24T20:00:00Z on b" in other and "flower_standby_accept_volumes=true" in other
    assert "another volume" in fault("")
    assert "hub_lost" not in fault("", Term(FENCED, 2, "a")), "such a standby cannot serve without the hub"


def test_the_claim_of_a_hub():
    cluster = Kept("a")
    end = hub_pair.End("a", cluster, SimpleNamespace(namespace=SPACE), "")
    assert end.claim_uid == ""
    cluster.put_hub()
    assert end.claim_uid == "a-data-superlink-0"


def test_a_record_is_read_as_it_was_written():
    assert leadership.parse(B1.text(), "here") == B1


@each_row("text", [
    "", "[]", "{}", B1.text().replace('"number": 1', '"number": "1"'), B1.text().replace('"number": 1', '"number": 0'),
    B1.text().replace("standby", "asleep"), B1.text().replace('"serves"', '"server"'), B1.text().replace('"uid"', "7"),
])  # fmt: skip
def test_what_is_no_record_is_refused(text):
    with pytest.raises(ClusterError, match="cannot be read"):
        leadership.parse(text, "here")


def test_a_hub_is_refused_by_its_own_record():
    assert leadership.refusal("a", None) == leadership.refusal("a", A1) == ""
    assert "a is fenced: b took over from it in term 2" in leadership.refusal("a", FENCED_A2)
    assert "b is the standby of a" in leadership.refusal("b", B1)


def test_a_hub_is_refused_by_the_record_of_its_standby():
    assert leadership.refusal_by_peer("a", A1, "b", None) == leadership.refusal_by_peer("a", A1, "b", B1) == ""
    assert "b took over from it in term 2" in leadership.refusal_by_peer("a", A1, "b", ACTIVE_B2)
    assert "b took over from it in term 2" in leadership.refusal_by_peer("a", None, "b", ACTIVE_B2), "restored from a backup"
    assert leadership.refusal_by_peer("b", ACTIVE_B2, "a", A1) == "", "it is the older one, and is fenced"
    assert "both claim" in leadership.refusal_by_peer("a", A1, "b", Term(ACTIVE, 1, "b"))


@each_row(("own", "other", "number", "fence", "fault"), [
    (None, None, 1, "", ""),
    (A1, None, 1, "", ""),
    (A1, B1, 1, "", ""),
    (None, B1, 1, "", ""),
    (Term(ACTIVE, 3, "a"), FENCED_A2, 3, "", ""),  # the former hub becomes the standby
    (ACTIVE_B2, A1, 2, "b", ""),  # it came back, and still serves
    (A1, ACTIVE_B2, 2, "a", "took over"),  # the groups were not exchanged
    (None, ACTIVE_B2, 2, "a", "took over"),
    (FENCED_A2, ACTIVE_B2, 2, "", "fenced"),
    (B1, A1, 1, "", "standby of"),
    (A1, Term(ACTIVE, 1, "b"), 1, "", "both claim"),
])  # fmt: skip
def test_copy_plan(own, other, number, fence, fault):
    plan = leadership_plans.copy_plan("a", "b", own, other)
    assert (plan.number, plan.fence) == (number, fence)
    assert fault in plan.fault and bool(fault) == bool(plan.fault)


@each_row(("own", "other", "reached", "wanted"), [
    (A1, B1, True, Failover(2, fence=True, copy=True, promote=True)),
    (A1, None, True, Failover(2, fence=True, copy=True, promote=True)),  # no copy was ever made
    (None, None, True, Failover(1, fence=True, copy=True, promote=True)),
    (None, B1, False, Failover(2, promote=True)),
    (FENCED_A2, B1, True, Failover(2, fence=True, copy=True, promote=True)),  # interrupted after the fence
    (FENCED_A2, ACTIVE_B2, True, Failover(2)),  # interrupted after the promotion
    (A1, ACTIVE_B2, True, Failover(2, fence=True)),  # it was lost, and came back
    (None, ACTIVE_B2, True, Failover(2, fence=True)),
    (None, ACTIVE_B2, False, Failover(2)),
    (Term(ACTIVE, 2, "a"), Term(FENCED, 2, "a"), True, Failover(3, fence=True, copy=True, promote=True)),
])  # fmt: skip
def test_failover_plan(own, other, reached, wanted):
    assert leadership_plans.failover_plan("a", "b", own, other, reached=reached) == wanted


def test_a_fence_that_was_interrupted_is_completed():
    """Its record comes before the stop."""
    assert leadership_plans.failover_plan("a", "b", FENCED_A2, ACTIVE_B2, reached=True, runs=True) == Failover(2, fence=True)
    assert leadership_plans.failover_plan("a", "b", B1, ACTIVE_B2, reached=True, runs=True) == Failover(2), "a standby has a copy, and is not fenced"


@each_row(("own", "other", "reached", "fault"), [
    (None, None, False, "no complete copy"),
    (None, EMPTY, False, "no complete copy"),
    (None, Term(FENCED, 2, "a", copied="x"), False, "was fenced"),
    (B1, None, True, "is a standby itself"),
    (A1, Term(ACTIVE, 1, "b"), True, "both claim"),
    (Term(ACTIVE, 3, "a"), ACTIVE_B2, True, "a newer one"),
])  # fmt: skip
def test_failovers_that_are_refused(own, other, reached, fault):
    plan = leadership_plans.failover_plan("a", "b", own, other, reached=reached)
    assert fault in plan.fault and not (plan.fence or plan.copy or plan.promote)


def test_the_groups_of_the_inventory():
    assert standby_faults({"flower_hub": ["a"], "flower_standby": ["b"]}) == []
    assert "has 0 hosts" in standby_faults({"flower_hub": ["a"]})[0]


@each_row("follow, interval, wrong", [
    ("", "", ""), (None, None, ""), (3600, 5, ""), ("3600", "0.5", ""), ("1h", "", "flower_standby_follow is '1h'"), (0, "", "flower_standby_follow is 0"),
    (-5, "", "flower_standby_follow is -5"), (2.5, "", "flower_standby_follow is 2.5"), (60, "nan", "flower_standby_interval is 'nan'"),
    (60, 0, "flower_standby_interval is 0"), (60, "0.0", "flower_standby_interval is '0.0'"), (True, "", "flower_standby_follow is True"),
])  # fmt: skip
def test_how_a_hub_is_followed_is_checked(follow, interval, wrong):
    found = standby_faults({"flower_hub": ["a"], "flower_standby": ["b"]}, "flower_hub", follow, interval)
    assert [one.split(",")[0] for one in found] == ([wrong] if wrong else [])
    assert "has 2 hosts (b, c)" in standby_faults({"flower_hub": ["a"], "flower_standby": ["b", "c"]})[0]
    assert "a is in the groups" in standby_faults({"flower_hub": ["a"], "flower_standby": ["a"]})[0]
    assert "flower_hub_group is hubs" in standby_faults({"hubs": ["a"], "flower_standby": ["b"]}, "hubs")[0]
    assert peers({"flower_hub": ["a"]}, "a") == []
    groups = {"flower_hub": ["a"], "flower_standby": ["b"]}
    assert peers(groups, "a") == ["b"] and peers(groups, "b") == ["a"]


OVER, RUNNING = {"run-id": 1, "status": "finished:completed"}, {"run-id": 2, "status": "running"}


def test_runs_that_are_over_forbid_nothing():
    assert hub_pair.runs_error("hub", [], abandon=False) == hub_pair.runs_error("hub", [OVER], abandon=False) == ("", "")


def test_active_runs_are_abandoned_only_on_request():
    assert "hub serves, and has active runs (2)" in hub_pair.runs_error("hub", [OVER, RUNNING], abandon=False)[0]
    assert hub_pair.runs_error("hub", [OVER, RUNNING], abandon=True) == ("", "abandon 1 active runs (2), which fail")


def test_runs_that_cannot_be_listed_are_not_none():
    refused = hub_pair.runs_error("hub", "no right to exec", abandon=False)[0]
    assert "cannot determine whether hub has active runs, which would fail (no right to exec)" in refused
    assert "flower_failover_abandon_runs=true" in refused and "flower_failover_hub_lost=true" in refused
    error, words = hub_pair.runs_error("hub", "no right to exec", abandon=True)
    assert not error and "cannot be listed (no right to exec)" in words
