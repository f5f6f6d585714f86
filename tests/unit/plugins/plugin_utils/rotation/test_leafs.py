# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

from ansible_collections.federated.flower.plugins.plugin_utils import pki
from ansible_collections.federated.flower.plugins.plugin_utils.hub.authority import Authority
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import leafs, machine
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import state as ca

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)
OLD, NEW, STRANGE = (pki.make_ca(name, 100 * DAY) for name in ("old", "new", "strange"))
TOLD = {"federation": "demo", "namespace": "flower", "server_name": "hub.example", "address": "203.0.113.5:9092"}
STATE = ca.State(Authority(OLD))
ADDING = ca.begin(STATE, NEW, NOW)


def test_names_that_sites_need_are_in_every_certificate():
    assert leafs.needed_names(TOLD) == ["hub.example", "203.0.113.5"]


def test_the_names_of_our_own_certificate_are_kept():
    own = leafs.issue(OLD, ["more.example", "hub.example"], DAY)
    assert {"more.example", "hub.example", "203.0.113.5"} <= set(leafs.names_of(own, STATE.bundle, TOLD))
    switched = ca.switch(ADDING, NOW)
    assert "more.example" in leafs.names_of(own, switched.bundle, TOLD), "the previous CA's certificate is ours, too"


def test_the_names_of_a_foreign_certificate_are_not_taken_over():
    foreign = leafs.issue(STRANGE, ["evil.example"], DAY)
    assert (
        leafs.names_of(foreign, STATE.bundle, TOLD)
        == leafs.needed_names(TOLD)
        == leafs.names_of({}, STATE.bundle, TOLD)
    )


def test_the_next_certificate_is_tried_under_each_name_but_addresses():
    assert leafs.next_names(["hub.example", "203.0.113.5", "2001:db8::1", "*.example"]) == ["next.hub.example"]


def test_what_the_machine_has_to_know():
    own = leafs.issue(OLD, ["hub.example"], DAY)
    serial = pki.describe(own["tls.crt"])["serial"]
    assert leafs.leaf(own, STATE, ["hub.example"], serial, NOW) == machine.Leaf(
        serial, machine.BY_CURRENT, True, serial
    )
    assert leafs.leaf(own, STATE, ["other.example"], "", NOW).good is False
    assert leafs.leaf(own, STATE, ["hub.example"], "", NOW + 2 * DAY).good is False
    assert leafs.leaf(leafs.issue(NEW, ["h"], DAY), ADDING, ["h"], "", NOW).issuer == machine.BY_NEXT
    assert leafs.leaf(leafs.issue(STRANGE, ["h"], DAY), ADDING, ["h"], "", NOW).issuer == machine.BY_OTHER
    assert leafs.leaf(leafs.issue(STRANGE, ["h"], DAY), None, ["h"], "", NOW).issuer == machine.BY_CURRENT
    assert leafs.leaf({}, STATE, ["h"], "7", NOW) == machine.Leaf(served="7")
