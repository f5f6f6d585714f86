# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates that others make: handed-in CAs, cert-manager, Secrets and values; and the checks that all have to pass."""

from __future__ import annotations

import base64
import datetime
from dataclasses import replace

import pytest
from cryptography import x509

from ansible_collections.federated.flower.plugins.plugin_utils.manifests import certificate
from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates, chain, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.rotation import certificate_checks, certificate_sources
from ansible_collections.federated.flower.plugins.plugin_utils.rotation.certificate_plan import Wanted
from ansible_collections.federated.flower.tests.unit.hub_objects import live_objects
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc)
CLOCKS = {"the controller": NOW}
WANTED = Wanted("demo", "flower", "flower-ca", ["hub.example"], 90 * DAY, 900 * DAY, {"hub.example": "site-a, site-b"})
NOTHING = dict.fromkeys(("ca_certificate", "ca_key", "certificate", "certificate_key"), "")

CA = certificates.make_ca("own ca", 99 * DAY)
LEAF = certificates.issue(CA, "hub", ["hub.example"], 9 * DAY)
OTHER_CA = certificates.make_ca("other ca", 99 * DAY)


@pytest.fixture(autouse=True)
def a_clock_that_stands(monkeypatch):
    """Much time may pass between the import of this file and a test."""
    monkeypatch.setattr(certificates, "_now", lambda: NOW.replace(microsecond=0))


def secret(name, namespace="flower", **data):
    """A live Secret; C(tls_crt) stands for C(tls.crt)."""
    encoded = {key.replace("_", "."): base64.b64encode(value.encode()).decode() for key, value in data.items()}
    return {"metadata": {"name": name, "namespace": namespace}, "data": encoded}


def plan(source, *there, wanted=WANTED, unserved=()):
    """The plan when this is all that there is."""
    spec, given = source
    return certificate_sources.plan(spec, given, wanted, live_objects(*there, unserved=unserved))


def faults(made, wanted=WANTED, clocks=None):
    """Everything that is wrong with a plan."""
    return made.faults or certificate_checks.faults(made, wanted.needed, clocks or CLOCKS)


def source(parsed_hub, **changes):
    """A spec, and values beside it."""
    given = {key: changes.pop(key) for key in NOTHING if key in changes}
    return parsed_hub(**{"ca_bundle": "", **changes}), {**NOTHING, **given}


# The federation's own CA


@pytest.mark.parametrize(
    ("ca", "words"),
    [
        (certificates.Issued(CA.certificate, ""), "its private key is lost"),
        (certificates.make_ca("ended", -DAY / 1440), "expired on"),
    ],
)
def test_an_own_ca_that_signs_nothing_of_use_is_left_to_the_rotation(parsed_hub, ca, words):
    there = secret("flower-ca", "flower-ca", tls_crt=ca.certificate, tls_key=ca.key)
    made = plan(source(parsed_hub), there)
    (fault,) = faults(made)
    assert "Secret flower-ca/flower-ca" in fault and words in fault and "federated.flower.rotate_certs" in fault
    assert made.secrets == []


BROKEN = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tls_crt": ""}, "its certificate is empty"),
        ({"tls_crt": BROKEN}, "cannot be read"),
        ({"tls_key": "not a key"}, "is not a PEM private key"),
        ({"tls_key": keypairs.make_client_key()}, "belongs to another certificate than CN=hub"),
    ],
)
def test_a_certificate_of_ours_that_someone_damaged_is_issued_again(parsed_hub, changed, words):
    own = secret("flower-ca", "flower-ca", tls_crt=CA.certificate, tls_key=CA.key)
    there = secret("superlink-gateway-tls", **{"tls_crt": LEAF.certificate, "tls_key": LEAF.key, "ca_crt": CA.certificate, **changed})
    made = plan(source(parsed_hub), own, there)
    assert faults(made) == [] and len(made.secrets) == 1
    assert words in made.reasons[0]


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"tls_key": "not a key"}, "its private key is not a PEM private key (ValueError); restore it from a backup; or federated.flower.rotate_certs"),
        ({"tls_key": keypairs.make_client_key()}, "its private key belongs to another certificate than CN=own ca; restore it"),
        ({"tls_crt": "# Universit\u00e4t\n" + CA.certificate}, "has no tls.crt and tls.key that can be read; restore it from a backup"),
        ({"tls_crt": "x"}, "tls.crt is not a PEM certificate: it needs complete blocks from BEGIN CERTIFICATE to END CERTIFICATE; restore it"),
    ],
)
def test_an_own_ca_that_someone_damaged_is_named_before_anything_is_changed(parsed_hub, changed, words):
    own = secret("flower-ca", "flower-ca", **{"tls_crt": CA.certificate, "tls_key": CA.key, **changed})
    made = plan(source(parsed_hub), own)
    (fault,) = faults(made)
    assert words in fault and made.secrets == []


