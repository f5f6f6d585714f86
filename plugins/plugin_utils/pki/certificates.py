# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Certificates, requests and revocation lists, created in memory with C(cryptography). No I/O.

Sources of the rules: RFC 5280 (profiles), CA/Browser Forum baseline (serial of at least 64 random bits), flwr 1.41
(trust files must be ASCII).
"""

from __future__ import annotations

import datetime
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
except ImportError:  # reported by library.require()
    pass
else:
    # Exceptions of the library for certificates or keys that are broken or of an unknown type.
    UNREADABLE = (
        ValueError,
        UnsupportedAlgorithm,
        x509.DuplicateExtension,
        x509.InvalidVersion,
        x509.UnsupportedGeneralNameType,
    )
    _NOT_SIGNED = (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm)

from ..base.addresses import is_ip
from .keypairs import fingerprint, private_pem

# A certificate is dated back by this much, so that a site whose clock runs a little late accepts it at once.
BACKDATE = datetime.timedelta(minutes=5)
_COMMON_NAME = 64  # characters: RFC 5280, appendix A, ub-common-name


@dataclass(frozen=True)
class Issued:
    """A certificate with its private key.

    Attributes:
        certificate: PEM text, the leaf first, its issuer after it if it is a chain.
        key: PKCS8 PEM text of the private key. A secret.
    """

    certificate: str
    key: str


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.timezone.utc).replace(microsecond=0)


def _cert_pem(certificate: x509.Certificate) -> str:
    return certificate.public_bytes(serialization.Encoding.PEM).decode("ascii")


def _signing(pem: str) -> tuple[Any, hashes.SHA256 | None]:
    """A CA's private key, and the hash to sign with; a CA provided by the user may have any type of key."""
    key = serialization.load_pem_private_key(pem.encode("ascii"), password=None)
    return key, None if isinstance(key, (ed25519.Ed25519PrivateKey, ed448.Ed448PrivateKey)) else hashes.SHA256()


def canonical(name: str) -> str:
    """An IP address in its canonical form; a DNS name as it is."""
    return str(ipaddress.ip_address(name)) if is_ip(name) else name


def general_name(name: str) -> x509.GeneralName:
    """Convert an IP address or a DNS name to a subject alternative name.

    Args:
        name: such as C(203.0.113.5), C(2001:db8::1) or C(hub.example.org).
    """
    return x509.IPAddress(ipaddress.ip_address(name)) if is_ip(name) else x509.DNSName(name)


def _name(common_name: str, organization: str | None = None) -> x509.Name:
    parts = [x509.NameAttribute(NameOID.COMMON_NAME, common_name)]
    if organization:
        parts.append(x509.NameAttribute(NameOID.ORGANIZATION_NAME, organization))
    return x509.Name(parts)


def _builder(
    subject: x509.Name,
    public_key: Any,
    lifetime: datetime.timedelta,
    now: datetime.datetime | None = None,
    begin: datetime.timedelta | None = None,
) -> x509.CertificateBuilder:
    now = now or _now()
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - BACKDATE if begin is None else now + begin)
        .not_valid_after(now + lifetime)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public_key), critical=False)
    )


def ca_name(federation: str, use: str) -> str:
    """The common name of a CA of a federation, such as "flower internal CA".

    It has up to 64 characters (RFC 5280, appendix A, ub-common-name), a federation's name up to 63: the end of a long one is
    truncated. It is for people only.
    """
    return f"{federation[: _COMMON_NAME - len(use) - 1]} {use}"


