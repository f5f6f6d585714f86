# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.hub import clients
from ansible_collections.federated.flower.plugins.plugin_utils.ledger import access, ranges, records
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs

DAY = datetime.timedelta(days=1)
NOW = "2026-11-21T10:00:00+00:00"
TOLD = clients.Settings("demo", "flower", "flower-ca", 90)
CA = certificates.make_ca("demo client CA", 3650 * DAY)
BOOK = ranges.empty_book()


def request(key=None):
    return certificates.client_request(key or keypairs.make_client_key(), "whatever")


def certify(record, wanted, ca=CA, site="site-a", told=TOLD):
    signed = []

    def authority():
        signed.append(1)
        return ca

    new, reason = clients.certify(record, wanted, site=site, settings=told, ca_certificate=ca.certificate, ca=authority)
    assert bool(signed) == bool(reason), "the CA's key was used for nothing"
    return new, reason


def certified(site="site-a", key=None):
    return certify(records.empty_record(site), request(key), site=site)[0]


def test_the_ca_is_made_once():
    first = clients.authority(TOLD, None, 3650 * DAY)
    (secret,) = first.secrets
    assert (secret["metadata"]["namespace"], secret["metadata"]["name"]) == ("flower-ca", "flower-client-ca")
    second = clients.authority(TOLD, secret, 3650 * DAY)
    assert second.secrets == [] and second.reasons == [] and second.ca == first.ca
    assert entries(secret)["tls.key"] not in repr(second.certificates) + repr(second.reasons)


def test_a_site_gets_a_certificate_with_the_names_that_the_hub_chooses():
    record, reason = certify(records.empty_record("site-a"), request())
    assert reason == "there was none"
    certificate = x509.load_pem_x509_certificate(record["client"]["certificate"].encode())
    assert certificate.subject.rfc4514_string() == "O=demo,CN=site-a"
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [x509.oid.ExtendedKeyUsageOID.CLIENT_AUTH]
    assert record["client"]["serial"] == format(certificate.serial_number, "x")
    assert "PRIVATE" not in repr(record)


def test_a_good_certificate_stays():
    key = keypairs.make_client_key()
    record = certified(key=key)
    assert certify(record, request(key)) == (record, None)


@pytest.mark.parametrize(("days", "reason"), [(10, None), (50, "more than half"), (91, "it ended on")])
def test_a_certificate_is_renewed_from_the_middle_of_its_lifetime_on(days, reason):
    key = keypairs.make_client_key()
    record = certified(key=key)
    now = datetime.datetime.now(datetime.timezone.utc) + days * DAY
    pem = record["client"]["certificate"]
    found = certificates.client_reissue_reason(pem, CA.certificate, request(key), "site-a", "demo", now)
    assert (found is None) == (reason is None)
    assert reason is None or reason in found


def test_a_certificate_of_another_name_or_ca_is_replaced_and_not_revoked():
    key = keypairs.make_client_key()
    other = certificates.make_ca("demo client CA", 10 * DAY)
    record, reason = certify(certified(key=key), request(key), ca=other)
    assert "not issued by the present CA" in reason and "superseded" not in record
    record, reason = certify(certified(key=key), request(key), told=clients.Settings("new", "flower", "flower-ca", 90))
    assert reason == "it names O=demo,CN=site-a"


def test_the_certificate_of_a_lost_key_is_revoked_once_the_site_has_its_new_one():
    old = certified()
    serial = old["client"]["serial"]
    record, reason = certify(old, request())
    assert reason == "the site has another key" and record["superseded"] == [serial]
    assert access.revoked(BOOK, {"site-a": record}) == {}
    record = access.revoke_superseded(record, NOW)
    assert access.revoked(BOOK, {"site-a": record}) == {serial: NOW}
    assert access.revoke_superseded(record, "later") == record


def test_a_revoked_certificate_is_replaced():
    key = keypairs.make_client_key()
    record = certified(key=key)
    record["revoked"] = [{"serial": record["client"]["serial"], "since": NOW}]
    assert certify(record, request(key))[1] == "it was revoked"


def test_a_request_that_was_tampered_with_is_refused():
    good = x509.load_pem_x509_csr(request().encode())
    raw = bytearray(good.public_bytes(serialization.Encoding.DER))
    raw[-1] ^= 1
    bad = x509.load_der_x509_csr(bytes(raw)).public_bytes(serialization.Encoding.PEM).decode()
    with pytest.raises(ValueError, match="not signed by its own key"):
        certify(records.empty_record("site-a"), bad)