def test_a_certificate_for_a_new_address_is_good_for_the_former_one_too(parsed_hub):
    """A site that has no part in the run, or applies its bundle later, verifies the former address until then."""
    own = secret("flower-ca", "flower-ca", tls_crt=CA.certificate, tls_key=CA.key)
    there = secret("superlink-gateway-tls", tls_crt=LEAF.certificate, tls_key=LEAF.key, ca_crt=CA.certificate)
    moved = replace(WANTED, names=["new.example"], needed={"new.example": "site-a"})
    made = plan(source(parsed_hub), own, there, wanted=moved)
    assert certificates.describe(made.certificate)["names"] == ["hub.example", "new.example"]
    foreign = certificates.issue(OTHER_CA, "hub", ["evil.example"], 9 * DAY)
    there = secret("superlink-gateway-tls", tls_crt=foreign.certificate, tls_key=foreign.key, ca_crt=OTHER_CA.certificate)
    made = plan(source(parsed_hub), own, there, wanted=moved)
    assert certificates.describe(made.certificate)["names"] == ["new.example"]


# A CA that is handed in


def handed_in(parsed_hub, ca=CA, **changes):
    return source(parsed_hub, **{"ca_certificate": ca.certificate, "ca_key": ca.key, **changes})


def test_a_handed_in_ca_is_not_stored(parsed_hub):
    made = plan(handed_in(parsed_hub))
    assert faults(made) == []
    assert [item["metadata"]["name"] for item in made.secrets] == ["superlink-gateway-tls"]
    assert CA.key not in [base64.b64decode(value).decode() for value in made.secrets[0]["data"].values()]
    assert made.trust == CA.certificate and not made.trust_is_complete
    again = plan(handed_in(parsed_hub), made.secrets[0])
    assert again.secrets == [] and again.certificate == made.certificate


def test_a_handed_in_intermediate_brings_its_root(parsed_hub):
    # make_ca's CAs allow none below them.
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec

    root_key, key = (ec.generate_private_key(ec.SECP256R1()) for _number in range(2))

    def made(name, of, issuer):
        names = [x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, one)]) for one in (name, issuer)]
        builder = x509.CertificateBuilder().subject_name(names[0]).issuer_name(names[1]).public_key(of.public_key())
        builder = builder.serial_number(7).not_valid_before(NOW - DAY).not_valid_after(NOW + 99 * DAY)
        builder = builder.add_extension(x509.BasicConstraints(True, None), critical=True)
        return certificates._cert_pem(builder.sign(root_key, hashes.SHA256()))

    root, inter = made("root", root_key, "root"), made("inter", key, "root")
    ca = certificates.Issued(inter + root, keypairs.private_pem(key))
    whole = plan(handed_in(parsed_hub, ca))
    assert faults(whole) == [] and whole.trust == root
    assert [chain.subject(one) for one in chain.read(whole.certificate)] == ["CN=superlink", "CN=inter", "CN=root"]
    bare = certificates.Issued(inter, ca.key)
    assert "is not a root CA and none follows it" in faults(plan(handed_in(parsed_hub, bare)))[0]
    assert faults(plan(handed_in(parsed_hub, bare, ca_bundle=root))) == []
    (fault,) = faults(plan(handed_in(parsed_hub, bare, ca_bundle=OTHER_CA.certificate)))
    assert "superlink_ca_bundle" in fault and "CN=root" in fault


