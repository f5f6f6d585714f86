# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""From one CA to another: no site is ever shown a certificate that it was not told to trust, where that can be helped."""

from __future__ import annotations

import datetime

import pytest

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import secret
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import authority
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import hand_over, is_trusted
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_plan import Plan
from ansible_collections.federated.flower.tests.unit import specs

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)
OLD, NEW = (certificates.make_ca(name, 99 * DAY) for name in ("old", "new"))
OLD_LEAF, NEW_LEAF = (certificates.issue(ca, "hub", ["hub.example"], 50 * DAY) for ca in (OLD, NEW))


@pytest.fixture(autouse=True)
def a_clock_that_stands(monkeypatch):
    """Much time may pass between the import of this file and a test."""
    monkeypatch.setattr(certificates, "_now", lambda: NOW.replace(microsecond=0))


def plan(name="new", leaf=NEW_LEAF, trust=NEW.certificate, **more):
    objects = [secret("demo", "flower", name, {"tls.crt": leaf.certificate}, application="superlink")]
    return Plan(name, "", "", "", secrets=objects, certificate=leaf.certificate, trust=trust, **more)


def test_the_first_deployment():
    got = hand_over(plan(), "", "", "", NOW)
    assert (got.secret, got.trust, len(got.secrets), got.warnings) == ("new", NEW.certificate, 1, [])


def test_a_change_of_the_ca_goes_in_steps():
    # 1. Both are published, the old certificate is served.
    got = hand_over(plan(), OLD.certificate, "old", OLD_LEAF.certificate, NOW)
    assert got.secret == "old" and got.certificate == OLD_LEAF.certificate
    assert got.trust == OLD.certificate + NEW.certificate
    assert len(got.secrets) == 1, "the new Secret may be written: nobody serves it yet"
    assert "run site.yml again" in got.warnings[0] and "CN=new" in got.warnings[0]
    # 2. The new one is served, both are trusted.
    published = got.trust
    got = hand_over(plan(), published, "old", OLD_LEAF.certificate, NOW)
    assert got.secret == "new"
    assert got.trust == OLD.certificate + NEW.certificate
    assert "CN=old" in got.warnings[0] and "flower_forget_cas" in got.warnings[0]
    # 3. So it stays, until someone says that the old one is over, or it ends.
    again = hand_over(plan(), got.trust, "new", NEW_LEAF.certificate, NOW)
    assert again.trust == got.trust
    done = hand_over(plan(), got.trust, "new", NEW_LEAF.certificate, NOW, forget=True)
    assert done.trust == NEW.certificate and done.warnings == []
    longer = certificates.make_ca("new", 999 * DAY)
    leaf = certificates.issue(longer, "hub", ["hub.example"], 500 * DAY)
    later = plan(leaf=leaf, trust=longer.certificate)
    assert (
        hand_over(later, longer.certificate + OLD.certificate, "new", leaf.certificate, NOW + 100 * DAY).warnings == []
    )


def test_a_secret_of_the_same_name_is_not_written_yet():
    got = hand_over(plan("same"), OLD.certificate, "same", OLD_LEAF.certificate, NOW)
    assert got.certificate == OLD_LEAF.certificate and got.secrets == []


def test_forgetting_does_not_cut_off_what_is_served():
    got = hand_over(plan(), OLD.certificate + NEW.certificate, "old", OLD_LEAF.certificate, NOW, forget=True)
    assert OLD.certificate in got.trust


@pytest.mark.parametrize("served", [NEW_LEAF.certificate, "", "broken"])
def test_what_is_served_already_cannot_be_held_back(served):
    """cert-manager renewed its CA, or someone exchanged a Secret."""
    got = hand_over(plan("same"), OLD.certificate, "same", served, NOW)
    assert got.certificate == NEW_LEAF.certificate and got.trust == OLD.certificate + NEW.certificate
    assert "cannot connect until this run has reached them" in got.warnings[0]


