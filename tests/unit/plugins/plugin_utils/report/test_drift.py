# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What site.yml would change, by object."""

from __future__ import annotations

from typing import Any

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.report.drift import drifting, fleet_drift

SERVICE = {"kind": "Service", "namespace": "flower", "name": "superlink", "change": "changed"}
SAME = {"kind": "Secret", "namespace": "flower", "name": "x", "change": "unchanged"}
NODE = {"kind": "ClusterRole", "name": "supernode", "change": "created"}
DEPLOYED = {
    "sites": {
        "site-a": {"changed": True, "objects": [SAME, NODE]},
        "site-b": {"changed": False, "objects": [SAME]},
        "site-c": {"changed": True, "msg": "1 key to register"},
        "site-d": {"changed": True, "failed": True, "msg": "no connection"},
    }
}


def test_objects_by_host() -> None:
    hostvars: dict[str, dict[str, Any]] = {name: {"__supernode_deployed": DEPLOYED} for name in DEPLOYED["sites"]}
    hostvars["hub"] = {"__superlink_deployed": {"changed": True, "objects": [SERVICE, SAME]}}
    found = fleet_drift(hostvars, ["hub", *DEPLOYED["sites"]])
    assert [one["text"] for one in found] == [
        "hub: Service flower/superlink would be changed",
        "site-a: ClusterRole supernode would be created",
        "site-c: 1 key to register would be changed",
    ]


@pytest.mark.parametrize(("wanted", "chosen"), [("repair", ["b"]), ("report", []), ("heal", [])])
def test_only_repair_deploys(wanted: str, chosen: list[str]) -> None:
    hostvars = {"a": {}, "b": {"__reconcile_drift": [{"host": "b"}], "__reconcile_chosen": wanted}}
    assert drifting(hostvars, ["a", "b"]) == chosen
    assert drifting({}, ["a", "b"]) == []


def test_what_an_upgrade_has_not_completed_is_left_to_it() -> None:
    kept = {"__reconcile_drift": [{"host": "a"}, {"host": "b"}], "__reconcile_chosen": "repair", "__reconcile_held": ["a"]}
    assert drifting({"a": {}, "b": kept}, ["a", "b"]) == ["b"]
