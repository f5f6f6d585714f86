# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from ansible_collections.federated.flower.plugins.plugin_utils.base.errors import ClusterError
from ansible_collections.federated.flower.plugins.plugin_utils.base.secret_data import entries
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import clients, internal_secrets
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_plan import Wanted
from ansible_collections.federated.flower.plugins.plugin_utils.state import access_records, partition_numbers, records
from ansible_collections.federated.flower.tests.unit.hub_objects import live_objects
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)
TOLD = clients.Settings("demo", "flower", "flower-ca", 90)
CA = certificates.make_ca("demo client CA", 3650 * DAY)
NOW = certificates.made_at(CA.certificate).isoformat()
BOOK = partition_numbers.empty_book()


def config(book, found, live, ca=None, unreadable=(), now=None):
    known = clients.Known(book, found, unreadable, now or datetime.datetime.now(datetime.timezone.utc))
    return clients.config_map(TOLD, known, live, ca)


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


def plan(*there):
    wanted = Wanted("demo", "flower", "flower-ca", ["hub.example"], 90 * DAY, 3650 * DAY)
    return internal_secrets.plan(wanted, live_objects(*there))


def client_ca(made):
    (found,) = [one for one in made.secrets if one["metadata"]["name"] == clients.CA]
    return found


def test_the_ca_is_made_once():
    first = plan()
    secret = client_ca(first)
    assert secret["metadata"]["namespace"] == "flower-ca"
    second = plan(*first.secrets)
    assert second.secrets == [] and second.reasons == [] and second.client_ca == first.client_ca
    assert entries(secret)["tls.key"] not in repr(second.certificates) + repr(second.reasons)


def test_a_damaged_ca_is_neither_used_nor_replaced():
    """A new one takes the way to the hub from every site that is not reached in the same run."""
    secret = client_ca(plan())
    secret["data"]["tls.key"] = "eA=="
    with pytest.raises(ClusterError, match="Secret flower-ca/flower-client-ca: its private key is not a PEM private key.*Restore it from a backup"):
        plan(secret)
    del secret["data"]["tls.crt"]
    with pytest.raises(ClusterError, match="its certificate is empty"):
        plan(secret)


def test_a_site_gets_a_certificate_with_the_names_that_the_hub_chooses():
    record, reason = certify(records.empty_record("site-a"), request())
    assert reason == "it did not exist"
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


def test_a_certificate_that_a_clock_signed_which_was_ahead_is_replaced():
    """Its gateway would refuse the site until the certificate begins."""
    key = keypairs.make_client_key()
    record = certified(key=key)
    late = certificates.sign_client_request(CA, request(key), "site-a", "demo", 90 * DAY, datetime.datetime.now(datetime.timezone.utc) + DAY)
    record["client"]["certificate"] = late
    new, reason = certify(record, request(key))
    assert reason is not None and reason.startswith("it is not valid before") and new["client"]["certificate"] != late
    assert certify(new, request(key)) == (new, None)


@each_row(("days", "reason"), [(10, None), (50, "more than half"), (91, "it expired on")])
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
    assert "not issued by the current CA" in reason and "superseded" not in record
    record, reason = certify(certified(key=key), request(key), told=clients.Settings("new", "flower", "flower-ca", 90))
    assert reason == "its subject is O=demo,CN=site-a"


def test_the_certificate_of_a_lost_key_is_revoked_once_the_site_has_its_new_one():
    old = certified()
    serial = old["client"]["serial"]
    record, reason = certify(old, request())
    assert reason == "the site has another key" and [one["serial"] for one in record["superseded"]] == [serial]
    assert access_records.revoked(BOOK, {"site-a": record}) == {}
    record = access_records.revoke_superseded(record, NOW)
    assert access_records.revoked(BOOK, {"site-a": record}) == {serial: NOW}
    assert access_records.revoke_superseded(record, "later") == record


