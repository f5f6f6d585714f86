# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime
from typing import Any

from ansible_collections.federated.flower.plugins.plugin_utils.kube.streams import ExecResult
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import ca_state as ca
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import gateway_certificates, machine
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import Authority
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.gateway_certificates import Gateway
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)
OLD, NEW, STRANGE = (certificates.make_ca(name, 100 * DAY) for name in ("old", "new", "strange"))
TOLD = {"federation": "demo", "namespace": "flower", "server_name": "hub.example", "address": "203.0.113.5:9092"}
STATE = ca.State(Authority(OLD))
ADDING = ca.begin(STATE, NEW, NOW)


def test_names_that_sites_need_are_in_every_certificate():
    assert gateway_certificates.needed_names(TOLD) == ["hub.example", "203.0.113.5"]


def test_the_names_of_our_own_certificate_are_kept():
    own = gateway_certificates.issue(OLD, ["more.example", "hub.example"], DAY)
    assert {"more.example", "hub.example", "203.0.113.5"} <= set(gateway_certificates.names_to_issue(own, STATE.bundle, TOLD))
    switched = ca.switch(ADDING, NOW)
    assert "more.example" in gateway_certificates.names_to_issue(own, switched.bundle, TOLD), (
        "the previous CA's certificate is ours, too"
    )


def test_the_names_of_a_foreign_certificate_are_not_taken_over():
    foreign = gateway_certificates.issue(STRANGE, ["evil.example"], DAY)
    assert (
        gateway_certificates.names_to_issue(foreign, STATE.bundle, TOLD)
        == gateway_certificates.needed_names(TOLD)
        == gateway_certificates.names_to_issue({}, STATE.bundle, TOLD)
    )


def test_the_next_certificate_is_tried_under_each_name_but_addresses():
    assert gateway_certificates.next_names(["hub.example", "203.0.113.5", "2001:db8::1", "*.example"]) == [
        "next.hub.example"
    ]


@each_row("changed", [{"tls.crt": "x"}, {"tls.key": NEW.key}, {"tls.crt": ""}])
def test_a_certificate_that_someone_damaged_is_none(changed):
    own = {**gateway_certificates.issue(OLD, ["more.example"], DAY), **changed}
    assert gateway_certificates.leaf_facts(own, STATE, [], "5e", NOW) == machine.Leaf(served="5e")
    assert gateway_certificates.names_in(own) == []
    assert gateway_certificates.names_to_issue(own, STATE.bundle, TOLD) == gateway_certificates.needed_names(TOLD)


def test_what_the_machine_has_to_know():
    own = gateway_certificates.issue(OLD, ["hub.example"], DAY)
    serial = certificates.describe(own["tls.crt"])["serial"]
    assert gateway_certificates.leaf_facts(own, STATE, ["hub.example"], serial, NOW) == machine.Leaf(
        serial, machine.BY_CURRENT, True, serial
    )
    assert gateway_certificates.leaf_facts(own, STATE, ["other.example"], "", NOW).valid is False
    assert gateway_certificates.leaf_facts(own, STATE, ["hub.example"], "", NOW + 2 * DAY).valid is False
    assert gateway_certificates.leaf_facts(own, STATE, ["hub.example"], "", NOW - DAY).valid is False, "signed by a clock that was ahead"
    assert (
        gateway_certificates.leaf_facts(gateway_certificates.issue(NEW, ["h"], DAY), ADDING, ["h"], "", NOW).issuer
        == machine.BY_NEXT
    )
    assert (
        gateway_certificates.leaf_facts(gateway_certificates.issue(STRANGE, ["h"], DAY), ADDING, ["h"], "", NOW).issuer
        == machine.BY_OTHER
    )
    assert (
        gateway_certificates.leaf_facts(gateway_certificates.issue(STRANGE, ["h"], DAY), None, ["h"], "", NOW).issuer
        == machine.BY_CURRENT
    )
    assert gateway_certificates.leaf_facts({}, STATE, ["h"], "7", NOW) == machine.Leaf(served="7")


# What HAProxy 2.6 of Debian 12 prints for a certificate on one line.
ALERT = b"""[NOTICE]   (12) : haproxy version is 2.6.12-1+deb12u4
[ALERT]    (12) : config : parsing [/etc/gw/haproxy.cfg:20] : 'bind :9092' in section 'frontend' : unable to load certificate from file '/certs/tls.pem'.
[ALERT]    (12) : config : Fatal errors found in configuration.
"""


class Hub:
    """A hub whose gateway says something."""

    name = "hub"

    def __init__(self, result: ExecResult) -> None:
        self.result = result
        self.asked: list[Any] = []

    def exec(self, *where: Any, **_more: Any) -> ExecResult:
        self.asked.append(where)
        return self.result


def test_files_that_are_taken() -> None:
    hub = Hub(ExecResult(b"Configuration file is valid\n", b"", 0))
    gateway: Any = Gateway
    assert gateway(hub, "flower").refusal() == ""
    assert hub.asked == [("flower", "superlink-0", "gateway", ["haproxy", "-c", "-f", "/etc/gw/haproxy.cfg"])]


@each_row(
    ("result", "words"),
    [
        (ExecResult(b"", ALERT, 1), "unable to load certificate from file '/certs/tls.pem'. [ALERT]"),
        (ExecResult(b"", b"", 137), "HAProxy: code 137"),
        (ExecResult(b"\xff" * 5000, b"", 1), "HAProxy: "),
    ],
)
def test_files_that_are_refused(result: ExecResult, words: str) -> None:
    gateway: Any = Gateway
    found = gateway(Hub(result), "flower").refusal()
    assert found.startswith("the gateway on hub rejects its files") and words in found
    assert "\n" not in found and len(found) < 1100 and "superlink_patches" in found
