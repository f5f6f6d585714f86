# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Check a certificate, its names and chain as the clients of the gateway do. Pure.

Sources of the rules: RFC 5280 section 6, and HAProxy 2.6 with OpenSSL 3, tried: a chain must end in a self-signed
certificate of the trust bundle (an intermediate alone is rejected), a CA of version 1 is accepted as a root, C(*) stands for
one label. C(cryptography)'s own verifier follows the rules of web browsers, which refuse CAs that these clients take.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

try:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, rsa
except ImportError:  # reported by library.require()
    pass

from ..base.addresses import is_ip
from . import certificates

MAX_DEPTH = 10
# OpenSSL's security level 2, the default of Debian and of what is built on it.
MIN_RSA_BITS = 2048
_WEAK_HASHES = ("md5", "sha1")
_BEGINNINGS = re.compile(r"-----BEGIN [A-Z0-9 ]*CERTIFICATE-----")  # OpenSSL has other forms of certificates, too
# The clock of a cluster is read from HTTP's Date, which has whole seconds. Without this, a certificate that an issuer such as cert-manager,
# which does not date back, has just issued would begin in the future.
CLOCK_ACCURACY = datetime.timedelta(seconds=2)


class ChainError(ValueError):
    """A certificate, key or chain that the gateway cannot serve or sites would reject; the text is the reason."""


def read(pem: str) -> list[x509.Certificate]:
    """The certificates of a PEM text.

    Raises:
        ChainError: there are none, one is broken, or there is a private key among them.
    """
    if "PRIVATE KEY-----" in pem:
        raise ChainError("contains a private key; only certificates are allowed here")
    if not pem.strip():
        raise ChainError("is empty")
    found = []
    parts = certificates.split(pem)
    if not parts or len(_BEGINNINGS.findall(pem)) != len(parts):
        raise ChainError("is not a PEM certificate: it needs complete blocks from BEGIN CERTIFICATE to END CERTIFICATE")
    for number, part in enumerate(parts, 1):
        try:
            certificate = x509.load_pem_x509_certificate(part.encode("ascii"))
            list(certificate.extensions)  # parsed lazily: a broken one must be reported now
            subject(certificate)
        except certificates.UNREADABLE as error:
            raise ChainError(f"has a certificate that cannot be read (number {number}: {error})") from error
        found.append(certificate)
    return found


def subject(certificate: x509.Certificate) -> str:
    """The subject of a certificate, for people; a subject may be empty."""
    return certificate.subject.rfc4514_string() or f"serial {certificate.serial_number:x}"


def is_root(certificate: x509.Certificate) -> bool:
    """Has it signed itself?"""
    return certificate.subject == certificate.issuer and certificates.not_issued_by(certificate, certificate) is None


def signed_by(pem: str, ca_pem: str) -> bool:
    """Whether a CA has signed the first certificate of a PEM text, whatever its dates; not if that cannot be read."""
    try:
        leaf = read(pem)[0]
    except ChainError:
        return False
    return certificates.not_issued_by(leaf, read(ca_pem)[0]) is None


def check_key(leaf: x509.Certificate, key: str) -> None:
    """Does the private key belong to the certificate?

    Raises:
        ChainError: it does not, or cannot be read. The text contains nothing of the key.
    """
    if not key.strip():
        raise ChainError("is empty")
    try:
        private = serialization.load_pem_private_key(key.encode("ascii"), password=None)
    except TypeError as error:
        raise ChainError("is encrypted with a passphrase; use a key without a passphrase") from error
    except certificates.UNREADABLE as error:
        # The library's message may quote its input.
        raise ChainError(f"is not a PEM private key ({type(error).__name__})") from error
    if _spki(private.public_key()) != _spki(leaf.public_key()):
        raise ChainError(f"belongs to another certificate than {subject(leaf)}")


def unusable(pem: str, key: str) -> str | None:
    """Why the first certificate of a PEM text cannot be used with a private key, whatever its dates; None when it can.

    The text contains nothing of the key.
    """
    try:
        leaf = read(pem)[0]
    except ChainError as error:
        return f"its certificate {error}"
    try:
        check_key(leaf, key)
    except ChainError as error:
        return f"its private key {error}"
    return None if certificates.is_readable(pem + "\n" + key) else "its lines were changed, so that the gateway cannot read it"


def _spki(key: Any) -> bytes:
    return key.public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)


def names(leaf: x509.Certificate) -> tuple[list[str], list[str]]:
    """DNS names and IP addresses of a certificate; the common name does not count (Python's clients ignore it)."""
    try:
        extension = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return [], []
    dns = extension.get_values_for_type(x509.DNSName)
    return [name.lower() for name in dns], [str(address) for address in extension.get_values_for_type(x509.IPAddress)]


def covers(leaf: x509.Certificate, name: str) -> bool:
    """Is the certificate good for this host? An IP address needs an entry of that type."""
    dns, addresses = names(leaf)
    if is_ip(name):
        return certificates.canonical(name) in addresses
    name = name.lower()
    return name in dns or "*." + name.partition(".")[2] in dns


