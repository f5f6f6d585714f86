# Copyright (c) 2026, the federated.flower authors
# SPDX-License-Identifier: GPL-3.0-or-later
"""Keys, requests and certificates of kinds that C(cryptography) does not know, for which it raises exceptions that are no ValueError."""

from __future__ import annotations

import base64
import datetime

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519

from ansible_collections.federated.flower.plugins.plugin_utils.pki import keypairs

_PEM = serialization.Encoding.PEM


def _changed(pem: str, old: bytes, new: bytes) -> str:
    head, *lines, foot = pem.strip().splitlines()
    data = base64.b64decode("".join(lines))
    assert old in data
    return f"{head}\n{base64.encodebytes(data.replace(old, new)).decode('ascii')}{foot}\n"


def supernode_key() -> str:
    """A private key with an unknown cipher."""
    return _changed(keypairs.make_supernode_key(), b"\x00\x00\x00\x04none", b"\x00\x00\x00\x04nine")


def request() -> str:
    """A certificate request with an unknown type of key."""
    key = ed25519.Ed25519PrivateKey.generate()
    made = x509.CertificateSigningRequestBuilder().subject_name(x509.Name([])).sign(key, None)
    return _changed(made.public_bytes(_PEM).decode("ascii"), b"\x06\x03\x2b\x65\x70", b"\x06\x03\x2b\x65\x7f")


def certificate() -> str:
    """A certificate that has an extension twice."""
    key, now = ec.generate_private_key(ec.SECP256R1()), datetime.datetime.now(datetime.timezone.utc)
    names = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "x")])
    builder = x509.CertificateBuilder().subject_name(names).issuer_name(names).public_key(key.public_key()).serial_number(7)
    builder = builder.not_valid_before(now).not_valid_after(now + datetime.timedelta(days=1))
    for last in ("3", "4"):
        builder = builder.add_extension(x509.UnrecognizedExtension(x509.ObjectIdentifier(f"1.2.{last}"), b"\x05\x00"), critical=False)
    return _changed(builder.sign(key, hashes.SHA256()).public_bytes(_PEM).decode("ascii"), b"\x06\x02\x2a\x04", b"\x06\x02\x2a\x03")