@each_row(
    ("certificate_", "key", "words"),
    [
        (CA.certificate, "", "superlink_ca_key is empty"),
        ("", CA.key, "superlink_ca_certificate is empty"),
        (CA.certificate, OTHER_CA.key, "superlink_ca_key belongs to another certificate"),
        (CA.certificate + CA.key, CA.key, "superlink_ca_certificate contains a private key"),
        (LEAF.certificate, LEAF.key, "includes CN=hub, which is not a CA"),
    ],
)
def test_a_wrong_ca(parsed_hub, certificate_, key, words):
    made = plan(source(parsed_hub, ca_certificate=certificate_, ca_key=key))
    assert words in "; ".join(faults(made))
    assert "PRIVATE" not in repr(faults(made)) and CA.key not in repr(made)


def test_a_bundle_has_no_effect_on_the_own_ca(parsed_hub):
    assert "no effect" in faults(plan(source(parsed_hub, ca_bundle=CA.certificate)))[0]


# Certificates that are brought along


def test_a_secret_as_it_is(parsed_hub):
    wanted = {"certificates_source": "existing", "certificate_secret": "mine"}
    mine = secret("mine", tls_crt=LEAF.certificate, tls_key=LEAF.key, ca_crt=CA.certificate, keystore_p12="\x80")
    made = plan(source(parsed_hub, **wanted), mine)
    assert faults(made) == [] and made.secrets == [] and made.members == []
    assert (made.secret, made.trust, made.managed_elsewhere) == ("mine", CA.certificate, True)
    # A bundle wins over the Secret's own.
    made = plan(source(parsed_hub, ca_bundle=OTHER_CA.certificate, **wanted), mine)
    assert "ends in CN=own ca, a root that is not among the trusted ones" in faults(made)[0]
    assert "superlink_ca_bundle" in faults(made)[0]


@each_row(
    ("data", "words"),
    [
        (None, "there is no Secret 'mine' in namespace flower"),
        ({}, "has no tls.crt and no tls.key"),
        ({"tls_crt": LEAF.certificate}, "has no tls.key"),
        ({"tls_crt": LEAF.certificate, "tls_key": LEAF.key}, "has no ca.crt"),
        ({"tls_crt": LEAF.certificate, "tls_key": LEAF.key, "ca_crt": "x"}, "ca.crt of Secret flower/mine is not a PEM certificate"),
        (
            {"tls_crt": LEAF.certificate, "tls_key": CA.key, "ca_crt": CA.certificate},
            "tls.key of Secret flower/mine belongs to another certificate than CN=hub",
        ),
    ],
)
def test_a_secret_that_lacks_something(parsed_hub, data, words):
    there = [] if data is None else [secret("mine", **data)]
    made = plan(source(parsed_hub, certificates_source="existing", certificate_secret="mine"), *there)
    assert words in "; ".join(faults(made))


def values(parsed_hub, issued=LEAF, **changes):
    given = {"certificate": issued.certificate, "certificate_key": issued.key, "ca_bundle": CA.certificate, **changes}
    return source(parsed_hub, certificates_source="existing", **given)


def test_values_become_a_secret(parsed_hub):
    made = plan(values(parsed_hub))
    assert faults(made) == [] and made.secret == "superlink-gateway-tls"
    assert set(made.secrets[0]["data"]) == {"tls.crt", "tls.key", "ca.crt"}
    there = made.secrets[0]
    assert plan(values(parsed_hub), there).secrets == []
    later = certificates.issue(CA, "hub", ["hub.example"], DAY)
    assert plan(values(parsed_hub, later), there).reasons == ["superlink-gateway-tls: it differed"]


