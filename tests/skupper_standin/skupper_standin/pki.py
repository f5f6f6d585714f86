# SPDX-License-Identifier: Apache-2.0
# Copyright (c) 2026, the federated.flower authors
"""Certificates as Skupper makes them (§3): RSA 2048, five years, every leaf for servers and clients alike."""

from __future__ import annotations

import base64
import contextlib
import datetime
import ipaddress
from collections.abc import Mapping, Sequence

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=5 * 365)
Data = dict[str, str]  # of a Secret, base64


class SigningError(Exception):
    """The issuer's Secret cannot sign."""


def encode(value: bytes) -> str:
    """As in a Secret."""
    return base64.b64encode(value).decode()


def field(secret: Mapping[str, object], name: str) -> bytes:
    """A value of a Secret; empty if it has none."""
    data = secret.get("data") or {}
    assert isinstance(data, Mapping)
    return base64.b64decode(data.get(name, ""))


def certificate(secret: Mapping[str, object]) -> x509.Certificate | None:
    """The (first) certificate of a Secret; None if there is none that can be read."""
    try:
        return x509.load_pem_x509_certificate(field(secret, "tls.crt"))
    except ValueError:
        return None


def serial(secret: Mapping[str, object]) -> str:
    """Serial number of a Secret's certificate, in hexadecimal."""
    found = certificate(secret)
    return format(found.serial_number, "x") if found else ""


def hosts_of(leaf: x509.Certificate) -> set[str]:
    """Names and addresses that a certificate is for."""
    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return set()
    return {*names.get_values_for_type(x509.DNSName), *map(str, names.get_values_for_type(x509.IPAddress))}


def common_name(leaf: x509.Certificate) -> str:
    """CN of the subject."""
    return "".join(str(one.value) for one in leaf.subject.get_attributes_for_oid(NameOID.COMMON_NAME))


def make(
    subject: str,
    hosts: Sequence[str] = (),
    issuer: Mapping[str, object] | None = None,
    lifetime: datetime.timedelta = LIFETIME,
) -> Data:
    """Data of a Secret with a new certificate; self-signed and an authority without an ``issuer`` (a Secret).

    An address among the hosts becomes a DNS name, too: the router knows no others (§3). Raises SigningError.
    """
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, subject)])
    if issuer is None:
        parent_name, parent_key, parent_pem = name, key, b""
    else:
        parent_name, parent_key, parent_pem = _parent(issuer)
    begin = datetime.datetime.now(datetime.timezone.utc)
    names: list[x509.GeneralName] = []
    for host in hosts:
        with contextlib.suppress(ValueError):
            names.append(x509.IPAddress(ipaddress.ip_address(host)))
        names.append(x509.DNSName(host))
    usage = x509.KeyUsage(
        digital_signature=True,
        content_commitment=False,
        key_encipherment=True,
        data_encipherment=False,
        key_agreement=False,
        key_cert_sign=issuer is None,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(parent_name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(begin + lifetime)
        .add_extension(x509.BasicConstraints(ca=issuer is None, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .add_extension(both, critical=False)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(parent_key.public_key()), critical=False)
    )
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    pem = builder.sign(parent_key, hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    key_pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
    return {"tls.crt": encode(pem), "tls.key": encode(key_pem), "ca.crt": encode(parent_pem or pem)}


def _parent(issuer: Mapping[str, object]) -> tuple[x509.Name, rsa.RSAPrivateKey, bytes]:
    found = certificate(issuer)
    if found is None:
        raise SigningError("the issuer's Secret has no certificate")
    pem = field(issuer, "tls.key")
    # §3: the key of an issuer must be RSA, and in PKCS#1
    if not pem.lstrip().startswith(b"-----BEGIN RSA PRIVATE KEY-----"):
        raise SigningError("failed to get CA private key from secret: it is not RSA in PKCS#1")
    key = serialization.load_pem_private_key(pem, None)
    assert isinstance(key, rsa.RSAPrivateKey)
    return found.subject, key, field(issuer, "tls.crt")