def aged(key, days=50):
    """The record of a site whose client certificate was issued some days ago."""
    now = datetime.datetime.now(datetime.timezone.utc) - days * DAY
    pem = certificates.sign_client_request(CA, request(key), "site-a", "demo", 90 * DAY, now)
    facts = certificates.describe(pem)
    noted = {name: facts[name] for name in ("serial", "fingerprint", "not_after")}
    return {**records.empty_record("site-a"), "client": {**noted, "key": "SHA256:x", "certificate": pem}}


def test_all_certificates_of_a_lost_key_are_revoked():
    """Half of its lifetime is left of a certificate that was renewed for the same key: who has taken the key can use it as well."""
    key = keypairs.make_client_key()
    old = aged(key)
    renewed, reason = certify(old, request(key))
    assert "more than half" in reason and "superseded" not in renewed
    serials = {old["client"]["serial"], renewed["client"]["serial"]}
    replaced, reason = certify(renewed, request())
    assert reason == "the site has another key" and "earlier" not in replaced["client"]
    assert set(access_records.revoked(BOOK, {"site-a": access_records.revoke_superseded(replaced, NOW)})) == serials
    left = access_records.with_revoked_sites(BOOK, {"site-a": renewed}, NOW)
    assert set(access_records.revoked(left, {})) == serials, "nor may a site that left use one"


def test_certificates_of_the_same_key_that_have_expired_are_not_remembered():
    key = keypairs.make_client_key()
    renewed, _reason = certify(aged(key, 91), request(key))
    assert "earlier" not in renewed["client"]


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
    first = config(BOOK, {}, None, CA)
    assert set(first["data"]) == {"ca.crt", "crl.pem", "denied.lst", "keys.map"}
    assert first["data"]["denied.lst"].startswith("#") and first["data"]["denied.lst"].count("\n") == 1
    assert config(BOOK, {}, first, CA) == config(BOOK, {}, first) == first
    assert clients.settings_of(first) == TOLD
    record = access_records.deny(certified(), "audit", NOW)
    denied = config(BOOK, {"site-a": record}, first)
    assert denied["data"]["denied.lst"].splitlines()[1:] == ["site-a"]
    assert denied["data"]["crl.pem"] == first["data"]["crl.pem"]
    assert config(BOOK, {"site-a": access_records.admit(record)}, denied) == first


def test_a_supernode_key_belongs_to_one_site():
    lines = [keypairs.supernode_public_key(keypairs.make_supernode_key()) for _number in range(2)]

    def record(site, *mine):
        facts = [
            {"pool": "cpu", "name": str(n), "fingerprint": str(n), "public_key": line} for n, line in enumerate(mine)
        ]
        return records.merge_keys(records.empty_record(site), facts, None)

    fleet = {"site-a": record("site-a", *lines), "site-b": record("site-b", lines[1])}
    owned, claimed_twice = map(keypairs.supernode_key_digest, lines)
    listed = config(BOOK, fleet, None, CA)["data"]["keys.map"]
    assert listed.splitlines()[1:] == [f"{owned} site-a"] and claimed_twice not in listed


def test_the_list_of_revoked_certificates_is_signed_anew_only_when_its_serials_differ():
    first = config(BOOK, {}, None, CA)
    record = certified()
    book = access_records.with_revoked_sites(BOOK, {"site-a": record}, NOW)
    assert clients.needs_ca(first, clients.Known(book, {})) and not clients.needs_ca(first, clients.Known(BOOK, {}))
    second = config(book, {}, first, CA)
    assert set(certificates.crl_entries(second["data"]["crl.pem"], CA.certificate)) == {record["client"]["serial"]}
    crl = x509.load_pem_x509_crl(second["data"]["crl.pem"].encode())
    ca = x509.load_pem_x509_certificate(CA.certificate.encode())
    assert crl.next_update_utc == ca.not_valid_after_utc, "a list that ends earlier would refuse everybody from then on"
    assert config(book, {}, second) == second
    other = certificates.make_ca("demo client CA", 10 * DAY)
    assert config(book, {}, second, other)["data"]["crl.pem"] != second["data"]["crl.pem"]


