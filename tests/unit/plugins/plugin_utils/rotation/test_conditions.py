# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Which sites are not known to be online."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.rotation import conditions
from ansible_collections.federated.flower.plugins.plugin_utils.state import records


def record(site: str) -> dict[str, Any]:
    key = {"pool": "cpu", "name": "0", "public_key": "x", "node_id": site, "dead": False}
    return {**records.empty_record(site), "keys": {f"SHA256:{site}": key}}


def test_a_record_that_cannot_be_read_is_the_fault_of_its_site_only() -> None:
    found, unreadable = {name: record(name) for name in ("a", "b")}, {"c": "c is broken", "x": "x is broken"}
    nodes = {"a": {"status": "online"}, "b": {"status": "offline"}}
    assert conditions.away(["a"], found, unreadable, {}, nodes) == {}
    assert conditions.away(["a", "c"], found, unreadable, {}, nodes) == {"c": "c is broken"}
    assert conditions.away(["a", "b", "new"], found, unreadable, {}, nodes) == {"b": "cpu/0 is offline"}
