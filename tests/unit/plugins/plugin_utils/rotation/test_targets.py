# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime
import re

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import ca_state as ca
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import gateway_certificates, machine, targets
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import Authority
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)
CA_, OTHER = certificates.make_ca("ca", 100 * DAY), certificates.make_ca("other", 100 * DAY)
TOLD = {"federation": "demo", "namespace": "flower", "server_name": "hub.example", "address": "hub.example:9092"}
NAMES = gateway_certificates.needed_names(TOLD)
LEAF = gateway_certificates.issue(CA_, NAMES, 90 * DAY)
REQUEST = certificates.client_request(keypairs.make_client_key(), "a")
AHEAD = certificates.sign_client_request(OTHER, REQUEST, "a", "demo", 9 * DAY, NOW + DAY)  # by a clock that was ahead
SERIAL = certificates.describe(LEAF["tls.crt"])["serial"]


def inputs(**changes):
    given = {
        "now": NOW,
        "source": "builtin",
        "handed_in": None,
        "secret": "superlink-gateway-tls",
        "leaf": LEAF,
        "names": NAMES,
        "state": ca.State(Authority(CA_)),
        "facts": machine.Facts(NOW, published=CA_.certificate, leaf=machine.Leaf(SERIAL, machine.BY_CURRENT, True, SERIAL)),
        "records": {},
    }
    return targets.RotationInputs(**{**given, **changes})


def test_nothing_is_due_at_first():
    assert targets.decide("due", inputs()) == ({}, None)


@each_row(
    ("changes", "kind", "words"),
    [
        ({"now": NOW + 46 * DAY}, "leaf", "more than half"),
        ({"now": NOW + 5 * DAY, "renew_before": 86 * DAY}, "leaf", "it expires on"),
        ({"now": NOW + 91 * DAY, "ca_renew_before": DAY}, "leaf", "it expired on"),
        ({"names": [*NAMES, "late.example"]}, "leaf", "does not cover late.example"),
        ({"leaf": gateway_certificates.issue(OTHER, NAMES, DAY)}, "leaf", "not issued by the current CA"),
        ({"now": NOW - DAY}, "leaf", "it is not valid before"),
        ({"facts": machine.Facts(NOW, leaf=machine.Leaf(SERIAL, served="1"))}, "leaf", "does not serve it yet"),
        ({"now": NOW + 51 * DAY, "renew_before": DAY}, "ca", "more than half"),
        ({"now": NOW + 5 * DAY, "ca_renew_before": 99 * DAY}, "ca", "it expires on"),
        ({"state": ca.begin(ca.State(Authority(CA_)), OTHER, NOW)}, "ca", "it was started on .* is adding"),
        ({"internal": True}, "superexec", "was started"),
        (
            {"records": {"a": {"client": {"certificate": certificates.make_ca("a", DAY / 1440).certificate}}}},
            "client",
            "a: more than half",
        ),
        ({"records": {"a": {"client": {"certificate": AHEAD}}}}, "client", "a: it is not valid before"),
    ],
)
def test_what_is_due_and_why(changes, kind, words):
    todo, refused = targets.decide("due", inputs(**changes))
    assert refused is None and list(todo) == [kind]
    assert re.search(words, todo[kind]), todo


@each_row(
    ("changed", "words"),
    [({"tls.crt": ""}, "its certificate is empty"), ({"tls.key": ""}, "its private key is empty"), ({"tls.key": OTHER.key}, "belongs to another")],
)
def test_a_leaf_that_someone_damaged_is_due(changed, words):
    todo, refused = targets.decide("due", inputs(leaf={**LEAF, **changed}))
    assert refused is None and list(todo) == ["leaf"] and words in todo["leaf"]
    begun = ca.begin(ca.State(Authority(CA_)), OTHER, NOW)
    assert list(targets.decide("due", inputs(leaf={**LEAF, **changed}, state=begun))[0]) == ["ca"], "its next step issues one"


def test_a_leaf_of_a_ca_that_changes_is_left_to_the_change():
    state = ca.switch(ca.begin(ca.State(Authority(CA_)), OTHER, NOW), NOW)
    assert list(targets.decide("due", inputs(state=state))[0]) == ["ca"]


@each_row("phase", [ca.ADDING, ca.SWITCHED, ca.DROPPING])
def test_a_leaf_is_renewed_by_its_age_while_a_site_holds_up_the_change_of_the_ca(phase):
    state = ca.begin(ca.State(Authority(OTHER if phase != ca.ADDING else CA_)), CA_ if phase != ca.ADDING else OTHER, NOW)
    state = state if phase == ca.ADDING else ca.switch(state, NOW)
    state = ca.drop(state) if phase == ca.DROPPING else state
    assert state.phase == phase
    given = {"state": state, "ca_renew_before": DAY}
    assert list(targets.decide("due", inputs(**given))[0]) == ["ca"]
    todo, refused = targets.decide("due", inputs(**given, now=NOW + 46 * DAY))
    assert refused is None and list(todo) == ["leaf", "ca"] and "more than half" in todo["leaf"]


