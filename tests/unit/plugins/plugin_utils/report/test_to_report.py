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
        ({"failed": True, "msg": "b: wrong"}, ["b"]),
        ({"changed": True}, ["b"]),
        ({"warnings": ["b: old"]}, ["b"]),
        ({"warnings": []}, []),
    ],
)
def test_who_has_something_to_report(result: dict[str, object], reported: list[str]) -> None:
    checked = {"sites": {"a": {"changed": False}, "b": result}}
    assert sites_to_report({name: {"checked": checked} for name in SITES}, SITES, "checked") == reported


def test_hosts_outside_of_a_limit_have_no_result() -> None:
    checked = {"sites": {"c": {"failed": True}}}
    assert sites_to_report({"a": {}, "c": {"checked": checked}}, SITES, "checked") == ["c"]


def test_without_hosts_or_a_result_nothing_is_reported() -> None:
    assert sites_to_report({}, SITES, "checked") == []
    assert sites_to_report({"a": {"checked": {"skipped": True}}}, SITES, "checked") == []
