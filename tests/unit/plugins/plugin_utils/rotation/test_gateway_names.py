# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sites verify the gateway's certificate against, and what is put into it."""

from __future__ import annotations

from dataclasses import replace

from ansible_collections.federated.flower.plugins.plugin_utils.rotation import certificate_checks
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_checks import SiteNames
from ansible_collections.federated.flower.tests.unit.rows import each_row

FIXED = "superlink.flower.flower.internal"
IP, DNS = "203.0.113.5:9092", "hub.example:9092"


@each_row(
    ("changes", "address", "sites", "found"),
    [
        ({}, DNS, [SiteNames("a"), SiteNames("b")], {"hub.example": "a, b"}),
        # HAProxy compares DNS entries only.
        ({}, IP, [SiteNames("a")], {FIXED: "a"}),
        ({}, "[2001:db8::1]:9092", [SiteNames("a")], {FIXED: "a"}),
        # A SuperNode without a sidecar verifies what it dials.
        ({}, IP, [SiteNames("a", sidecar=False)], {"203.0.113.5": "a"}),
        ({}, "[2001:db8::1]:9092", [SiteNames("a", sidecar=False)], {"2001:db8::1": "a"}),
        ({}, DNS, [SiteNames("a", address="gw.site:443", sidecar=False)], {"gw.site": "a"}),
        # What a sidecar verifies is published, whatever address it dials.
        ({}, DNS, [SiteNames("a", address="10.0.0.1:1")], {"hub.example": "a"}),
        (
            {},
            DNS,
            [SiteNames("a", server_name="own.example"), SiteNames("b")],
            {"own.example": "a", "hub.example": "b"},
        ),
        ({"server_name": "said.example"}, IP, [SiteNames("a")], {"said.example": "a"}),
        ({"server_name": "said.example"}, "", [SiteNames("a")], {"said.example": "a"}),
        # While the address is unknown, so is what hangs on it.
        ({}, "", [SiteNames("a"), SiteNames("b", server_name="own.example")], {"own.example": "b"}),
        ({}, "", [SiteNames("a", sidecar=False)], {}),
        ({}, DNS, [], {"hub.example": "sites"}),
        # A fault in the variables of one site, which its own checks report, concerns no other.
        (
            {},
            DNS,
            [
                SiteNames("port", address="gw.site", sidecar=False),
                SiteNames("letter", server_name="höpital.example"),
                SiteNames("b"),
            ],
            {"hub.example": "b"},
        ),
        ({}, DNS, [SiteNames("a", address="GW.Site:443", sidecar=False)], {"GW.Site": "a"}),
        ({}, DNS, [SiteNames(str(number)) for number in range(9)], {"hub.example": "0, 1, 2 and 6 more"}),
    ],
)
def test_needed(parsed_hub, changes, address, sites, found):
    assert certificate_checks.verified_names(parsed_hub(superlink_address="", **changes), address, sites) == found


ROUTED, OWN = "superlink-flower.apps.example", "flower.example"


@each_row(
    ("changes", "address", "site", "fault"),
    [
        # The variables of the hub. The host that OpenShift generated, and the only DNS name of a company's certificate.
        ({"exposure": "route", "server_name": OWN}, f"{ROUTED}:443", SiteNames("a"), f"Set superlink_host to {OWN}"),
        ({"exposure": "ingress", "host": ROUTED, "server_name": OWN}, f"{ROUTED}:443", SiteNames("a"), f"verifies {OWN}, but superlink_exposure ingress"),
        ({"exposure": "route"}, f"{ROUTED}:443", SiteNames("a"), ""),
        ({"exposure": "route", "host": OWN, "server_name": OWN}, f"{OWN}:443", SiteNames("a"), ""),
        # The name of the handshake is that of the Route; sites connect to another one that leads to the same router.
        ({"exposure": "route", "host": OWN, "server_name": OWN, "superlink_address": f"{ROUTED}:443"}, f"{ROUTED}:443", SiteNames("a"), ""),
        # It may be an alias of the router, or another way to the gateway.
        ({"exposure": "ingress", "host": ROUTED, "superlink_address": f"{OWN}:443"}, f"{OWN}:443", SiteNames("a"), ""),
        # Of a Gateway, sites know the IP address, and find what is behind it by the name that sidecars verify.
        ({"exposure": "gateway_api", "gateway": {"name": "public"}}, IP, SiteNames("a"), ""),
        ({"exposure": "gateway_api", "gateway": {"name": "public"}, "server_name": OWN}, IP, SiteNames("a"), ""),
        # These are not behind the router.
        ({"exposure": "route", "server_name": OWN}, f"{ROUTED}:443", SiteNames("a", address="skupper:9092"), ""),
        ({"exposure": "route", "server_name": OWN}, f"{ROUTED}:443", SiteNames("a", sidecar=False), ""),
        ({"exposure": "load_balancer", "server_name": OWN}, f"{ROUTED}:443", SiteNames("a"), ""),
        ({"exposure": "route", "server_name": OWN}, "", SiteNames("a"), ""),
    ],
)
def test_names_by_which_a_router_does_not_find_the_gateway(parsed_hub, changes, address, site, fault):
    found = certificate_checks.routing(parsed_hub(**{"superlink_address": "", **changes}), address, [site])
    assert found.of_sites == {} and found.warnings == []
    assert len(found.faults) == bool(fault) and fault in "".join(found.faults), found


def test_a_name_in_the_variables_of_one_site_is_the_fault_of_that_site(parsed_hub):
    sites = [SiteNames("a"), SiteNames("b", server_name=OWN)]
    found = certificate_checks.routing(parsed_hub(superlink_address="", exposure="route"), f"{ROUTED}:443", sites)
    assert found.faults == [] and list(found.of_sites) == ["b"] and "Correct supernode_server_name" in found.of_sites["b"]
    assert len(found.warnings) == 1 and found.warnings[0].startswith("b: ")


def test_a_supernode_that_connects_to_a_gateway_itself_needs_a_name(parsed_hub):
    """It sends no name in the handshake with an IP address."""
    spec = parsed_hub(superlink_address="", exposure="gateway_api", gateway={"name": "public"})
    found = certificate_checks.routing(spec, IP, [SiteNames("a"), SiteNames("b", sidecar=False)])
    assert found.faults == [] and list(found.of_sites) == ["b"]
    assert "Set superlink_host of the hub to a name that resolves to it, or supernode_sidecar to true" in found.of_sites["b"]


def test_a_name_that_a_patch_adds_to_an_ingress_leads_to_the_gateway(parsed_hub):
    rules = [{"host": one, "http": {"paths": []}} for one in (ROUTED, OWN)]
    patch = {"target": {"kind": "Ingress", "name": "superlink"}, "patch": {"spec": {"rules": rules}}}
    spec = parsed_hub(superlink_address="", exposure="ingress", host=ROUTED, server_name=OWN, patches=[patch])
    assert certificate_checks.routing(spec, f"{ROUTED}:443", [SiteNames("a")]).faults == []


def test_wanted(parsed_hub):
    spec = parsed_hub(superlink_address=IP, certificate_names=["more.example", "192.0.2.1"])
    got = spec.names_of_certificate([FIXED, "own.example"])
    assert got == [
        FIXED,
        "superlink",
        "superlink.flower.svc",
        "own.example",
        "more.example",
        "203.0.113.5",
        "192.0.2.1",
    ]
    public = replace(spec, certificate_internal_names=False)
    assert public.names_of_certificate(["own.example"]) == ["own.example", "more.example", "192.0.2.1"]