def test_a_site_that_left_is_revoked_for_ever_and_stays_denied():
    record = access_records.revoke_superseded(certify(certified(), request())[0], NOW)
    old = record["revoked"][0]["serial"]
    record = access_records.deny(record, "stolen", NOW)
    book = access_records.with_revoked_sites(BOOK, {"site-a": record}, NOW)
    assert set(access_records.revoked(book, {})) == {old, record["client"]["serial"]}
    assert access_records.with_revoked_sites(book, {"site-a": record}, "later") == book, "an interrupted run is repeated"
    assert access_records.denied(book, {})["site-a"]["reason"] == "stolen"
    again = access_records.returning(records.empty_record("site-a"), book["denied"]["site-a"])
    assert again["access"]["since"] == NOW
    book = access_records.admit_absent(book, "site-a")
    assert access_records.denied(book, {"site-a": access_records.admit(again)}) == {} and "denied" not in book
    assert access_records.known_keys(record) == [record["client"]["key"]]


def test_a_denial_keeps_its_date_and_its_reason():
    first = access_records.deny(records.empty_record("site-a"), "audit", NOW)
    assert access_records.deny(first, "", "later") == first
    assert access_records.deny(first, "stolen", "later")["access"] == {"state": "denied", "since": NOW, "reason": "stolen"}


def test_what_the_audit_trail_tells_of_a_certificate():
    record = certified()
    (told,) = access_records.certificate_facts(record, "issued")
    assert told == {
        "change": "issued",
        **{name: record["client"][name] for name in ("serial", "fingerprint", "not_after")},
    }
    assert access_records.certificate_facts(records.empty_record("site-b"), "issued") == []


def at(days):
    """So many days after the CA was made."""
    return certificates.made_at(CA.certificate) + days * DAY


def test_a_certificate_that_has_ended_is_revoked_no_longer():
    book = access_records.with_revoked_sites(BOOK, {"site-a": certified()}, NOW)
    first = config(book, {}, None, CA)
    assert len(certificates.crl_entries(first["data"]["crl.pem"], CA.certificate)) == 1
    later = clients.Known(book, {}, now=at(91))
    assert not clients.missing_in_ledger(first, later), "its revocation is known, and not lost"
    second = clients.config_map(TOLD, later, first, CA)
    assert certificates.crl_entries(second["data"]["crl.pem"], CA.certificate) == {}
    assert access_records.pruned(book, later.present(CA.certificate)) == BOOK
    assert access_records.pruned(book, clients.Known(book, {}).present(CA.certificate)) == book


def test_certificates_of_a_ca_that_is_gone_are_revoked_no_longer():
    record = access_records.revoke_superseded(certify(certified(), request())[0], NOW)
    new = certificates.make_ca("demo client CA", 3650 * DAY)
    later = access_records.Present(at(1), at(1))
    assert access_records.revoked(BOOK, {"site-a": record}, later) == {}
    assert "revoked" not in access_records.pruned(record, later)
    assert set(certificates.crl_entries(config(BOOK, {}, None, new)["data"]["crl.pem"], new.certificate)) == set()


def test_a_revocation_of_an_earlier_release_has_no_end_and_stays():
    book = {**BOOK, "revoked": [{"serial": "2d", "since": NOW, "site": "site-b"}]}
    assert access_records.pruned(book, access_records.Present(at(3000), at(0))) == book
    record = {**records.empty_record("site-a"), "superseded": ["4b"]}
    assert access_records.revoke_superseded(record, NOW)["revoked"] == [{"serial": "4b", "since": NOW}]