@each_row(
    "changes",
    [
        {"leaf": gateway_certificates.issue(OTHER, NAMES, 90 * DAY)},  # the next step issues one of the current CA
        {"facts": machine.Facts(NOW, leaf=machine.Leaf(SERIAL, served=SERIAL), current_valid=False)},
        {"state": ca.begin(ca.State(Authority(certificates.Issued(CA_.certificate, ""))), OTHER, NOW)},
    ],
)
def test_a_leaf_that_the_current_ca_did_not_or_cannot_sign_is_left_to_the_change_though_it_is_old(changes):
    given = {"state": ca.begin(ca.State(Authority(CA_)), OTHER, NOW), "now": NOW + 46 * DAY, "ca_renew_before": DAY}
    serial = certificates.describe(changes.get("leaf", LEAF)["tls.crt"])["serial"]
    facts = {"facts": machine.Facts(NOW, leaf=machine.Leaf(serial, served=serial))}
    assert list(targets.decide("due", inputs(**{**given, **facts, **changes}))[0]) == ["ca"]


@each_row("kind", targets.KINDS)
def test_what_is_asked_for_is_done_though_it_is_not_due(kind):
    todo, refused = targets.decide(kind, inputs())
    assert todo == {kind: targets.ASKED} and refused is None


def test_what_is_open_is_completed_and_not_begun_again():
    state = ca.begin(ca.State(Authority(CA_)), OTHER, NOW)
    assert "was started" in targets.decide("ca", inputs(state=state))[0]["ca"]


@each_row(
    ("changes", "kind", "words"),
    [
        ({"source": "existing", "state": None}, "leaf", "Secret superlink-gateway-tls is provided by you"),
        ({"source": "cert_manager", "state": None}, "leaf", "cmctl renew"),
        ({"source": "existing", "state": None}, "ca", "superlink_ca_bundle"),
        ({"source": "cert_manager", "state": None}, "ca", "issuer"),
        ({"handed_in": CA_, "state": None}, "ca", "superlink_ca_key"),
    ],
)
def test_what_is_not_ours_is_refused_with_the_way_out(changes, kind, words):
    assert words in targets.decide(kind, inputs(**changes))[1]


def test_a_leaf_of_a_ca_that_is_handed_in_can_be_asked_for():
    assert targets.decide("leaf", inputs(handed_in=CA_, state=None)) == ({"leaf": targets.ASKED}, None)


@pytest.mark.parametrize("source", ["cert_manager", "existing"])
def test_what_others_renew_is_never_due(source):
    assert targets.decide("due", inputs(source=source, state=None, now=NOW + 89 * DAY))[0] == {}


@each_row("kind", ["leaf", "ca"])
@each_row(
    "changes",
    [
        {"secret": "corporate", "state": None},
        {"leaf": gateway_certificates.issue(OTHER, NAMES, DAY)},  # among what is published
        {"leaf": gateway_certificates.issue(OTHER, NAMES, DAY), "handed_in": CA_, "state": None},
    ],
)
def test_nothing_of_ours_is_served_before_a_former_source_has_handed_over(kind, changes):
    """Publishing our CA alone would cut off every site while the gateway serves what the other one signed."""
    facts = machine.Facts(NOW, published=OTHER.certificate + CA_.certificate, leaf=machine.Leaf(served="1"))
    found = inputs(facts=facts, **changes)
    assert targets.decide("due", found) == ({}, None)
    refused = targets.decide(kind, found)[1]
    assert "superlink_ca_key" in refused or "run site.yml" in refused


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"facts": machine.Facts(NOW, leaf=machine.Leaf(SERIAL, served=SERIAL), current_valid=False)},
            "the CA has expired",
        ),
        ({"state": ca.State(Authority(certificates.Issued(CA_.certificate, "")))}, "the key of the CA is lost"),
    ],
)
def test_a_ca_that_is_of_no_use_is_replaced_and_signs_nothing(changes, words):
    changes |= {"now": NOW + 91 * DAY, "ca_renew_before": DAY}
    assert targets.decide("due", inputs(**changes))[0] == {"ca": words}
    assert "flower_rotate=ca" in targets.decide("leaf", inputs(**changes))[1]


def test_the_outlook_tells_kinds_reasons_and_steps():
    found = inputs()
    words = targets.outlook({"leaf": "r1", "ca": "r2", "superexec": "r3"}, found, {"a": machine.Site(), "b": machine.Site()})
    assert [word.partition(":")[0] for word in words] == ["leaf", "ca", "superexec"]
    assert "create the next CA" in words[1] and "(a, b)" in words[1] and words[1].count("let the next CA sign") == 1
    assert "PRIVATE" not in " ".join(words)