@each_row(
    ("issued", "changes", "words"),
    [
        (LEAF, {"certificate_key": CA.key}, "superlink_certificate_key belongs to another certificate"),
        (LEAF, {"certificate_key": "x"}, "superlink_certificate_key is not a PEM private key"),
        (LEAF, {"certificate_key": "ü"}, "superlink_certificate_key is not a PEM private key"),
        (LEAF, {"certificate": LEAF.certificate + LEAF.key}, "superlink_certificate contains a private key"),
        (LEAF, {"certificate": "x"}, "superlink_certificate is not a PEM certificate"),
        (LEAF, {"ca_bundle": ""}, "superlink_ca_bundle is empty"),
        (LEAF, {"ca_bundle": OTHER_CA.certificate}, "Trusted are CN=other ca (superlink_ca_bundle)"),
        (
            certificates.issue(CA, "hub", ["other.example", "203.0.113.5"], DAY),
            {},
            "does not cover hub.example, against which it is verified by site-a, site-b; it covers other.example, 203.0.113.5",
        ),
        (certificates.issue(CA, "hub.example", ["203.0.113.5"], DAY), {}, "does not cover hub.example"),
    ],
)
def test_wrong_values(parsed_hub, issued, changes, words):
    made = plan(values(parsed_hub, issued, **changes))
    assert words in "; ".join(faults(made))
    assert "PRIVATE" not in repr(faults(made)) + repr(made)


def test_which_variable_names_what_sites_verify(parsed_hub):
    made = plan(values(parsed_hub, certificates.issue(CA, "hub", ["other.example"], DAY)))
    assert "or set flower_server_name to one of its DNS names" in certificate_checks.faults(made, WANTED.needed, CLOCKS)[0]
    # Where TLS is passed through, the gateway is found by the name that is verified.
    assert "or set superlink_host to one of its DNS names" in certificate_checks.faults(made, WANTED.needed, CLOCKS, "superlink_host")[0]


def test_clocks(parsed_hub):
    made = plan(values(parsed_hub))
    late = {**CLOCKS, "the hub": NOW - datetime.timedelta(seconds=400)}
    (fault,) = faults(made, clocks=late)
    assert "CN=hub is not valid before" in fault and "the clock of the hub shows" in fault
    (fault,) = faults(made, clocks={"the hub": NOW + 10 * DAY})
    assert "CN=hub expired on" in fault


@pytest.mark.parametrize(("days", "warned"), [(50, False), (61, True), (89, True)])
def test_a_certificate_that_nobody_renews(parsed_hub, days, warned):
    made = plan(values(parsed_hub, certificates.issue(CA, "hub", ["hub.example"], 90 * DAY)))
    found = certificate_checks.warnings(made, NOW + days * DAY)
    assert bool(found) == warned and (not warned or "superlink_certificate expires on" in found[0])


@pytest.mark.parametrize(("left", "words"), [(40, []), (20, ["is of the CA CN=corporate CA, which expires on"])])
def test_a_ca_that_ends_while_its_certificates_are_renewed(parsed_hub, monkeypatch, left, words):
    with monkeypatch.context() as past:
        past.setattr(certificates, "_now", lambda: NOW - (900 - left) * DAY)
        corporate = certificates.make_ca("corporate CA", 900 * DAY)
    found = certificate_checks.warnings(plan(handed_in(parsed_hub, corporate)), NOW)
    assert len(found) == len(words) and all(word in one for word, one in zip(words, found))


def test_everything_wrong_is_told_at_once(parsed_hub):
    foreign = certificates.issue(OTHER_CA, "hub", ["other.example"], DAY)
    made = plan(values(parsed_hub, foreign, certificate_key=CA.key))
    assert len(faults(made)) == 3, faults(made)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"certificate": LEAF.certificate},
        {"certificate_key": LEAF.key},
        {"certificate": LEAF.certificate, "certificate_key": LEAF.key, "certificate_secret": "mine"},
    ],
)
def test_existing_needs_one_of_two(parsed_hub, changes):
    made = plan(source(parsed_hub, certificates_source="existing", **changes))
    assert "needs either superlink_certificate_secret" in faults(made)[0]


# cert-manager


ISSUER = {"name": "ours"}
READY = {"type": "Ready", "status": "True", "observedGeneration": 2}


