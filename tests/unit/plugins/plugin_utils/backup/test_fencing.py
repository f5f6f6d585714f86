# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub that serves is stopped only if it has no active run, which has to be known."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.backup.fencing import Verdict, verdict

OVER, ACTIVE = {"run-id": 1, "status": "finished:completed"}, {"run-id": 2, "status": "running"}


def test_runs_that_are_over_forbid_nothing():
    assert verdict("hub", [], abandon=False) == verdict("hub", [OVER], abandon=False) == Verdict()


def test_active_runs_are_abandoned_only_on_request():
    assert "hub serves, and has active runs (2)" in verdict("hub", [OVER, ACTIVE], abandon=False).fault
    assert verdict("hub", [OVER, ACTIVE], abandon=True) == Verdict(words="abandon 1 active runs (2), which fail")


def test_runs_that_cannot_be_listed_are_not_none():
    refused = verdict("hub", "no right to exec", abandon=False).fault
    assert "whether hub has active runs, which would fail, is not known (no right to exec)" in refused
    assert "flower_failover_abandon_runs=true" in refused and "flower_failover_hub_lost=true" in refused
    told = verdict("hub", "no right to exec", abandon=True)
    assert not told.fault and "not known (no right to exec)" in told.words
