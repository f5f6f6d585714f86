# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""The results of each site, from those of steps that worked on many."""

from __future__ import annotations

from ansible_collections.federated.flower.plugins.plugin_utils.rotation.site_results import results_of, sites_failed

STEPS = [
    {"a": {"changed": True, "msg": "1"}, "b": {"failed": True, "msg": "b is down"}},
    {},
    {"a": {"changed": False, "msg": "2"}, "b": {"changed": True, "msg": "after its failure"}, "c.example": {"failed": False}},
]


def test_results_of_a_site() -> None:
    assert [result["msg"] for result in results_of(STEPS, "a")] == ["1", "2"]
    assert results_of(STEPS, "c.example") == [{"failed": False}]
    assert results_of(STEPS, "hub") == results_of([], "a") == []


def test_what_came_after_a_failure_does_not_hide_it() -> None:
    assert results_of(STEPS, "b") == [{"failed": True, "msg": "b is down"}]


def test_sites_that_failed() -> None:
    assert sites_failed(STEPS) == ["b"]
    assert sites_failed([]) == []
