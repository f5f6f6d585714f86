# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""The sentence at the end of site.yml: it is also about sites that the run did not look at, because of its limit for example."""

from __future__ import annotations

from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.report.summary import fleet_summary


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
