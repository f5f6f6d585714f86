# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What sites verify the gateway's certificate against, and what is put into it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.hub import gateway_names
from ansible_collections.federated.flower.plugins.plugin_utils.hub.gateway_names import SiteNames

FIXED = "superlink.flower.flower.internal"
IP, DNS = "203.0.113.5:9092", "hub.example:9092"


@pytest.mark.parametrize(
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
    assert gateway_names.needed(parsed_hub(superlink_address="", **changes), address, sites) == found


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
