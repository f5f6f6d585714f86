# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later
"""Private keys, shared secrets and their fingerprints, created in memory. No I/O.

Source of the rules: flwr 1.41 (SuperNode keys: NIST curves in OpenSSH format without a passphrase).
"""

from __future__ import annotations

import base64
import hashlib
import secrets

try:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.asymmetric import ec
except ImportError:  # reported by library.require()
    pass


def private_pem(key: ec.EllipticCurvePrivateKey) -> str:
    """A private key as PKCS8 PEM text. A secret."""
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode("ascii")


def make_client_key() -> str:
    """Create the private key of a site's client certificate: P-256, PKCS8 PEM."""
    return private_pem(ec.generate_private_key(ec.SECP256R1()))


def make_supernode_key() -> str:
    """Create a SuperNode's private key: P-384, OpenSSH format, no passphrase (flwr rejects PKCS8 and Ed25519)."""
    return (
        ec.generate_private_key(ec.SECP384R1())
        .private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.OpenSSH, serialization.NoEncryption())
        .decode("ascii")
    )


def supernode_public_key(private_key: str) -> str:
    """Return the OpenSSH public line of a SuperNode's private key.

    Raises:
        ValueError: the text is not a key that flwr accepts.
    """
    key = serialization.load_ssh_private_key(private_key.encode("ascii"), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey):
        raise ValueError("a SuperNode key must be on a NIST curve (ecdsa-sha2-nistp256, 384 or 521)")
    return (
        key.public_key()
        .public_bytes(serialization.Encoding.OpenSSH, serialization.PublicFormat.OpenSSH)
        .decode("ascii")
    )


def check_supernode_key(line: str) -> str:
    """Take the OpenSSH public line of a SuperNode key as flwr does; returns it without its comment.

    Source of the rule: flwr 1.41, C(cli/supernode/register.py): an elliptic-curve key in OpenSSH format; OpenSSH supports the NIST
    curves P-256, P-384 and P-521 only.

    Raises:
        ValueError: flwr would reject it; the text is the reason.
    """
    kind, _blank, rest = line.strip().partition(" ")
    if kind not in ("ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521"):
        raise ValueError(f"{kind[:40]!r} is not the type of a key on a NIST curve (ecdsa-sha2-nistp256, 384 or 521)")
    try:
        key = serialization.load_ssh_public_key(f"{kind} {rest.split(' ')[0]}".encode("ascii"))
    except (ValueError, UnsupportedAlgorithm) as error:  # UnicodeEncodeError is a ValueError
        raise ValueError(f"it is not an OpenSSH public key ({str(error)[:80] or type(error).__name__})") from error
    if not isinstance(key, ec.EllipticCurvePublicKey):
        raise ValueError("it is not an elliptic-curve key")
    return f"{kind} {rest.split(' ')[0]}"


def fingerprint(public_key: str) -> str:
    """Fingerprint of an OpenSSH public line, in the form that C(ssh-keygen -l) prints: C(SHA256:) and base64."""
    blob = base64.b64decode(public_key.split()[1])
    return "SHA256:" + base64.b64encode(hashlib.sha256(blob).digest()).decode("ascii").rstrip("=")


def supernode_key_digest(public_key: str) -> str:
    """SHA-256 (hex) of a SuperNode's public key as flwr sends it: PEM, SubjectPublicKeyInfo.

    Source of the rule: flwr 1.41, C(supernode/node_auth_http_interceptor.py), header C(flwr-public-key).

    Args:
        public_key: the OpenSSH public line.
    """
    key = serialization.load_ssh_public_key(public_key.encode("ascii"))
    pem = key.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    return hashlib.sha256(pem).hexdigest()


def make_secret() -> str:
    """Create a shared secret: 32 random bytes as base64 text without a line end (flwr counts every byte of the file)."""
    return base64.b64encode(secrets.token_bytes(32)).decode("ascii")
