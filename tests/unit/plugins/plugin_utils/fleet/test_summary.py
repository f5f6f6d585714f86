# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""What site.yml would change, by object."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.fleet import summary
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.summary import (
    fleet_drift,
    fleet_summary,
    sites_to_report,
)
from ansible_collections.federated.flower.tests.unit.read import yaml_file
from ansible_collections.federated.flower.tests.unit.rows import each_row

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

SITES = ["a", "b", "c"]


def test_what_the_deployment_registers_is_read() -> None:
    roles = ("superlink", "ocm_addon", "skupper_site", "skupper_link", "skupper_listener")
    registered = {task["register"] for role in roles for task in yaml_file("roles", role, "tasks", "main.yml") if "register" in task}
    assert registered == set(summary._OWN)


def test_objects_by_host() -> None:
    hostvars: dict[str, dict[str, Any]] = {name: {"__supernode_deployed": DEPLOYED} for name in DEPLOYED["sites"]}
    listener = {"kind": "Listener", "namespace": "flower", "name": "superlink", "change": "created"}
    hostvars["hub"] = {"__superlink_deployed": {"changed": True, "objects": [SERVICE, SAME]}, "__ocm_addon_applied": {"changed": True}}
    hostvars["site-b"] |= {"__skupper_site": {"changed": False}, "__skupper_listener": {"changed": True, "objects": [listener]}}
    found = fleet_drift(hostvars, ["hub", *DEPLOYED["sites"]])
    assert [one["text"] for one in found] == [
        "hub: Service flower/superlink would be changed",
        "hub: add-on of Open Cluster Management would be changed",
        "site-a: ClusterRole supernode would be created",
        "site-b: Listener flower/superlink would be created",
        "site-c: 1 key to register would be changed",
    ]


def hub(*sites: str, **changes: Any) -> dict[str, Any]:
    """Each site has two SuperNodes; those of site-a are online."""
    keys = {site: [{"pool": "cpu", "name": str(number), "node_id": f"{site}-{number}"} for number in range(2)] for site in sites}
    nodes = {f"{site}-{number}": {"status": "online" if site == "site-a" else "offline"} for site in sites for number in range(2)}
    return {"address": "hub:9092", "sites": {site: {"keys": keys[site]} for site in sites}, "nodes": nodes, **changes}


def test_what_is_not_online_is_named() -> None:
    assert fleet_summary(hub("site-a"), ["site-a"]) == "2 SuperNodes of 1 site are online at hub:9092."
    told = fleet_summary(hub("site-a", "site-b"), ["site-a", "site-b"])
    assert told == "2 SuperNodes of 2 sites are online at hub:9092. Not online: 2 of 2 of site-b."
    many = [f"s{number}" for number in range(7)]
    assert fleet_summary(hub(*many), many).endswith(" 2 of 2 of s4 and those of 2 more sites.")
    found = hub("site-a", "site-b")
    found["sites"]["site-b"]["access"] = {"since": "x"}
    assert fleet_summary(found, ["site-a", "site-b"]).endswith("hub:9092. Denied: site-b.")


def test_without_node_authentication_there_are_no_keys_to_count_by() -> None:
    found = hub("site-a", insecure=True)
    found["sites"]["site-a"]["keys"] = []
    assert fleet_summary(found, ["site-a"]) == "2 SuperNodes of 1 site are online at hub:9092."


def test_keys_that_leave_and_their_successors_are_those_of_one_supernode() -> None:
    found = hub("site-a")
    found["sites"]["site-a"]["keys"] += [
        {"pool": "cpu", "name": "1", "node_id": "new", "leaving": None},
        {"pool": "cpu", "name": "2", "node_id": "gone", "leaving": True},
        {"pool": "cpu", "name": "3", "node_id": "dead", "dead": True},
        {"pool": "cpu", "name": "4", "node_id": None},
    ]
    found["sites"]["site-a"]["keys"][1]["leaving"] = True
    assert "Not online" not in fleet_summary(found, ["site-a"])


@each_row(
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
