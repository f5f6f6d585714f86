# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""What the built-in source and the hub's internal credentials make, and when."""

from __future__ import annotations

import dataclasses
import datetime
import ipaddress

import pytest
from cryptography import x509

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import encode, entries, secret
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import certificate_sources, internal_secrets
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.authority import Authority, trust_bundle
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_plan import Wanted
from ansible_collections.federated.flower.tests.unit.hub_objects import live_objects
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)


def wanted(*names, **more):
    names = names or ("hub.example", "203.0.113.5")
    return Wanted("demo", "flower", "flower-ca", names, 90 * DAY, 3650 * DAY, **more)


@pytest.fixture
def make(parsed_hub):
    """Everything that is made where there are these Secrets: Secrets, the gateway's plan, the other credentials."""

    def plans(want, *objects):
        live = live_objects(*objects)
        given = dict.fromkeys(("ca_certificate", "ca_key", "certificate", "certificate_key"), "")
        plan, made = certificate_sources.plan(parsed_hub(ca_bundle=""), given, want, live), internal_secrets.plan(want, live)
        return [*plan.secrets, *made.secrets], plan, made

    return plans


def named(secrets):
    return sorted(item["metadata"]["name"] for item in secrets)


def test_first_run_makes_everything_and_the_second_nothing(make):
    first, plan, made = make(wanted())
    assert len(first) == 7
    second, again, kept = make(wanted(), *first)
    assert second == [] and again.reasons == kept.reasons == []
    assert (again.trust, again.certificate, again.key) == (plan.trust, plan.certificate, plan.key)
    assert kept.certificates == made.certificates


@each_row("length", [50, 51, 63])
def test_a_long_name_of_a_federation_fits_its_certificates(make, length):
    want = dataclasses.replace(wanted(), federation="f" * length)
    secrets, _plan, _made = make(want)
    subjects = [
        x509.load_pem_x509_certificate(entries(item)["tls.crt"].encode()).subject.rfc4514_string()
        for item in secrets
        if item["metadata"]["name"] in ("flower-ca", "flower-internal-ca")
    ]
    assert subjects == [f"CN={'f' * min(length, 64 - len(use) - 1)} {use}" for use in ("federation CA", "internal CA")]


def test_ca_keys_are_apart_from_the_workload(make):
    for item in make(wanted())[0]:
        is_ca = item["metadata"]["name"] in ("flower-ca", "flower-internal-ca", "flower-client-ca")
        assert (item["metadata"]["namespace"] == "flower-ca") == is_ca


def test_a_new_name_gets_a_new_leaf_of_the_same_ca(make):
    first, plan, _made = make(wanted())
    second, again, _made = make(wanted("hub.example", "other.example"), *first)
    assert named(second) == ["superlink-gateway-tls"]
    assert "does not cover other.example" in again.reasons[0]
    assert again.trust == plan.trust


def test_secrets_fit_the_mount_of_the_gateway(make):
    for item in make(wanted())[0]:
        if item["metadata"]["name"] in ("superlink-gateway-tls", "superlink-runtime-tls", "superlink-internal"):
            assert set(item["data"]) == {"tls.crt", "tls.key", "ca.crt"}


def test_an_internal_ca_that_someone_damaged_is_made_anew_with_all_that_it_signs(make):
    first, _plan, _made = make(wanted())
    (own,) = (item for item in first if item["metadata"]["name"] == "flower-internal-ca")
    own["data"]["tls.key"] = "eA=="
    second, _plan, made = make(wanted(), *first)
    assert named(second) == ["flower-internal-ca", "superlink-internal", "superlink-runtime-tls"]
    assert made.reasons[0] == "flower-internal-ca: its private key is not a PEM private key (ValueError)"


def test_a_secret_of_an_earlier_release_is_good_as_it_is(make):
    first, _plan, _made = make(wanted())
    for item in first:
        item["data"]["tls.pem"] = "eA=="
        item["data"]["keystore.p12"] = "gIGC"  # no text
    assert make(wanted(), *first)[0] == []


def test_a_ca_in_change_is_trusted_old_and_new(make):
    cas = [certificates.make_ca(name, 10 * DAY) for name in ("previous", "current", "next")]
    authority = Authority(cas[1], cas[2], cas[0].certificate)
    assert Authority.read(authority.entries()) == authority
    assert authority.bundle == "".join(ca.certificate for ca in cas)
    there = secret("demo", "flower-ca", "flower-ca", authority.entries(), application="superlink")
    made, plan, _internal = make(wanted(), there)
    assert "flower-ca" not in named(made)
    assert plan.trust == authority.bundle and plan.trust_is_complete
    assert certificates.describe(plan.certificate)["issuer"] == "CN=current"


def test_a_trust_bundle_is_nothing_but_certificates_each_once():
    one, two = (certificates.make_ca(name, DAY).certificate for name in ("one", "two"))
    chatty = f"# Käse\n{one}bag attributes\n{two}"
    assert trust_bundle(two, one, chatty) == one + two
    assert trust_bundle("", "", "") == ""
    assert trust_bundle(one.replace("\n", "\r\n")).count("BEGIN CERTIFICATE") == 1


def test_the_chain_verifies_for_names_and_addresses():
    ca = certificates.make_ca("ca", 10 * DAY)
    leaf = certificates.issue(ca, "hub", ["hub.example", "203.0.113.5", "2001:db8::1"], DAY)
    store = x509.verification.Store(x509.load_pem_x509_certificates(ca.certificate.encode()))
    certificate = x509.load_pem_x509_certificates(leaf.certificate.encode())[0]
    for name in (x509.DNSName("hub.example"), x509.IPAddress(ipaddress.ip_address("2001:db8::1"))):
        x509.verification.PolicyBuilder().store(store).build_server_verifier(name).verify(certificate, [])
    assert certificates.describe(leaf.certificate)["names"] == ["2001:db8::1", "203.0.113.5", "hub.example"]