def issuer(ready=True, kind="Issuer", **spec):
    conditions = [] if ready is None else [{"type": "Ready", "status": str(bool(ready)), "reason": "ErrGetKeyPair"}]
    meta = {"name": "ours", "namespace": "flower" if kind == "Issuer" else ""}
    return {"apiVersion": certificate.API, "kind": kind, "metadata": meta, "spec": spec or {"selfSigned": {}}, "status": {"conditions": conditions}}


def asked(*conditions, generation=2):
    meta = {"name": certificate.NAME, "namespace": "flower", "generation": generation}
    return {"apiVersion": certificate.API, "kind": "Certificate", "metadata": meta, "status": {"conditions": list(conditions)}}


def issued(leaf=LEAF, ca=CA.certificate):
    return secret(certificate.SECRET, tls_crt=leaf.certificate, tls_key=leaf.key, ca_crt=ca)


def cert_manager(parsed_hub, **changes):
    return source(parsed_hub, **{"certificates_source": "cert_manager", "issuer": ISSUER, **changes})


def test_a_certificate_is_asked_for_and_waited_for(parsed_hub):
    made = plan(cert_manager(parsed_hub), issuer())
    assert made.faults == [] and made.pending == "Certificate flower/superlink-gateway does not exist yet"
    spec = made.members[0]["spec"]
    assert spec["issuerRef"] == {"name": "ours", "kind": "Issuer", "group": "cert-manager.io"}
    assert (spec["duration"], spec["renewBefore"]) == ("2160h", "1080h")
    assert spec["privateKey"] == {"algorithm": "ECDSA", "size": 256, "rotationPolicy": "Always"}
    assert made.secrets == [] and made.managed_elsewhere
    made = plan(cert_manager(parsed_hub), issuer(), asked())
    assert "cert-manager has not processed it yet" in made.pending
    made = plan(cert_manager(parsed_hub), issuer(), asked(READY), issued())
    assert made.pending == "" and faults(made) == []
    assert (made.secret, made.trust) == (certificate.SECRET, CA.certificate)


def test_names_lifetime_and_patches_reach_the_certificate(parsed_hub):
    patch = {"target": {"kind": "Certificate", "name": certificate.NAME}, "patch": {"spec": {"duration": "60s"}}}
    changes = {"gateway_names": ["hub.example", "203.0.113.5"], "renew_before": "90m", "patches": [patch]}
    spec = plan(cert_manager(parsed_hub, **changes), issuer()).members[0]["spec"]
    assert (spec["dnsNames"], spec["ipAddresses"]) == (["hub.example"], ["203.0.113.5"])
    assert (spec["duration"], spec["renewBefore"]) == ("60s", "90m")


@each_row(
    ("there", "words"),
    [
        ([], "Issuer 'ours' does not exist in namespace flower; there are: none"),
        ([{**issuer(), "metadata": {"name": "theirs", "namespace": "flower"}}], "there are: theirs"),
        ([issuer(ready=None)], "has no condition Ready: check that cert-manager's controller is running"),
        ([issuer(ready=False)], "is not ready (ErrGetKeyPair)"),
        ([issuer(acme={})], "is of a public CA (ACME); set the root"),
        ([issuer(), asked(READY), issued(ca="")], "it publishes no CA"),
    ],
)
def test_what_only_people_can_mend(parsed_hub, there, words):
    assert words in plan(cert_manager(parsed_hub), *there).faults[0]


def test_cert_manager_is_not_installed(parsed_hub):
    made = plan(cert_manager(parsed_hub), unserved=("Certificate", "Issuer"))
    assert "does not serve Certificate (cert-manager.io/v1)" in made.faults[0]


def test_a_cluster_issuer(parsed_hub):
    wide = cert_manager(parsed_hub, issuer={"name": "ours", "kind": "ClusterIssuer"})
    assert plan(wide, issuer(kind="ClusterIssuer", ca={"secretName": "root"})).faults == []
    assert "ClusterIssuer 'ours' does not exist; there are" in plan(wide).faults[0]


