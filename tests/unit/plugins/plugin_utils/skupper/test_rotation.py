# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation in a Skupper network: what is due, where a change of the CA is, and what comes next."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import link_credentials, rotation_plan
from ansible_collections.federated.flower.tests.unit.plugins.plugin_utils.skupper import objects as given

NOW = datetime.datetime.now(datetime.timezone.utc)
YEARS = datetime.timedelta(days=1825)
LATE = NOW + YEARS * 0.6
SHORT = datetime.timedelta(days=10)


def serial(ca):
    return link_credentials.describe(ca.certificate)["serial"]


@pytest.fixture(scope="module")
def old():
    return certificates.make_ca("old", YEARS)


@pytest.fixture(scope="module")
def new():
    return certificates.make_ca("new", YEARS)


def server(ca, *trusted, lifetime=YEARS):
    made = certificates.issue(ca, "skupper-router", ["192.0.2.7"], lifetime)
    return {
        "tls.crt": certificates.first(made.certificate),
        "tls.key": made.key,
        "ca.crt": "".join(one.certificate for one in trusted),
    }


def client(ca, lifetime=YEARS):
    return certificates.issue_client(ca, "site-a", "flower", lifetime).certificate


def test_stages(old, new):
    def stage(ca, leaf, *trusted):
        return rotation_plan.stage(
            rotation_plan.Hub(ca.certificate if ca else "", server(leaf, *trusted) if leaf else {})
        )

    assert stage(old, old, old) == rotation_plan.SETTLED
    assert stage(new, old, old) == rotation_plan.BEGUN
    assert stage(new, old, old, new) == rotation_plan.OVERLAP
    assert stage(new, new, new, old) == rotation_plan.TRIMMED
    assert stage(new, new, new) == rotation_plan.SETTLED
    assert stage(None, None) == stage(old, None) == rotation_plan.NONE


def test_a_change_of_the_ca_step_by_step(old, new):
    """Whoever breaks off after any step goes on with the next."""
    asked = [rotation_plan.CA]
    assert (
        rotation_plan.next_step(rotation_plan.Hub(old.certificate, server(old, old)), asked, changed_over=False)
        == rotation_plan.REPLACE_CA
    )
    assert (
        rotation_plan.next_step(rotation_plan.Hub(new.certificate, server(old, old)), (), changed_over=False)
        == rotation_plan.TRUST_BOTH
    )
    overlap = rotation_plan.Hub(new.certificate, server(old, old, new))
    assert rotation_plan.next_step(overlap, (), changed_over=False) == ""
    assert rotation_plan.next_step(overlap, (), changed_over=True) == rotation_plan.REPLACE_SERVER
    assert rotation_plan.next_step(rotation_plan.Hub(new.certificate, server(new, new)), (), changed_over=True) == ""
    assert rotation_plan.next_step(rotation_plan.Hub(), asked, changed_over=True) == ""


def test_server_alone(old):
    settled = rotation_plan.Hub(old.certificate, server(old, old))
    assert rotation_plan.next_step(settled, [rotation_plan.SERVER], changed_over=False) == rotation_plan.REPLACE_SERVER
    assert rotation_plan.next_step(settled, [rotation_plan.LINK], changed_over=False) == ""


def test_what_is_due(old):
    hub = rotation_plan.Hub(
        old.certificate, server(old, old, lifetime=SHORT), {"site-a": client(old), "site-b": client(old, SHORT)}
    )
    assert rotation_plan.due(hub, NOW) == {}
    assert set(rotation_plan.due(hub, NOW + SHORT * 0.6)) == {rotation_plan.SERVER, rotation_plan.LINK}
    assert "site-b" in rotation_plan.due(hub, NOW + SHORT * 0.6)[rotation_plan.LINK]
    assert set(rotation_plan.due(hub, LATE)) == {rotation_plan.CA, rotation_plan.SERVER, rotation_plan.LINK}
    assert set(rotation_plan.due(hub, NOW, YEARS * 1.1)) == {rotation_plan.CA, rotation_plan.SERVER, rotation_plan.LINK}
    assert rotation_plan.due(rotation_plan.Hub(), NOW) == {}


def test_what_was_asked_for_and_what_was_begun(old, new):
    hub = rotation_plan.Hub(old.certificate, server(old, old))
    assert rotation_plan.todo(rotation_plan.SERVER, hub, NOW) == {rotation_plan.SERVER: "it was requested"}
    assert rotation_plan.todo(rotation_plan.DUE, hub, NOW) == {}
    begun = rotation_plan.Hub(new.certificate, server(old, old, new))
    assert "was started" in rotation_plan.todo(rotation_plan.DUE, begun, NOW)[rotation_plan.CA]
    assert set(rotation_plan.todo(rotation_plan.LINK, begun, NOW)) == {rotation_plan.LINK, rotation_plan.CA}


def test_who_has_not_changed_over(new):
    hub = rotation_plan.Hub(new.certificate)
    good = {"site": "site-a", "link": {"trusts": [serial(new)], "ready": True}}
    reports = [
        good,
        {"site": "site-b", "link": {"trusts": ["1"], "ready": True}},
        {"site": "site-c", "link": {"trusts": [serial(new)], "ready": False}},
        {"site": "site-d", "link": {"adopted": True}},
        {"site": "site-e", "msg": "site-e: no answer"},
        {"site": "site-f", "denied": True},
        {"skipped": True},
    ]
    found = rotation_plan.lagging(hub, [f"site-{letter}" for letter in "abcdefgh"], reports, "site-h")
    assert found == {
        "site-b": "it does not trust the new CA yet",
        "site-c": "its link is not up",
        "site-d": "its link was created by someone else, who must renew it",
        "site-e": "site-e: no answer",
        "site-g": "this run did not reach it",
    }


def test_strangers_that_a_new_ca_would_cut_off():
    def record(name, up=True):
        links = [{"name": "x", "remoteSiteId": "uid-of-hub", "operational": up}]
        return {"id": f"uid-of-{name}", "name": name, "links": links}

    hub = given.hub_site(
        network=[{"id": "uid-of-hub", "name": "hub"}, record("site-a"), record("theirs"), record("gone", up=False)]
    )
    assert rotation_plan.strangers(hub, ["uid-of-site-a"]) == ["theirs"]


def test_facts_hold_nothing_secret(old):
    made = server(old, old)
    facts = rotation_plan.facts(rotation_plan.Hub(old.certificate, made, {"site-a": client(old)}))
    assert [one["kind"] for one in facts] == [rotation_plan.CA, rotation_plan.SERVER, rotation_plan.LINK]
    assert all(one["serial"] and one["not_after"] for one in facts) and "PRIVATE" not in str(facts)
