# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""Detached signatures that C(openssl dgst -sha256 -verify) reads: ECDSA or RSA over SHA-256, as the key is. Pure."""

from __future__ import annotations

from typing import Any

try:
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa
except ImportError:  # reported by library.require()
    pass


def sign(content: bytes, key_pem: str) -> bytes:
    """Sign.

    Args:
        content: what is signed.
        key_pem: a private key without a passphrase, PEM or in OpenSSH's format.

    Raises:
        ValueError: neither an EC nor an RSA key.
    """
    load = serialization.load_ssh_private_key if "OPENSSH" in key_pem[:40] else serialization.load_pem_private_key
    key = load(key_pem.encode(), None)
    if isinstance(key, ec.EllipticCurvePrivateKey):
        return key.sign(content, ec.ECDSA(hashes.SHA256()))
    if isinstance(key, rsa.RSAPrivateKey):
        return key.sign(content, padding.PKCS1v15(), hashes.SHA256())
    raise ValueError("the key is neither an EC nor an RSA key")


def is_signed_with(content: bytes, signature: bytes, public: str) -> bool:
    """Whether the holder of a private key has signed exactly this.

    Args:
        content: what was signed.
        signature: the signature.
        public: OpenSSH public line, or a certificate request, PEM.

    Raises:
        ValueError: neither of them, or another kind of key.
    """
    if "CERTIFICATE REQUEST" in public[:40]:
        return _verifies(content, signature, x509.load_pem_x509_csr(public.encode("ascii")).public_key())
    return _verifies(content, signature, serialization.load_ssh_public_key(public.encode("ascii")))


def _verifies(content: bytes, signature: bytes, key: Any) -> bool:
    try:
        if isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(signature, content, ec.ECDSA(hashes.SHA256()))
        elif isinstance(key, rsa.RSAPublicKey):
            key.verify(signature, content, padding.PKCS1v15(), hashes.SHA256())
        else:
            raise ValueError("the key is neither an EC nor an RSA key")
    except InvalidSignature:
        return False
    return True
