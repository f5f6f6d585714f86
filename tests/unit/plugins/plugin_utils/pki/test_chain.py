# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Certificates, keys and chains as people bring them along, broken ones above all.

What HAProxy itself makes of them is tried on the fleet (tests/integration/scenarios/test_15_certificates.py).
"""

from __future__ import annotations

import datetime

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

from ansible_collections.federated.flower.plugins.plugin_utils.pki import certificates as pki
from ansible_collections.federated.flower.plugins.plugin_utils.pki import chain, keypairs
from ansible_collections.federated.flower.plugins.plugin_utils.pki.chain import ChainError
from ansible_collections.federated.flower.tests.unit.rows import each_row

DAY = datetime.timedelta(days=1)
NOW = datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)
OIDS = x509.oid.ExtendedKeyUsageOID


class Made:
    """A certificate and its key, made to measure."""

    def __init__(self, name, issuer=None, *, ca=None, sans=(), key=None, extensions=(), ends=DAY):
        self.key = key or ec.generate_private_key(ec.SECP256R1())
        signer = issuer or self
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)]))
            .issuer_name(
                issuer.cert.subject if issuer else x509.Name([x509.NameAttribute(x509.oid.NameOID.COMMON_NAME, name)])
            )
            .public_key(self.key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(NOW + min(-DAY, ends - DAY))
            .not_valid_after(NOW + ends)
        )
        if ca is not None:
            builder = builder.add_extension(x509.BasicConstraints(ca=ca, path_length=None), critical=True)
        if sans:
            builder = builder.add_extension(
                x509.SubjectAlternativeName([pki.general_name(san) for san in sans]), critical=False
            )
        for extension in extensions:
            builder = builder.add_extension(extension, critical=False)
        algorithm = None if isinstance(signer.key, ed25519.Ed25519PrivateKey) else hashes.SHA256()
        self.cert = builder.sign(signer.key, algorithm)

    @property
    def pem(self):
        return self.cert.public_bytes(serialization.Encoding.PEM).decode()

    def private(self, encryption=None):
        form = serialization.PrivateFormat.PKCS8
        encryption = encryption or serialization.NoEncryption()
        return self.key.private_bytes(serialization.Encoding.PEM, form, encryption).decode()


@pytest.fixture(scope="module")
def family():
    """Root, intermediate, leaf."""
    root = Made("root", ca=True)
    inter = Made("inter", root, ca=True)
    return root, inter, Made("leaf", inter, sans=["hub.example", "*.wild.example", "203.0.113.5"])


GOOD = pki.make_ca("x", DAY).certificate
SHA1 = """\
-----BEGIN CERTIFICATE-----
MIIBeDCCAR+gAwIBAgIUUfCNDHTSHackHkHVpTdH0MXDpo8wCQYHKoZIzj0EATAP
MQ0wCwYDVQQDDARyb290MB4XDTI2MTEyMTE1MTAyMFoXDTI2MTEyNjE1MTAyMFow
DzENMAsGA1UEAwwEbGVhZjBZMBMGByqGSM49AgEGCCqGSM49AwEHA0IABIXoJ/r5
mRDs+znuXbAV6s4co8psaV7PEvfK78vxyDApa5YkjMTiWNkGVqscnX/+tKD8+C+6
0YGTarttsCgEIcGjWjBYMBYGA1UdEQQPMA2CC2h1Yi5leGFtcGxlMB0GA1UdDgQW
BBQwqgI6q/x5VIfnSZT8uwEU1Zzg9TAfBgNVHSMEGDAWgBSCB97v0bkKAGZx7m+w
C4bVJuno4DAJBgcqhkjOPQQBA0gAMEUCIEAqLmGT8oAIMBD8AvpkUJ2gYbszk2YK
1Q+XVZH/jBTQAiEAxRC6I+iwitNFqQz76KfXkMfoA0XFtgoo7pay6a51+iM=
-----END CERTIFICATE-----
"""


@each_row(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n", "is empty"),
        ("not PEM", "is not a PEM certificate"),
        ("-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n", "number 1"),
        ("-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n", "number 1"),
        (GOOD + GOOD[:200], "complete blocks"),
        (GOOD + pki.make_ca("y", DAY).key, "contains a private key"),
        (GOOD.replace("M", "ü", 1), "complete blocks"),
        (GOOD.replace("CERTIFICATE", "CERTIFICATE REQUEST"), "is not a PEM certificate"),
        ("\x00" * 5000, "is not a PEM certificate"),
    ],
)
def test_what_is_no_certificate(text, words):
    with pytest.raises(ChainError, match=words):
        chain.read(text)


def test_certificates_among_other_text():
    assert len(chain.read("Bag Attributes\n" + GOOD + "# é\n" + GOOD.replace("\n", "\r\n"))) == 2


def test_key_of_the_certificate(family):
    chain.check_key(family[2].cert, family[2].private())
    for key in (ed25519.Ed25519PrivateKey.generate(), rsa.generate_private_key(65537, 2048)):
        made = Made("x", key=key)
        chain.check_key(made.cert, made.private())


@pytest.mark.parametrize(
    ("key", "words"),
    [
        ("", "is empty"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "is not a PEM private key"),
        (GOOD, "is not a PEM private key"),
        ("schlüssel", "is not a PEM private key"),
        (keypairs.make_supernode_key(), "is not a PEM private key"),
        (Made("x").private(), "belongs to another certificate than CN=leaf"),
        (Made("x").private(serialization.BestAvailableEncryption(b"x")), "is encrypted with a passphrase"),
    ],
    ids=["empty", "broken", "certificate", "text", "openssh", "foreign", "encrypted"],
)
def test_wrong_key(family, key, words):
    with pytest.raises(ChainError, match=words) as caught:
        chain.check_key(family[2].cert, key)
    lines = [line for line in key.splitlines() if len(line) > 10]
    assert not any(line in str(caught.value) for line in lines), "the key is in the message"


@pytest.mark.parametrize(
    ("name", "good"),
    [
        ("hub.example", True),
        ("HUB.Example", True),
        ("a.wild.example", True),
        ("a.b.wild.example", False),
        ("wild.example", False),
        ("other.example", False),
        ("203.0.113.5", True),
        ("203.0.113.6", False),
        ("leaf", False),  # the common name does not count
        ("", False),
    ],
)
def test_names(family, name, good):
    assert chain.covers(family[2].cert, name) is good


def test_a_certificate_without_names_covers_nothing():
    assert not chain.covers(Made("hub.example").cert, "hub.example")
    assert not chain.covers(Made("x", sans=["203.0.113.5"]).cert, "203.0.113.05")


def test_chains_that_hold(family):
    root, inter, leaf = (made.cert for made in family)
    assert chain.path([leaf, inter], [root]) == [leaf, inter, root]
    assert chain.path([leaf, root, inter], [root]) == [leaf, inter, root]
    assert chain.path([leaf], [root, inter]) == [leaf, inter, root]
    alone = Made("alone", sans=["x"])
    assert chain.path([alone.cert], [alone.cert]) == [alone.cert]
    # Two CAs of one name, the new one first: the second way is found.
    other = Made("root", ca=True)
    assert chain.path([leaf, inter], [other.cert, root]) == [leaf, inter, root]


def test_chains_that_break(family):
    root, inter, leaf = (made.cert for made in family)
    stranger = Made("stranger", ca=True)
    server = Made("server", family[0], sans=["x"])
    below = Made("below", server, sans=["x"])
    flat = Made("flat", ca=True, extensions=[x509.KeyUsage(True, *[False] * 8)])
    short = Made("short", family[0], extensions=[x509.BasicConstraints(True, 0)])
    deep = Made("deep", short, ca=True)
    for certificates, trusted, words in [
        ([leaf], [root], "lacks the certificate of CN=inter, which issued CN=leaf"),
        ([leaf, inter], [inter], "lacks the certificate of CN=root, which issued CN=inter"),
        ([leaf, inter, root], [stranger.cert], "ends in CN=root, a root that is not among the trusted ones"),
        ([leaf, inter], [Made("root", ca=True).cert], "breaks at CN=inter: CN=root has not signed it"),
        ([below.cert, server.cert], [root], "includes CN=server, which is not a CA"),
        ([Made("x", flat).cert], [flat.cert], "key usage"),
        ([Made("x", deep).cert, deep.cert, short.cert], [root], "has 1 CAs below CN=short, which allows 0"),
        ([leaf, inter], [], "lacks the certificate of CN=root"),
    ]:
        with pytest.raises(ChainError, match=words):
            chain.path(certificates, trusted)


@pytest.mark.parametrize("turned", [False, True])
def test_a_ca_that_was_renewed_with_its_key_may_be_trusted_beside_its_former_certificate(turned):
    """OpenSSL prefers the one that is valid, wherever it is in the bundle."""
    former = Made("root", ca=True, ends=-DAY)
    renewed = Made("root", ca=True, key=former.key)
    leaf = Made("leaf", renewed, sans=["hub.example"])
    bundle = [former.cert, renewed.cert]
    way = chain.path([leaf.cert], bundle[::-1] if turned else bundle)
    assert way[-1] == renewed.cert
    chain.check_times(way, {"the controller": NOW})


def test_two_cas_that_signed_each_other_end():
    one = Made("one", ca=True)
    two = Made("two", one, ca=True)
    crossed = Made("one", two, ca=True, key=one.key)
    with pytest.raises(ChainError):
        chain.path([Made("x", two).cert, two.cert, crossed.cert], [Made("three", ca=True).cert])


def test_a_chain_without_end_is_given_up():
    made = [Made("0", ca=True)]
    for number in range(1, 14):
        made.append(Made(str(number), made[-1], ca=True))
    with pytest.raises(ChainError, match="is longer than 10"):
        chain.path([one.cert for one in reversed(made)], [made[0].cert])


def test_what_it_may_be_used_for(family):
    chain.check_use([family[2].cert])
    chain.check_use([Made("x", extensions=[x509.ExtendedKeyUsage([OIDS.SERVER_AUTH])]).cert])
    chain.check_use([Made("x", extensions=[x509.ExtendedKeyUsage([OIDS.ANY_EXTENDED_KEY_USAGE])]).cert])
    with pytest.raises(ChainError, match="no serverAuth"):
        chain.check_use([Made("x", extensions=[x509.ExtendedKeyUsage([OIDS.CLIENT_AUTH])]).cert])
    with pytest.raises(ChainError, match="1024 bits"):
        chain.check_use([Made("x", key=rsa.generate_private_key(65537, 1024)).cert])
    with pytest.raises(ChainError, match="secp192r1"):
        chain.check_use([Made("x", key=ec.generate_private_key(ec.SECP192R1())).cert])


def test_sha1(family):
    """cryptography makes no such certificate any more; this one is OpenSSL's, its dates do not matter here."""
    (weak,) = chain.read(SHA1)
    with pytest.raises(ChainError, match="signed with sha1"):
        chain.check_use([weak, family[0].cert])


def test_times(family):
    root, _inter, leaf = (made.cert for made in family)
    chain.check_times([leaf, root], {"the controller": NOW, "site-a": NOW + DAY / 2})
    just_issued = leaf.not_valid_before_utc - datetime.timedelta(seconds=1)  # by a clock that is read in whole seconds
    chain.check_times([leaf], {"the hub": just_issued})
    with pytest.raises(ChainError, match=r"CN=leaf expired on .* \(the clock of site-b shows"):
        chain.check_times([leaf, root], {"the controller": NOW, "site-b": NOW + 2 * DAY})
    with pytest.raises(ChainError, match=r"not valid before .* the clock of site-c shows .* 60 s before that"):
        chain.check_times([leaf, root], {"site-c": NOW - DAY - datetime.timedelta(seconds=60)})