def make_ca(common_name: str, lifetime: datetime.timedelta) -> Issued:
    """Create a self-signed CA on P-256 that may sign leaf certificates only (path length 0)."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name)
    certificate = (
        _builder(name, key.public_key(), lifetime)
        .issuer_name(name)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(ca=True), critical=True)
        .sign(key, hashes.SHA256())
    )
    return Issued(_cert_pem(certificate), private_pem(key))


def _key_usage(*, ca: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=ca,
        crl_sign=ca,
        encipher_only=False,
        decipher_only=False,
    )


def issue(
    ca: Issued,
    common_name: str,
    names: Sequence[str],
    lifetime: datetime.timedelta,
    begin: datetime.timedelta | None = None,
) -> Issued:
    """Issue a server certificate on P-256.

    Args:
        ca: the CA that signs.
        common_name: shown to people; clients check the alternative names only.
        names: DNS names and IP addresses for which the certificate is valid. At least one.
        lifetime: from now; limited by the CA's expiry, because clients reject a certificate that outlives its issuer.
        begin: from now until it becomes valid; by default it is dated back by C(BACKDATE).

    Returns:
        The leaf followed by its CA in C(certificate), and the leaf's key.
    """
    if not names:
        raise ValueError("a server certificate needs at least one name")
    issuer = x509.load_pem_x509_certificate(ca.certificate.encode("ascii"))
    ca_key, algorithm = _signing(ca.key)
    lifetime = min(lifetime, issuer.not_valid_after_utc - _now())
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(_name(common_name), key.public_key(), lifetime, begin=begin)
        .issuer_name(issuer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName([general_name(n) for n in names]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, algorithm)
    )
    return Issued(_cert_pem(certificate) + ca.certificate, private_pem(key))


_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]+)-----([A-Za-z0-9+/=\s]*)-----END \1-----")
# A block as OpenSSL, and so HAProxy and Python's ssl module, read it: each boundary on a line of its own.
_LINES = re.compile(r"^-----BEGIN ([A-Z0-9 ]+)-----[ \t\r]*\n(?:[A-Za-z0-9+/=]+[ \t\r]*\n)*-----END \1-----[ \t\r]*$", re.MULTILINE)
_COLUMNS = 64  # RFC 7468


def blocks(pem: str) -> list[tuple[str, str]]:
    """Label and text of each block of a PEM text, in the form of RFC 7468; comments and everything else are omitted.

    YAML turns line ends into blanks (C(>)) or adds blanks before lines. C(cryptography) reads that, OpenSSL does not.
    """
    found = []
    for label, content in _BLOCK.findall(pem):
        letters = "".join(content.split())
        lines = [letters[at : at + _COLUMNS] for at in range(0, len(letters), _COLUMNS)]
        found.append((label, "\n".join([f"-----BEGIN {label}-----", *lines, f"-----END {label}-----", ""])))
    return found


def split(pem: str) -> list[str]:
    """The certificates of a PEM text one by one; see C(blocks)."""
    return [block for label, block in blocks(pem) if label == "CERTIFICATE"]


def standard(pem: str) -> str:
    """All blocks of a PEM text; the text itself where it has none, so that the reader says what is wrong with it. See C(blocks)."""
    return "".join(block for _label, block in blocks(pem)) or pem


def is_readable(pem: str) -> bool:
    """Whether OpenSSL reads every block of a PEM text as it is."""
    return len(_LINES.findall(pem)) == len(blocks(pem))


def first(pem: str) -> str:
    """The first certificate of a PEM text."""
    return split(pem)[0]


def describe(pem: str) -> dict[str, Any]:
    """Describe the first certificate in a PEM text for people and checks. Contains nothing secret.

    Returns:
        A dict with C(subject), C(issuer), C(serial) (hex), C(not_before) and C(not_after) (ISO 8601, UTC),
        C(names) (sorted list of alternative names) and C(fingerprint) (C(SHA256:) and hex).
    """
    certificate = x509.load_pem_x509_certificate(pem.encode("ascii"))
    try:
        extension = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names: list[str] = []
    else:
        names = sorted(str(n.value) for n in extension)
    return {
        "subject": certificate.subject.rfc4514_string(),
        "issuer": certificate.issuer.rfc4514_string(),
        "serial": format(certificate.serial_number, "x"),
        "not_before": certificate.not_valid_before_utc.isoformat(),
        "not_after": certificate.not_valid_after_utc.isoformat(),
        "names": names,
        "fingerprint": "SHA256:" + certificate.fingerprint(hashes.SHA256()).hex(),
    }


def not_issued_by(certificate: x509.Certificate, issuer: x509.Certificate) -> str | None:
    """Why C(issuer) has not signed a certificate; None when it has. Compares names and signature, no dates."""
    try:
        certificate.verify_directly_issued_by(issuer)
    except _NOT_SIGNED as error:
        return str(error) or type(error).__name__
    return None


def reissue_reason(
    leaf_pem: str,
    ca_pem: str,
    names: Iterable[str],
    now: datetime.datetime | None = None,
    renew_before: datetime.timedelta | None = None,
) -> str | None:
    """Why a server certificate must be reissued; None when it is valid.

    It is replaced when it was not signed by the current CA, when a name is missing, and from some time before its expiry
    on: by default from the middle of its lifetime, so that half of it is left for problems.

    Args:
        leaf_pem: PEM text whose first certificate is the leaf.
        ca_pem: PEM text of the CA that should have signed it.
        names: DNS names and IP addresses that it must cover.
        now: the time to judge by; the present by default.
        renew_before: how long before its expiry it is replaced; half of its lifetime by default.
    """
    leaf = x509.load_pem_x509_certificate(leaf_pem.encode("ascii"))
    foreign = _foreign(leaf, ca_pem)
    if foreign:
        return foreign
    missing = sorted(set(names) - set(describe(leaf_pem)["names"]))
    if missing:
        return "it does not cover " + ", ".join(missing)
    return _aged(leaf, now, renew_before)


def _foreign(leaf: x509.Certificate, ca_pem: str) -> str | None:
    """A sentence when a certificate was not issued by a CA, else None."""
    ca = x509.load_pem_x509_certificate(ca_pem.encode("ascii"))
    stranger = not_issued_by(leaf, ca)
    return f"it was not issued by the current CA ({stranger})" if stranger else None


def aged(pem: str, now: datetime.datetime | None = None, renew_before: datetime.timedelta | None = None) -> str | None:
    """Why the first certificate of a PEM text must be replaced because of its age; None when it need not.

    Args:
        pem: the certificate.
        now: the time to judge by; the present by default.
        renew_before: how long before its expiry it is replaced; half of its lifetime by default.
    """
    return _aged(x509.load_pem_x509_certificate(pem.encode("ascii")), now, renew_before)


def _aged(
    leaf: x509.Certificate, now: datetime.datetime | None, renew_before: datetime.timedelta | None = None
) -> str | None:
    """A sentence when a certificate has expired or expires soon, else None."""
    now = now or _now()
    start, end = leaf.not_valid_before_utc, leaf.not_valid_after_utc
    if now >= end:
        return f"it expired on {end.isoformat()}"
    if renew_before is not None and now >= end - renew_before:
        return f"it expires on {end.isoformat()}"
    if renew_before is None and now >= start + (end - start) / 2:
        return f"more than half of its lifetime is over (it expires on {end.isoformat()})"
    return None


def client_request(key: str, common_name: str) -> str:
    """Create a request for a client certificate. It contains the public key and is signed by the private one.

    Args:
        key: PEM text of the private key.
        common_name: shown to people; the signer sets the name.

    Returns:
        A PKCS10 request, PEM. Nothing in it is secret.

    Raises:
        ValueError: the text is not a private key.
    """
    request = x509.CertificateSigningRequestBuilder().subject_name(_name(common_name)).sign(*_signing(key))
    return request.public_bytes(serialization.Encoding.PEM).decode("ascii")


def _requested_key(request_pem: str) -> Any:
    """Public key of a request. Raises ValueError when the request is none, or its key is of no use."""
    request = x509.load_pem_x509_csr(request_pem.encode("ascii"))
    if not request.is_signature_valid:
        raise ValueError("the request is not signed by its own key")
    key = request.public_key()
    if isinstance(key, ec.EllipticCurvePublicKey) and key.key_size >= 256:
        return key
    if isinstance(key, rsa.RSAPublicKey) and key.key_size >= 2048:
        return key
    raise ValueError("the request's key is neither an elliptic-curve key of 256 bits or more nor RSA of 2048 or more")


def request_fingerprint(request_pem: str) -> str:
    """Fingerprint of the public key in a request, in the form of C(fingerprint).

    Raises:
        ValueError: see C(sign_client_request).
    """
    line = _requested_key(request_pem).public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
    return fingerprint(line.decode("ascii"))


def sign_client_request(
    ca: Issued,
    request_pem: str,
    common_name: str,
    organization: str,
    lifetime: datetime.timedelta,
    now: datetime.datetime | None = None,
) -> str:
    """Issue a client certificate for the key of a request.

    Only the key is taken from the request: a site does not choose its own name, nor the usage of its certificate.

    Args:
        ca: the CA that signs.
        request_pem: PKCS10 request, PEM.
        common_name: the site.
        organization: the federation.
        lifetime: from now; limited by the CA's expiry.
        now: the time to count from; the present by default.

    Returns:
        The certificate, PEM, without its issuer.

    Raises:
        ValueError: the request is none, is not signed by its own key, or its key is too weak.
    """
    key = _requested_key(request_pem)
    issuer = x509.load_pem_x509_certificate(ca.certificate.encode("ascii"))
    ca_key, algorithm = _signing(ca.key)
    lifetime = min(lifetime, issuer.not_valid_after_utc - (now or _now()))
    return _cert_pem(
        _builder(_name(common_name, organization), key, lifetime, now)
        .issuer_name(issuer.subject)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(ca=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
        .sign(ca_key, algorithm)
    )


def other_key(certificate_pem: str, request_pem: str) -> bool:
    """Whether a certificate is for another key than a request."""
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode("ascii"))
    return certificate.public_key() != _requested_key(request_pem)


def client_reissue_reason(
    certificate_pem: str,
    ca_pem: str,
    request_pem: str,
    common_name: str,
    organization: str,
    now: datetime.datetime | None = None,
) -> str | None:
    """Why a client certificate must be reissued; None when it is valid.

    Args:
        certificate_pem: the certificate, PEM.
        ca_pem: PEM text of the CA that should have signed it.
        request_pem: request by the key that it should be for.
        common_name: the site.
        organization: the federation.
        now: the time to judge by; the present by default.
    """
    certificate = x509.load_pem_x509_certificate(certificate_pem.encode("ascii"))
    if certificate.subject != _name(common_name, organization):
        return f"its subject is {certificate.subject.rfc4514_string()}"
    if other_key(certificate_pem, request_pem):
        return "the site has another key"
    return _foreign(certificate, ca_pem) or _aged(certificate, now)


def make_crl(ca: Issued, revoked: Mapping[str, datetime.datetime]) -> str:
    """Sign the revocation list of a CA. It expires with the CA: with an expired list, all clients are rejected.

    Args:
        ca: the CA.
        revoked: serial (hex) -> since when.

    Returns:
        The list, PEM.
    """
    issuer = x509.load_pem_x509_certificate(ca.certificate.encode("ascii"))
    ca_key, algorithm = _signing(ca.key)
    now = _now()
    # All at once: adding them one by one copies the list each time.
    entries = [
        x509.RevokedCertificateBuilder().serial_number(int(serial, 16)).revocation_date(since).build()
        for serial, since in sorted(revoked.items())
    ]
    builder = (
        x509.CertificateRevocationListBuilder(revoked_certificates=entries)
        .issuer_name(issuer.subject)
        .last_update(now - BACKDATE)
        .next_update(max(issuer.not_valid_after_utc, now))
        .add_extension(x509.CRLNumber(int(now.timestamp())), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key()), critical=False)
    )
    return builder.sign(ca_key, algorithm).public_bytes(serialization.Encoding.PEM).decode("ascii")


def crl_entries(crl_pem: str, ca_pem: str) -> dict[str, str] | None:
    """Serial (hex) -> since when (ISO 8601) in a revocation list; None when it is none, or was not signed by this CA."""
    issuer = x509.load_pem_x509_certificate(ca_pem.encode("ascii"))
    try:
        crl = x509.load_pem_x509_crl(crl_pem.encode("ascii"))
    except ValueError:
        return None
    signer: Any = issuer.public_key()  # of a kind that can sign, since it is a CA's
    if crl.issuer != issuer.subject or not crl.is_signature_valid(signer):
        return None
    return {format(entry.serial_number, "x"): entry.revocation_date_utc.isoformat() for entry in crl}


def made_at(certificate_pem: str) -> datetime.datetime:
    """When a CA that was created here was created: its validity starts earlier, by C(BACKDATE)."""
    return x509.load_pem_x509_certificate(certificate_pem.encode("ascii")).not_valid_before_utc + BACKDATE