def test_nothing_is_held_for_a_certificate_that_has_ended():
    got = hand_over(plan(trust=NEW.certificate), OLD.certificate, "old", OLD_LEAF.certificate, NOW + 60 * DAY)
    assert got.certificate == NEW_LEAF.certificate


def test_the_own_ca_has_all_that_is_trusted():
    """What the rotation has taken out of its Secret is not kept because it was published."""
    both = OLD.certificate + NEW.certificate
    got = hand_over(plan(trust_is_complete=True), both, "new", NEW_LEAF.certificate, NOW)
    assert got.trust == NEW.certificate and got.warnings == []
    # But what was served by another source until now stays for one step.
    got = hand_over(plan(trust_is_complete=True), both, "old", OLD_LEAF.certificate, NOW)
    assert got.trust == OLD.certificate + NEW.certificate and got.secret == "new"


def test_renewal_under_one_ca_is_no_matter():
    later = certificates.issue(NEW, "hub", ["hub.example"], DAY)
    got = hand_over(plan(leaf=later), NEW.certificate, "new", NEW_LEAF.certificate, NOW)
    assert (got.certificate, got.trust, got.warnings, len(got.secrets)) == (later.certificate, NEW.certificate, [], 1)


def test_check_mode_shows_what_is_there():
    got = hand_over(Plan("new", "", "", "", pending="it"), OLD.certificate, "old", OLD_LEAF.certificate, NOW)
    assert (got.secret, got.certificate, got.trust) == ("old", OLD_LEAF.certificate, OLD.certificate)


def test_trusted():
    assert is_trusted(NEW_LEAF.certificate, NEW.certificate, NOW)
    assert not is_trusted(NEW_LEAF.certificate, NEW.certificate, NOW + 60 * DAY)
    assert not is_trusted(NEW_LEAF.certificate, OLD.certificate, NOW)
    assert not is_trusted("", OLD.certificate, NOW) and not is_trusted(NEW_LEAF.certificate, "", NOW)


CA = certificates.make_ca("ca", 99 * DAY)
LEAF = certificates.issue(CA, "hub", ["hub.example"], 9 * DAY)


def facts(certificate=LEAF.certificate, published=CA.certificate, now=NOW):
    data = {"tls.crt": certificate} if certificate else {}
    return authority.served_facts(
        "mine", secret("demo", "flower", "mine", data, application="superlink"), published, now
    )


def test_mounted_secret(superlink_spec):
    for changes, name in (
        ({}, "superlink-gateway-tls"),
        ({"gateway_secret": "mine"}, "mine"),
        ({"insecure": True, "client_certificates": "none"}, ""),
    ):
        objects = specs.superlink_objects(superlink_spec(**changes))
        (workload,) = (
            one for one in objects if (one["kind"], one["metadata"]["name"]) == ("StatefulSet", "superlink")
        )
        assert authority.mounted_secret(workload) == name
    assert authority.mounted_secret(None) == authority.mounted_secret({"kind": "StatefulSet"}) == ""


def test_served():
    certificate, trust = facts()
    assert certificate["fault"] == "" and certificate["names"] == ["hub.example"] and certificate["secret"] == "mine"
    assert certificate["fingerprint"] == certificates.describe(LEAF.certificate)["fingerprint"]
    assert [one["subject"] for one in trust] == ["CN=ca"]


def test_faults():
    other = certificates.make_ca("other", DAY).certificate
    assert "ends in CN=ca, a root that is not among the trusted" in facts(published=other)[0]["fault"]
    assert "CN=hub expired on" in facts(now=NOW + 10 * DAY)[0]["fault"]
    assert facts(certificate="")[0] == {"secret": "mine", "fault": "tls.crt of Secret mine is empty"}
    assert authority.served_facts("mine", None, CA.certificate, NOW)[0]["fault"]
    assert facts(published="") == ({**facts()[0], "fault": "", "ca": {}}, [])


def test_the_ca_that_ends_first():
    assert facts()[0]["ca"] == {name: certificates.describe(CA.certificate)[name] for name in ("subject", "not_before", "not_after")}
