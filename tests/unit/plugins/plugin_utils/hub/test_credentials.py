# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

import pytest
from cryptography import x509

from ansible_collections.federated.flower.plugins.plugin_utils import pki
from ansible_collections.federated.flower.plugins.plugin_utils.hub import credentials
from ansible_collections.federated.flower.plugins.plugin_utils.secrets import entries

DAY = datetime.timedelta(days=1)


def wanted(*names):
    return credentials.Wanted("demo", "flower", "flower-ca", names or ("hub.example", "203.0.113.5"), 90 * DAY, 3650 * DAY)


def live(result, before=()):
    there = {(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in before}
    there.update({(item["metadata"]["namespace"], item["metadata"]["name"]): item for item in result.secrets})
    return there


def test_first_run_makes_everything_and_the_second_nothing():
    first = credentials.plan(wanted(), {})
    assert len(first.secrets) == 6
    second = credentials.plan(wanted(), live(first))
    assert second.secrets == [] and second.reasons == []
    assert second.ca_bundle == first.ca_bundle
    assert second.certificates == first.certificates


def test_ca_keys_are_apart_from_the_workload():
    for item in credentials.plan(wanted(), {}).secrets:
        is_ca = item["metadata"]["name"] in ("flower-ca", "flower-internal-ca")
        assert (item["metadata"]["namespace"] == "flower-ca") == is_ca


def test_a_new_name_gets_a_new_leaf_of_the_same_ca():
    first = credentials.plan(wanted(), {})
    second = credentials.plan(wanted("hub.example", "other.example"), live(first))
    assert [item["metadata"]["name"] for item in second.secrets] == ["superlink-gateway-tls"]
    assert "does not cover other.example" in second.reasons[0]
    assert second.ca_bundle == first.ca_bundle


def test_the_chain_verifies_for_names_and_addresses():
    ca = pki.make_ca("ca", 10 * DAY)
    leaf = pki.issue(ca, "hub", ["hub.example", "203.0.113.5", "2001:db8::1"], DAY)
    store = x509.verification.Store(x509.load_pem_x509_certificates(ca.certificate.encode()))
    certificate = x509.load_pem_x509_certificates(leaf.certificate.encode())[0]
    for name in (x509.DNSName("hub.example"), x509.IPAddress(__import__("ipaddress").ip_address("2001:db8::1"))):
        x509.verification.PolicyBuilder().store(store).build_server_verifier(name).verify(certificate, [])
    assert pki.describe(leaf.certificate)["names"] == ["2001:db8::1", "203.0.113.5", "hub.example"]


@pytest.mark.parametrize(
    ("days", "reason"), [(10, None), (50, "more than half"), (91, "it ended on")]
)
def test_a_leaf_is_renewed_from_the_middle_of_its_lifetime_on(days, reason):
    ca = pki.make_ca("ca", 3650 * DAY)
    leaf = pki.issue(ca, "hub", ["hub.example"], 90 * DAY)
    now = datetime.datetime.now(datetime.timezone.utc) + days * DAY
    found = pki.reissue_reason(leaf.certificate, ca.certificate, ["hub.example"], now)
    assert (found is None) == (reason is None)
    assert reason is None or reason in found


def test_a_leaf_of_another_ca_is_replaced():
    leaf = pki.issue(pki.make_ca("ca", 10 * DAY), "hub", ["hub.example"], DAY)
    assert "not issued by the present CA" in pki.reissue_reason(leaf.certificate, pki.make_ca("ca", DAY).certificate, [])


def test_a_leaf_never_outlives_its_ca():
    ca = pki.make_ca("ca", DAY)
    leaf = pki.issue(ca, "hub", ["hub.example"], 90 * DAY)
    assert pki.describe(leaf.certificate)["not_after"] <= pki.describe(ca.certificate)["not_after"]


def test_no_private_key_is_in_what_is_told():
    result = credentials.plan(wanted(), {})
    told = result.ca_bundle + repr(result.certificates) + repr(result.reasons)
    assert "PRIVATE" not in told
    for item in result.secrets:
        for name, value in entries(item).items():
            assert name in ("ca.crt", "tls.crt") or value not in told
