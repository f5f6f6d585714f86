# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""The Skupper network in the report on the fleet."""

from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils.fleet.fleet_report import fleet_report
from ansible_collections.federated.flower.plugins.plugin_utils.fleet.fleet_table import fleet_table
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import network, rotation_plan
from ansible_collections.federated.flower.tests.unit import strange_crypto
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given
from ansible_collections.federated.flower.tests.unit.rows import each_row

NOW = datetime.datetime.now(datetime.timezone.utc)
MONTH = datetime.timedelta(days=30)
CA = certificates.make_ca("hub site CA", datetime.timedelta(days=1825))
ENDING = certificates.make_ca("warehouse site CA", datetime.timedelta(days=10))


def record(name, up=True):
    return {
        "id": f"uid-of-{name}",
        "name": name,
        "links": [{"name": "flower-hub", "remoteSiteId": "uid-of-hub", "operational": up}],
        "services": [{"routingKey": "flower-fleet", "listeners": ["flower-superlink"]}],
    }


def hub(*others, connected=True, connectors=None, **more):
    site = given.hub_site(
        network=[{"id": "uid-of-hub", "name": "hub"}, *others], controller={"version": "2.2.1"}, **more
    )
    connector = given.live(
        "Connector",
        "flower-superlink",
        {"routingKey": "flower-fleet"},
        given.condition("Configured", connected, "No pods match selector"),
    )
    connectors = [connector] if connectors is None else connectors
    return network.of_hub([site], connectors, rotation_plan.facts(rotation_plan.Hub(CA.certificate)))


def listener(name="flower-superlink", key="flower-fleet", matched=True):
    spec = {"host": name, "port": 9092, "routingKey": key}
    return given.live("Listener", name, spec, given.condition("Configured"), given.condition("Matched", matched))


def joined(up=True, matched=True, service=True, listeners=None, links=(), **more):
    return network.of_site(
        [given.site()],
        [given.link(up=up, **more), *links],
        [listener(matched=matched)] if listeners is None else listeners,
        {"flower-superlink": {} if service else None, "fleet-api": {}, "warehouse": {}},
        {"flower-hub": {"tls.crt": CA.certificate}, "warehouse": {"tls.crt": ENDING.certificate}},
    )


def problems(hub_sees, **sites):
    return network.problems("hub", hub_sees, {name.replace("_", "-"): site for name, site in sites.items()}, NOW, MONTH)


def test_all_is_well():
    seen = hub(record("site-a"))
    assert problems(seen, site_a=joined()) == []
    assert seen["linked"] == {"site-a": True} and seen["listeners"] == ["site-a"]
    assert seen["certificates"][0]["kind"] == rotation_plan.CA


@each_row(
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


def test_a_connector_that_is_used_although_someone_else_created_it_is_the_way_to_the_superlink():
    def connector(name, port, good):
        return given.live("Connector", name, {"routingKey": name, "port": port}, given.condition("Configured", good, "No pods match selector"), ours=False)

    seen = hub(connectors=[connector("warehouse", 5432, True), connector("fleet-api", 9092, True)])
    assert seen["connector"] == {"ready": True, "trouble": "", "keys": ["fleet-api"]}
    assert problems(seen, site_a=joined(listeners=[listener("fleet-api", "fleet-api")])) == []
    (problem,) = problems(hub(connectors=[connector("fleet-api", 9092, False)]), site_a=joined(listeners=[listener("fleet-api", "fleet-api")]))
    assert "the Connector to the SuperLink is not ready: it is not Configured: No pods match selector" in problem
    (problem,) = problems(hub(connectors=[connector("warehouse", 5432, True)]), site_a=joined())
    assert "there is no Connector to the SuperLink" in problem


def test_listeners_and_links_of_others_in_the_namespace_are_not_the_federations():
    theirs = listener("warehouse", "warehouse", matched=False)
    elsewhere = given.link("warehouse", remote="uid-of-warehouse", credentials="warehouse", ours=False)
    assert problems(hub(), site_a=joined(listeners=[listener(), theirs], links=[elsewhere])) == []
    assert problems(hub(), site_a=joined(listeners=[theirs])) == ["site-a: it has no Listener for the SuperLink (routing key flower-fleet)"]


def test_a_certificate_that_cannot_be_read_is_trouble_of_its_link():
    for pem in (strange_crypto.certificate(), "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        found = network.of_site([given.site()], [given.link()], [listener()], {"flower-superlink": {}}, {"flower-hub": {"tls.crt": pem}})
        assert [(one["ready"], one["not_after"]) for one in found["links"]] == [(False, "")]
        assert any("the certificate in Secret flower-hub cannot be read" in one for one in problems(hub(), site_a=found))


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
