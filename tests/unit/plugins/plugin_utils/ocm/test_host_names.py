# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.ocm import host_names

GROUPS = ("flower_sites", "flower_hub", "")


@pytest.mark.parametrize("name", ["a", "site-1", "a.b.c", "1", "10.0.0.1", "local-cluster", "x" * 253, "Two_hubs-a"])
def test_names_that_are_hosts(name: str) -> None:
    assert host_names.fault(name, GROUPS) == ""


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("all", "the name of a group"),
        ("ungrouped", "the name of a group"),
        ("flower_hub", "the name of a group"),
        ("localhost", "the control node"),
        ("127.0.0.1", "the control node"),
        ("", "not a valid host name"),
        ("a,b", "not a valid host name"),
        ("a[1:3]", "not a valid host name"),
        ("~a", "not a valid host name"),
        ("!a", "not a valid host name"),
        ("a:22", "not a valid host name"),
        ("a b", "not a valid host name"),
        ("a\n", "not a valid host name"),
        ("{{ 7*7 }}", "not a valid host name"),
    ],
)
def test_names_that_are_not(name: str, words: str) -> None:
    assert words in host_names.fault(name, GROUPS)