def test_what_the_ledger_lost_is_restored_from_the_gateways_files():
    left = access_records.with_revoked_sites(BOOK, {"site-b": access_records.deny(certified("site-b"), "audit", NOW)}, NOW)
    fleet = {"site-a": access_records.deny(access_records.revoke_superseded(certify(certified(), request())[0], NOW), "stolen", NOW)}
    live = config(left, fleet, None, CA)
    assert not clients.missing_in_ledger(live, clients.Known(left, fleet))
    found = clients.missing_in_ledger(live, clients.Known(BOOK, {}))
    assert set(found.denied) == {"site-a", "site-b"} and set(found.revoked) == set(access_records.revoked(left, fleet))
    book = access_records.restored(BOOK, found, NOW)
    assert config(book, {}, live) == {**live, "data": {**live["data"]}}
    assert access_records.restored(book, found, "later") == book
    assert access_records.returning(records.empty_record("site-a"), book["denied"]["site-a"])["access"]["state"] == "denied"


def test_a_site_whose_record_is_there_was_admitted_and_not_lost():
    live = config(BOOK, {"site-a": access_records.deny(certified(), "audit", NOW)}, None, CA)
    assert not clients.missing_in_ledger(live, clients.Known(BOOK, {"site-a": certified()}))


def test_what_the_gateway_knows_of_a_site_whose_record_cannot_be_read_stays():
    line = keypairs.supernode_public_key(keypairs.make_supernode_key())
    key = {"pool": "cpu", "name": "0", "fingerprint": "f", "public_key": line}
    record = records.merge_keys(access_records.revoke_superseded(certify(certified(), request())[0], NOW), [key], None)
    live = config(BOOK, {"site-a": access_records.deny(record, "audit", NOW)}, None, CA)
    found = clients.missing_in_ledger(live, clients.Known(BOOK, {}, ["site-a"]))
    assert found.denied == () and len(found.revoked) == 1
    assert config(access_records.restored(BOOK, found, NOW), {}, live, None, ["site-a"]) == live


def many(count):
    return {**BOOK, "revoked": [{"serial": format(2**158 + n, "x"), "since": NOW} for n in range(count)]}


def test_a_denial_is_written_also_when_nothing_else_fits(monkeypatch):
    monkeypatch.setattr(clients, "FULL", 12000)
    monkeypatch.setattr(clients, "RESERVE", 2000)
    full = many(300)
    live = config(many(10), {}, None, CA)
    with pytest.raises(ValueError, match="300 revoked certificates"):
        config(full, {}, live, CA)
    denied = config(full, {"site-a": access_records.deny(certified(), "audit", NOW)}, live, CA)["data"]
    assert denied["denied.lst"].splitlines()[1:] == ["site-a"]
    assert sum(map(len, denied.values())) <= clients.FULL
    with pytest.raises(ValueError, match="190 revoked"):
        config(many(190), {}, live, CA)
    more = config(many(190), {"site-a": access_records.deny(certified(), "audit", NOW)}, live, CA)["data"]
    assert len(certificates.crl_entries(more["crl.pem"], CA.certificate)) == 190 and "site-a" in more["denied.lst"]


def test_a_site_that_claims_a_registered_key_takes_it_from_nobody():
    line = keypairs.supernode_public_key(keypairs.make_supernode_key())
    key = {"pool": "cpu", "name": "0", "fingerprint": "f", "public_key": line}
    fleet = {site: records.merge_keys(records.empty_record(site), [key], None) for site in ("site-a", "site-b")}
    fleet["site-b"]["keys"]["f"]["node_id"] = "7"
    fleet["site-a"]["keys"]["f"]["dead"] = True
    assert access_records.owners(fleet) == {line: "site-b"}


def identity(live):
    return live["metadata"]["annotations"][clients.NOTE]


def test_the_identity_of_the_hub_is_noted_beside_the_ledger_and_survives_its_loss():
    first = config(BOOK, {}, None, CA)
    assert identity(config(BOOK, {}, first)) == identity(first) != identity(config(BOOK, {}, None, CA))
    book = partition_numbers.identified(BOOK, identity(first))
    assert book["id"] == identity(first) and partition_numbers.identified(book, "another") == book
    assert identity(config({**BOOK, "id": "of the ledger"}, {}, first)) == "of the ledger"