def test_the_files_of_the_gateway_change_only_when_something_did():
    first = clients.config(TOLD, BOOK, {}, None, CA)
    assert set(first["data"]) == {"ca.crt", "crl.pem", "denied.lst", "keys.map"}
    assert first["data"]["denied.lst"].startswith("#") and first["data"]["denied.lst"].count("\n") == 1
    assert clients.config(TOLD, BOOK, {}, first, CA) == clients.config(TOLD, BOOK, {}, first) == first
    assert clients.settings_of(first) == TOLD
    record = access.deny(certified(), "audit", NOW)
    denied = clients.config(TOLD, BOOK, {"site-a": record}, first)
    assert denied["data"]["denied.lst"].splitlines()[1:] == ["site-a"]
    assert denied["data"]["crl.pem"] == first["data"]["crl.pem"]
    assert clients.config(TOLD, BOOK, {"site-a": access.admit(record)}, denied) == first


def test_a_supernode_key_belongs_to_one_site():
    lines = [keypairs.supernode_public_key(keypairs.make_supernode_key()) for _number in range(2)]

    def record(site, *mine):
        facts = [
            {"pool": "cpu", "name": str(n), "fingerprint": str(n), "public_key": line} for n, line in enumerate(mine)
        ]
        return records.merge_keys(records.empty_record(site), facts, None)

    fleet = {"site-a": record("site-a", *lines), "site-b": record("site-b", lines[1])}
    owned, claimed_twice = map(keypairs.supernode_key_digest, lines)
    listed = clients.config(TOLD, BOOK, fleet, None, CA)["data"]["keys.map"]
    assert listed.splitlines()[1:] == [f"{owned} site-a"] and claimed_twice not in listed


def test_the_list_of_revoked_certificates_is_signed_anew_only_when_its_serials_differ():
    first = clients.config(TOLD, BOOK, {}, None, CA)
    record = certified()
    book = access.leave(BOOK, {"site-a": record}, NOW)
    assert clients.needs_ca(first, book, {}) and not clients.needs_ca(first, BOOK, {})
    second = clients.config(TOLD, book, {}, first, CA)
    assert certificates.crl_serials(second["data"]["crl.pem"], CA.certificate) == {record["client"]["serial"]}
    crl = x509.load_pem_x509_crl(second["data"]["crl.pem"].encode())
    ca = x509.load_pem_x509_certificate(CA.certificate.encode())
    assert crl.next_update_utc == ca.not_valid_after_utc, "a list that ends earlier would refuse everybody from then on"
    assert clients.config(TOLD, book, {}, second) == second
    other = certificates.make_ca("demo client CA", 10 * DAY)
    assert clients.config(TOLD, book, {}, second, other)["data"]["crl.pem"] != second["data"]["crl.pem"]


def test_a_site_that_left_is_revoked_for_ever_and_stays_denied():
    record = access.revoke_superseded(certify(certified(), request())[0], NOW)
    old = record["revoked"][0]["serial"]
    record = access.deny(record, "stolen", NOW)
    book = access.leave(BOOK, {"site-a": record}, NOW)
    assert set(access.revoked(book, {})) == {old, record["client"]["serial"]}
    assert access.leave(book, {"site-a": record}, "later") == book, "an interrupted run is repeated"
    assert access.denied(book, {})["site-a"]["reason"] == "stolen"
    again = access.returning(records.empty_record("site-a"), book["denied"]["site-a"])
    assert again["access"]["since"] == NOW
    book = access.admit_absent(book, "site-a")
    assert access.denied(book, {"site-a": access.admit(again)}) == {} and "denied" not in book
    assert access.known_keys(record) == [record["client"]["key"]]


def test_a_denial_keeps_its_date_and_its_reason():
    first = access.deny(records.empty_record("site-a"), "audit", NOW)
    assert access.deny(first, "", "later") == first
    assert access.deny(first, "stolen", "later")["access"] == {"state": "denied", "since": NOW, "reason": "stolen"}


def test_what_the_audit_trail_tells_of_a_certificate():
    record = certified()
    (told,) = access.certificate_facts(record, "issued")
    assert told == {
        "change": "issued",
        **{name: record["client"][name] for name in ("serial", "fingerprint", "not_after")},
    }
    assert access.certificate_facts(records.empty_record("site-b"), "issued") == []