def path(chain: Sequence[x509.Certificate], trusted: Sequence[x509.Certificate]) -> list[x509.Certificate]:
    """The certificates from the first of a chain to a self-signed one that is trusted, both included, whatever their dates.

    Raises:
        ChainError: there are none; the text has the certificate at which the chain ends.
    """
    dead_ends: list[tuple[int, str]] = []
    anchors = {_print(certificate) for certificate in trusted}
    known = list({_print(certificate): certificate for certificate in [*trusted, *chain]}.values())
    # As OpenSSL does: a CA that was renewed with its key has two certificates, of which the older may have expired.
    known.sort(key=lambda certificate: certificate.not_valid_after_utc, reverse=True)

    def climb(found: list[x509.Certificate]) -> list[x509.Certificate] | None:
        last, below = found[-1], len(found) - 1
        issuers = [one for one in known if one.subject == last.issuer and one not in found]
        dead_end = ""
        if is_root(last):
            if _print(last) in anchors:
                return found
            dead_end = f"ends in {subject(last)}, a root that is not among the trusted ones"
        elif len(found) >= MAX_DEPTH:
            dead_end = f"is longer than {MAX_DEPTH} certificates"
        elif not issuers:
            dead_end = f"lacks the certificate of {last.issuer.rfc4514_string() or 'an issuer without a name'}, which issued {subject(last)}"
        if dead_end:
            dead_ends.append((len(found), dead_end))
            return None
        for issuer in issuers:
            reason = certificates.not_issued_by(last, issuer)
            words = f"breaks at {subject(last)}: {subject(issuer)} has not signed it ({reason})" if reason else _no_ca(issuer, below)
            if words:
                dead_ends.append((len(found), words))
            elif whole := climb([*found, issuer]):
                return whole
        return None

    whole = climb([chain[0]])
    if whole is None:
        raise ChainError(max(dead_ends, key=lambda item: item[0])[1])
    return whole


def _print(certificate: x509.Certificate) -> bytes:
    return certificate.fingerprint(hashes.SHA256())


def _no_ca(certificate: x509.Certificate, below: int) -> str | None:
    """Why a certificate may not issue others; C(below) counts the CAs between it and the leaf."""
    name = subject(certificate)
    try:
        basic = certificate.extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        if certificate.version == x509.Version.v1 and certificate.subject == certificate.issuer:
            return None
        return f"includes {name}, which is not a CA (it has no basic constraints)"
    if not basic.ca:
        return f"includes {name}, which is not a CA"
    if basic.path_length is not None and below > basic.path_length:
        return f"has {below} CAs below {name}, which allows {basic.path_length}"
    try:
        usage = certificate.extensions.get_extension_for_class(x509.KeyUsage).value
    except x509.ExtensionNotFound:
        return None
    return None if usage.key_cert_sign else f"includes {name}, whose key usage does not allow it to sign certificates"


def check_use(path: Sequence[x509.Certificate]) -> None:
    """Is the first one a server certificate, and are signatures and keys strong enough for OpenSSL?

    Raises:
        ChainError: it is not.
    """
    try:
        usage = path[0].extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        usage = None
    any_use = (x509.oid.ExtendedKeyUsageOID.SERVER_AUTH, x509.oid.ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
    if usage is not None and not any(allowed in usage for allowed in any_use):
        raise ChainError(f"{subject(path[0])} is not for servers: its extended key usage has no serverAuth")
    for certificate in path:
        key = certificate.public_key()
        if isinstance(key, rsa.RSAPublicKey) and key.key_size < MIN_RSA_BITS:
            raise ChainError(f"{subject(certificate)} has an RSA key of {key.key_size} bits; {MIN_RSA_BITS} are the least")
        if isinstance(key, ec.EllipticCurvePublicKey) and key.curve.key_size < 224:
            raise ChainError(f"{subject(certificate)} has a key on {key.curve.name}, which is too short")
        algorithm = certificate.signature_hash_algorithm
        root = certificate is path[-1] and len(path) > 1  # the signature of a trusted certificate is not checked
        if algorithm is not None and algorithm.name in _WEAK_HASHES and not root:
            raise ChainError(f"{subject(certificate)} is signed with {algorithm.name}, which TLS libraries reject")


def check_times(path: Iterable[x509.Certificate], clocks: Mapping[str, datetime.datetime]) -> None:
    """Are all certificates valid by every clock (whose -> what it shows)? One that begins within the next two seconds is.

    Raises:
        ChainError: one has expired or is not valid yet; the text has certificate, clock and times.
    """
    for certificate in path:
        start, end = certificate.not_valid_before_utc, certificate.not_valid_after_utc
        for who, now in clocks.items():
            shown = now.replace(microsecond=0).isoformat()
            if now > end:
                raise ChainError(f"{subject(certificate)} expired on {end.isoformat()} (the clock of {who} shows {shown})")
            if now < start - CLOCK_ACCURACY:
                late = round((start - now).total_seconds())
                raise ChainError(
                    f"{subject(certificate)} is not valid before {start.isoformat()}, and the clock of {who} shows {shown}, "
                    f"{late} s before that"
                )
