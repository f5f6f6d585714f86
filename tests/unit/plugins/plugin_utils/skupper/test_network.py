# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Skupper network in the report on the fleet."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.filter.skupper import skupper_sites
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.report.fleet import fleet_report, fleet_table
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import network, rotation_plan
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given

NOW = datetime.datetime.now(datetime.timezone.utc)
MONTH = datetime.timedelta(days=30)
CA = certificates.make_ca("hub site CA", datetime.timedelta(days=1825))
LISTENER = {"host": "flower-superlink", "port": 9092, "routingKey": "flower-fleet"}


def record(name, up=True):
    return {
        "id": f"uid-of-{name}",
        "name": name,
        "links": [{"name": "flower-hub", "remoteSiteId": "uid-of-hub", "operational": up}],
        "services": [{"routingKey": "flower-fleet", "listeners": ["flower-superlink"]}],
    }


def hub(*others, connected=True, **more):
    site = given.hub_site(
        network=[{"id": "uid-of-hub", "name": "hub"}, *others], controller={"version": "2.2.1"}, **more
    )
    connector = given.live(
        "Connector",
        "flower-superlink",
        {"routingKey": "flower-fleet"},
        given.condition("Configured", connected, "No pods match selector"),
    )
    return network.of_hub([site], [connector], rotation_plan.facts(rotation_plan.Hub(CA.certificate)))


def joined(up=True, matched=True, service=True, **more):
    listener = given.live(
        "Listener", "flower-superlink", LISTENER, given.condition("Configured"), given.condition("Matched", matched)
    )
    return network.of_site(
        [given.site()],
        [given.link(up=up, **more)],
        [listener],
        {"flower-superlink": {} if service else None},
        {"flower-hub": {"tls.crt": CA.certificate}},
    )


def problems(hub_sees, **sites):
    return network.problems("hub", hub_sees, {name.replace("_", "-"): site for name, site in sites.items()}, NOW, MONTH)


def test_all_is_well():
    seen = hub(record("site-a"))
    assert problems(seen, site_a=joined()) == []
    assert seen["linked"] == {"site-a": True} and seen["listeners"] == ["site-a"]
    assert seen["certificates"][0]["kind"] == rotation_plan.CA


@pytest.mark.parametrize(
    ("seen", "site", "said"),
    [
        ({}, joined(), "hub hub: there is no Skupper site"),
        (
            hub(conditions=[given.condition("Configured"), given.condition("Running", False)]),
            joined(),
            "hub hub: Skupper site hub is not ready",
        ),
        (hub(connected=False), joined(), "the Connector to the SuperLink is not ready"),
        (hub(), {}, "site-a: there is no Skupper site"),
        (hub(), joined(up=False), "site-a: it is not linked to the hub: flower-hub-skupper-router"),
        (hub(), joined(remote="uid-of-another"), "it leads elsewhere"),
        (hub(), joined(matched=False), "site-a: Listener flower-superlink (flower-superlink:9092): no connector"),
        (hub(), joined(service=False), "has created no Service"),
        (hub(record("stranger")), joined(), "stranger is linked to the hub through Skupper, but is not one"),
    ],
)
def test_what_is_wrong(seen, site, said):
    found = problems(seen, site_a=site)
    assert any(said in one for one in found), found


def test_ends_of_certificates():
    late = datetime.timedelta(days=1825)
    found = network.problems("hub", hub(), {"site-a": joined()}, NOW, late * 2)
    assert any(one.startswith("hub hub: the CA of the Skupper network expires on") for one in found)
    assert any("site-a: the certificate of its link flower-hub-skupper-router expires on" in one for one in found)


def report(**more):
    told = {
        "reachable": True, "error": "", "deployed": True, "address": "a:1", "version": "1.41.0", "workloads": [], "trouble": "",
        "certificate": {}, "trust": [], "partitions": 0, "sites": {}, "nodes": {}, "runs": [], "unknown_nodes": [], **more,
    }  # fmt: skip
    site = {
        "reachable": True,
        "error": "",
        "workloads": [],
        "trouble": "",
        "skupper": True,
        "network": joined(up=False),
    }
    return fleet_report("hub", told, {"site-a": site})


def test_report_and_table():
    made = report(network=hub(record("site-a", up=False)))
    assert made["network"]["hub"]["linked"] == {"site-a": False}
    assert any("it is not linked to the hub" in one for one in made["problems"])
    lines = fleet_table(made).splitlines()
    assert any(
        line.startswith("skupper 2.2.1 at 192.0.2.7:55671") and "linked: site-a (down)" in line for line in lines
    )
    assert any(line.startswith("skupper certificates expire: CA 20") and "links: site-a 20" in line for line in lines)


def test_a_fleet_without_skupper_says_nothing_of_it():
    told = {"reachable": True, "error": "", "workloads": [], "trouble": ""}
    made = fleet_report(
        "hub",
        {
            "reachable": True, "error": "", "deployed": True, "address": "", "version": "", "workloads": [], "trouble": "", "certificate": {},
            "trust": [], "partitions": 0, "sites": {}, "nodes": {}, "runs": [], "unknown_nodes": [],
        },
        {"site-a": told},
    )  # fmt: skip
    assert made["network"] == {} and "skupper" not in fleet_table(made)


def test_sites_of_an_inventory():
    hosts = {"a": {"flower_connectivity": "skupper"}, "b": {"flower_connectivity": "direct"}, "c": {}}
    assert skupper_sites(hosts, ["a", "b", "c", "unknown"]) == ["a"]
    assert skupper_sites({}, ["a"]) == []