def test_an_external_issuer_is_taken_as_it_is(parsed_hub):
    external = {"name": "pca", "kind": "AWSPCAClusterIssuer", "group": "awspca.cert-manager.io"}
    made = plan(cert_manager(parsed_hub, issuer=external))
    assert made.faults == [] and made.members[0]["spec"]["issuerRef"] == external


def test_a_public_ca_gets_public_names_only(parsed_hub):
    changes = {"ca_bundle": CA.certificate, "server_name": "hub.example"}
    internal = Wanted("demo", "flower", "flower-ca", ["hub.example", "superlink"], DAY, DAY)
    assert (
        "no internal names" in plan(cert_manager(parsed_hub, **changes), issuer(acme={}), wanted=internal).faults[0]
    )
    assert plan(cert_manager(parsed_hub, **changes), issuer(acme={})).faults == []
    routed = replace(internal, name_variable="superlink_host")
    assert "superlink_host to a public name" in plan(cert_manager(parsed_hub, **changes), issuer(acme={}), wanted=routed).faults[0]


def condition(kind, status, reason, message="", generation=2):
    return {"type": kind, "status": status, "reason": reason, "message": message, "observedGeneration": generation}


def request(name, made, reason, of=certificate.NAME):
    annotations = {"cert-manager.io/certificate-name": of}
    meta = {"name": name, "namespace": "flower", "creationTimestamp": made, "annotations": annotations}
    status = {"conditions": [condition("Ready", "False", reason)]}
    return {"apiVersion": certificate.API, "kind": "CertificateRequest", "metadata": meta, "status": status}


def test_what_lacks_is_told(parsed_hub):
    waiting = asked(condition("Ready", "False", "DoesNotExist", "no\nsecret"), condition("Issuing", "True", "New"))
    requests = [
        request("a", "2026-01-02T00:00:00Z", "Pending"),
        request("b", "2026-01-01T00:00:00Z", "Old"),
        request("c", "2026-01-03T00:00:00Z", "Foreign", of="another"),
    ]
    made = plan(cert_manager(parsed_hub), issuer(), waiting, *requests)
    assert made.pending.endswith("DoesNotExist: no secret; New; CertificateRequest a: Pending") and not made.hopeless
    failed = asked(condition("Issuing", "False", "Failed", "The certificate request has failed"))
    assert plan(cert_manager(parsed_hub), issuer(), failed).hopeless
    # A failure of what was asked for before is none of what is asked for now.
    stale = asked(condition("Issuing", "False", "Failed", generation=1))
    assert not plan(cert_manager(parsed_hub), issuer(), stale).hopeless


@pytest.mark.parametrize(
    ("there", "words"),
    [
        ([asked({**READY, "observedGeneration": 1}), issued()], "is not ready"),
        ([asked(READY)], "is not ready"),
        ([asked(READY), issued(certificates.issue(CA, "x", ["old.example"], DAY))], "does not cover hub.example yet"),
    ],
)
def test_an_old_answer_is_not_taken(parsed_hub, there, words):
    made = plan(cert_manager(parsed_hub), issuer(), *there)
    assert words in made.pending and made.certificate == ""


def test_the_ca_of_the_next_renewal_is_trusted_before(parsed_hub):
    ca = {"secretName": "root"}
    coming = secret("root", tls_crt=OTHER_CA.certificate, tls_key=OTHER_CA.key)
    made = plan(cert_manager(parsed_hub), issuer(ca=ca), asked(READY), issued(), coming)
    assert made.trust == CA.certificate + OTHER_CA.certificate
    assert faults(made) == []
    same = secret("root", tls_crt=CA.certificate)
    assert plan(cert_manager(parsed_hub), issuer(ca=ca), asked(READY), issued(), same).trust == CA.certificate
    # Whoever gives a bundle says everything.
    given = cert_manager(parsed_hub, ca_bundle=CA.certificate)
    assert plan(given, issuer(ca=ca), asked(READY), issued(), coming).trust == CA.certificate


def test_no_source_shows_a_key(parsed_hub):
    shown = repr([plan(values(parsed_hub)), plan(handed_in(parsed_hub))])
    assert "PRIVATE" not in shown