@each_row(
    ("days", "before", "reason"),
    [
        (10, None, None),
        (50, None, "more than half"),
        (91, None, "it expired on"),
        (50, 30 * DAY, None),
        (61, 30 * DAY, "it expires on"),
        (10, 85 * DAY, "it expires on"),
    ],
)
def test_when_a_leaf_is_renewed(days, before, reason):
    ca = certificates.make_ca("ca", 3650 * DAY)
    leaf = certificates.issue(ca, "hub", ["hub.example"], 90 * DAY)
    now = datetime.datetime.now(datetime.timezone.utc) + days * DAY
    found = certificates.reissue_reason(leaf.certificate, ca.certificate, ["hub.example"], now, before)
    assert (found is None) == (reason is None)
    assert reason is None or reason in found


def test_a_leaf_of_another_ca_is_replaced():
    leaf = certificates.issue(certificates.make_ca("ca", 10 * DAY), "hub", ["hub.example"], DAY)
    assert "not issued by the current CA" in certificates.reissue_reason(
        leaf.certificate, certificates.make_ca("ca", DAY).certificate, []
    )


def test_a_leaf_never_outlives_its_ca():
    ca = certificates.make_ca("ca", DAY)
    leaf = certificates.issue(ca, "hub", ["hub.example"], 90 * DAY)
    assert certificates.describe(leaf.certificate)["not_after"] <= certificates.describe(ca.certificate)["not_after"]


def test_no_private_key_is_in_what_is_told(make):
    secrets, plan, made = make(wanted())
    told = plan.trust + repr(made.certificates) + repr([*plan.reasons, *made.reasons]) + repr(plan) + repr(made)
    assert "PRIVATE" not in told
    for item in secrets:
        for name, value in entries(item).items():
            assert name in ("ca.crt", "tls.crt") or value not in told


def test_they_become_a_secret(parsed_hub):
    spec = parsed_hub(tracking={"uri": "https://x"}, tracking_credentials=["password", "username"])
    (found,) = internal_secrets.tracking_secrets(spec, {"username": "jane", "password": "hunter2", "token": ""})
    assert (found["metadata"]["namespace"], found["metadata"]["name"]) == ("flower", "superlink-tracking")
    assert entries(found) == {"username": "jane", "password": "hunter2"}


def test_without_a_server_or_credentials_there_is_none(parsed_hub):
    assert internal_secrets.tracking_secrets(parsed_hub(), {}) == []
    assert internal_secrets.tracking_secrets(parsed_hub(tracking={"uri": "https://x"}), {}) == []


@each_row("value", ["", "hünter2", "hunter2\n"])
def test_what_no_header_takes(parsed_hub, value):
    spec = parsed_hub(tracking={"uri": "https://x"}, tracking_credentials=["token"])
    with pytest.raises(ClusterError, match="superlink_tracking_credentials: token") as raised:
        internal_secrets.tracking_secrets(spec, {"token": value})
    assert "nter2" not in raised.value.message


def test_a_change_is_noticed():
    one = {"kind": "Secret", "name": "superlink-tracking", "change": "changed"}
    assert internal_secrets.is_tracking_changed([{**one, "name": "x"}, one])
    assert not internal_secrets.is_tracking_changed([{**one, "change": "created"}])


OWNER = {"metadata": {"uid": "1-2-3"}}


@pytest.fixture
def ca():
    return certificates.make_ca("internal", datetime.timedelta(days=3650))


@pytest.fixture
def spec(parsed_hub):
    return parsed_hub(metrics={"enabled": True, "image": "x"})


def test_it_is_made_once_and_belongs_to_the_program(spec, ca):
    (found,) = internal_secrets.metrics_secrets(spec, ca, None, OWNER)
    assert found["metadata"]["name"] == "superlink-metrics"
    assert [(one["kind"], one["uid"]) for one in found["metadata"]["ownerReferences"]] == [("ConfigMap", "1-2-3")]
    assert set(entries(found)) == {"tls.crt", "tls.key", "ca.crt", "token"} and len(entries(found)["token"]) == 44
    assert internal_secrets.metrics_secrets(spec, ca, found, OWNER) == []


def test_without_metrics_there_is_none(parsed_hub, ca):
    assert internal_secrets.metrics_secrets(parsed_hub(), ca, None, None) == []


def test_a_restored_one_gets_its_owner_and_keeps_its_content(spec, ca):
    (made,) = internal_secrets.metrics_secrets(spec, ca, None, OWNER)
    del made["metadata"]["ownerReferences"]
    (found,) = internal_secrets.metrics_secrets(spec, ca, made, OWNER)
    assert found["data"] == made["data"] and found["metadata"]["ownerReferences"]


def test_another_ca_or_a_lost_entry_makes_it_new(spec, ca):
    (made,) = internal_secrets.metrics_secrets(spec, ca, None, OWNER)
    other = certificates.make_ca("other", datetime.timedelta(days=3650))
    (found,) = internal_secrets.metrics_secrets(spec, other, made, OWNER)
    assert found["data"]["token"] != made["data"]["token"] and found["data"]["ca.crt"] == encode(other.certificate)
    del made["data"]["token"]
    assert internal_secrets.metrics_secrets(spec, ca, made, OWNER)


def test_in_check_mode_there_is_no_owner_yet(spec, ca):
    (found,) = internal_secrets.metrics_secrets(spec, ca, None, None)
    assert "ownerReferences" not in found["metadata"]
