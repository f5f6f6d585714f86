# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Rotation in a Skupper network: what is due, where a change of the CA is, and what comes next."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.skupper import link_credentials, links, rotation_plan
from ansible_collections.federated.flower.tests.unit.client_certificates import issue_client
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
    return issue_client(ca, "site-a", "flower", lifetime).certificate


def test_stages(old, new):
    def stage(ca, leaf, *trusted):
        return rotation_plan.stage(
            rotation_plan.Hub(ca.certificate if ca else "", server(leaf, *trusted) if leaf else {})
        )

    assert stage(old, old, old) == rotation_plan.COMPLETE
    assert stage(new, old, old) == rotation_plan.BEGUN
    assert stage(new, old, old, new) == rotation_plan.OVERLAP
    assert stage(new, new, new, old) == rotation_plan.TRIMMED
    assert stage(new, new, new) == rotation_plan.COMPLETE
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


def test_a_revocation_during_a_rotation_needs_another_ca(old, new):
    """The CA of the pending rotation may have signed a certificate of the site, which the hub would accept after it."""
    start = datetime.datetime.fromisoformat(link_credentials.describe(new.certificate)["not_before"])
    before, after = start - SHORT, start + SHORT
    overlap = rotation_plan.Hub(new.certificate, server(old, old, new), {"site-b": client(new)})
    begun = rotation_plan.Hub(new.certificate, server(old, old))
    for hub in (overlap, begun):
        assert rotation_plan.first_of_revocation(hub, after) == rotation_plan.REPLACE_CA
        assert rotation_plan.first_of_revocation(hub, None) == rotation_plan.REPLACE_CA
        # That of a revocation that broke off is more recent than the denial: it is not replaced again.
        assert rotation_plan.first_of_revocation(hub, before) == ""
    settled = rotation_plan.Hub(new.certificate, server(new, new))
    assert rotation_plan.first_of_revocation(settled, after) == rotation_plan.first_of_revocation(settled, None) == ""


def test_another_ca_during_a_rotation_cuts_off_no_other_site(old, new):
    """The hub's router trusts both CAs that sites may have certificates of, until all have one of the third."""
    third = certificates.make_ca("third", YEARS)
    again = rotation_plan.Hub(third.certificate, server(old, old, new))
    assert rotation_plan.stage(again) == rotation_plan.BEGUN
    assert rotation_plan.next_step(again, (), changed_over=False) == rotation_plan.TRUST_BOTH
    all_three = rotation_plan.Hub(third.certificate, server(old, old, new, third))
    assert rotation_plan.stage(all_three) == rotation_plan.OVERLAP
    assert rotation_plan.next_step(all_three, (), changed_over=False) == ""
    for ca in (old, new):
        assert "another CA" in link_credentials.fault(credentials(ca), all_three.ca, NOW)


def credentials(ca, lifetime=YEARS):
    made = issue_client(ca, "site-a", "flower", lifetime)
    return {"tls.crt": made.certificate, "tls.key": made.key, "ca.crt": ca.certificate}


def held(spec, ca, entries, *trusted, now=NOW, ours=True):
    """What is done about a link while the hub's router serves a certificate of the first CA that it trusts."""
    hub = links.Hub(given.hub_site(ours=ours), ca.certificate, server(trusted[0], *trusted))
    secret = given.secret("flower-hub", entries) if entries else None
    return links.decide(spec, hub, links.Site(given.site(), [given.link()], secret, entries), now)


@pytest.mark.parametrize("mode", ["direct", "token"])
def test_a_rotation_that_broke_off_before_the_router_trusts_the_new_ca_changes_no_link(old, new, parsed_link, mode):
    """Neither for a certificate of the new CA nor because half of its lifetime has passed: a new one would be refused."""
    spec, entries = parsed_link(mode=mode), credentials(old)
    plan = held(spec, new, entries, old)
    assert (plan.do, plan.fault) == (links.HOLD, "") and held(spec, new, entries, old, now=LATE).do == links.HOLD
    assert plan.names == {"skupper-router": "flower-hub-skupper-router"}
    assert "the link of site-a keeps its certificate" in plan.warnings[0]
    assert "Secret flower/skupper-site-server of the hub does not contain the current CA" in plan.warnings[0]
    assert "Run federated.flower.skupper_rotate" in plan.warnings[0]
    assert "someone else, who must add its CA" in held(spec, new, entries, old, ours=False).warnings[0]
    # Once the router trusts both, the site gets its new one.
    assert held(spec, new, entries, old, new).do == links.CERTIFICATE


@pytest.mark.parametrize("mode", ["direct", "token"])
def test_a_site_without_a_certificate_that_the_router_accepts_waits_for_the_rotation(old, new, parsed_link, mode):
    spec = parsed_link(mode=mode)
    for entries, now in (({}, NOW), (credentials(new), NOW), (credentials(old, SHORT), LATE)):
        fault = held(spec, new, entries, old, now=now).fault
        assert "site-a has no certificate that the hub's Skupper router accepts" in fault
        assert "Run federated.flower.skupper_rotate" in fault and fault.endswith("Then run this playbook again")


def test_the_ca_that_counts_for_a_link(old, new):
    def counts(ca, entries):
        return links.trusted_ca(links.Hub(given.hub_site(), ca.certificate if ca else "", entries))

    assert counts(new, server(old, old)) == old.certificate
    assert link_credentials.fault(credentials(old), counts(new, server(old, old)), NOW) == ""
    assert counts(new, server(old, old, new)) == counts(new, server(new, new)) == new.certificate
    # A router with a certificate of this CA knows it, whatever else someone has put into the Secret.
    assert counts(new, server(new, old)) == new.certificate
    assert counts(new, {}) == new.certificate and counts(None, server(old, old)) == ""


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
        {"site": "site-i", "denied": True, "msg": "the site is denied"},
        {"skipped": True},
    ]
    found = rotation_plan.lagging(hub, [f"site-{letter}" for letter in "abcdegi"], reports)
    assert found == {
        "site-b": "it does not trust the new CA yet",
        "site-c": "its link is not up",
        "site-d": "its link was created by someone else, who must renew it",
        "site-e": "site-e: no answer",
        "site-g": "this run did not reach it",
        "site-i": "the site is denied",
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
