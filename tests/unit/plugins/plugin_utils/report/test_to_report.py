# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which sites are reported after a task that worked on many."""

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.report.to_report import sites_to_report

SITES = ["a", "b", "c"]


@pytest.mark.parametrize(
    ("result", "reported"),
    [
        ({"changed": False, "msg": "ready"}, []),
        ({"failed": True, "changed": True, "msg": "b: wrong"}, ["a", "b"]),
        ({"changed": True}, ["b"]),
        ({"warnings": ["b: old"]}, ["b"]),
        ({"warnings": []}, []),
    ],
)
def test_who_has_something_to_report(result: dict[str, object], reported: list[str]) -> None:
    checked = {"sites": {"a": {"changed": False}, "b": result}}
    assert sites_to_report({name: {"checked": checked} for name in SITES}, SITES, "checked") == reported


def test_a_play_with_failed_sites_has_one_that_did_not_fail() -> None:
    """Without it the run would end there, and the other sites would not be deployed."""

    def reported(**results: dict[str, object]) -> list[str]:
        return sites_to_report({name: {"checked": {"sites": results}} for name in SITES}, SITES, "checked")

    failed, fine, old = {"failed": True}, {"changed": False}, {"warnings": ["old"]}
    assert reported(a=failed, b=fine, c=fine) == ["a", "b"]
    assert reported(a=failed, b=fine, c=old) == ["a", "c"]
    assert reported(a=failed, c=fine) == ["a", "c"], "b is outside of the limit"
    assert reported(a=failed, b=failed, c=failed) == SITES


def test_hosts_outside_of_a_limit_have_no_result() -> None:
    checked = {"sites": {"c": {"warnings": ["c: old"]}}}
    assert sites_to_report({"a": {}, "c": {"checked": checked}}, SITES, "checked") == ["c"]


def test_without_hosts_or_a_result_nothing_is_reported() -> None:
    assert sites_to_report({}, SITES, "checked") == []
    assert sites_to_report({"a": {"checked": {"skipped": True}}}, SITES, "checked") == []
