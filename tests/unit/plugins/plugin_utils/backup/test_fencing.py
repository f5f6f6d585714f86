# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""A hub that serves is stopped only if it has no active run, which has to be known."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.backup.fencing import runs_error

OVER, ACTIVE = {"run-id": 1, "status": "finished:completed"}, {"run-id": 2, "status": "running"}


def test_runs_that_are_over_forbid_nothing():
    assert runs_error("hub", [], abandon=False) == runs_error("hub", [OVER], abandon=False) == ("", "")


def test_active_runs_are_abandoned_only_on_request():
    assert "hub serves, and has active runs (2)" in runs_error("hub", [OVER, ACTIVE], abandon=False)[0]
    assert runs_error("hub", [OVER, ACTIVE], abandon=True) == ("", "abandon 1 active runs (2), which fail")


def test_runs_that_cannot_be_listed_are_not_none():
    refused = runs_error("hub", "no right to exec", abandon=False)[0]
    assert "whether hub has active runs, which would fail, is not known (no right to exec)" in refused
    assert "flower_failover_abandon_runs=true" in refused and "flower_failover_hub_lost=true" in refused
    error, words = runs_error("hub", "no right to exec", abandon=True)
    assert not error and "not known (no right to exec)" in words
