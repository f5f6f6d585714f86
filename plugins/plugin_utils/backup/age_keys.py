# Copyright (c) 2026, the federated.flower authors
# GNU General Public License v3.0+ (see COPYING or https://www.gnu.org/licenses/gpl-3.0.txt)
# SPDX-License-Identifier: GPL-3.0-or-later

"""What an archive is encrypted with: age (https://age-encryption.org/v1), by the library pyrage.

With a passphrase the archive is encrypted to a key pair of its own, whose private key is in the archive, encrypted with the
passphrase: age's passphrase format is not streamed by the library, and a database need not fit into memory. The program
C(age) opens both files of such an archive, too.
"""

from __future__ import annotations

import dataclasses
import importlib
from typing import Any

from ..base.errors import ClusterError

try:
    pyrage: Any = importlib.import_module("pyrage")
except ImportError as error:  # reported when it is needed: listing and documenting the plugins must work without it
    MISSING: ImportError | None = error
else:
    MISSING = None


def require() -> None:
    """Raise an error with what to install when the library is missing.

    Raises:
        ClusterError: as all errors that a user can resolve.
    """
    if MISSING is not None:
        raise ClusterError(
            "the Python package pyrage is needed on the control node for backups and is not installed: install pyrage>=1.4"
        ) from MISSING


@dataclasses.dataclass(frozen=True)
class Lock:
    """To whom an archive is encrypted.

    Attributes:
        recipients: objects of the library.
        identity: the archive's own private key, encrypted with the passphrase; empty with recipients.
    """

    recipients: list[Any]
    identity: bytes = b""


def lock_for(passphrase: str = "", recipients: tuple[str, ...] = ()) -> Lock:
    """What to encrypt an archive with.

    Args:
        passphrase: or empty.
        recipients: public keys (C(age1…)), or none.

    Raises:
        ClusterError: both or none of them are given, or a recipient is not a public key.
    """
    require()
    if bool(passphrase) == bool(recipients):
        raise ClusterError("a backup is encrypted with a passphrase or to recipients: set one of them, not both")
    if passphrase:
        own = pyrage.x25519.Identity.generate()
        return Lock([own.to_public()], pyrage.passphrase.encrypt(str(own).encode("ascii"), passphrase))
    found = []
    for text in recipients:
        try:
            found.append(pyrage.x25519.Recipient.from_str(text.strip()))
        except pyrage.RecipientError as error:
            # Not the text: it is a private key when people mix them up.
            raise ClusterError(
                "a recipient of the backup is not a public key of age (age1…). Set that of age-keygen"
            ) from error
    return Lock(found)


def identity_for(wrapped: bytes, where: str, passphrase: str = "", identity: str = "") -> Any:
    """The private key that opens an archive, as an object of the library.

    Args:
        wrapped: C(Lock.identity) of the archive.
        where: the archive, for errors.
        passphrase: or empty.
        identity: a private key (C(AGE-SECRET-KEY-…)), or empty.

    Raises:
        ClusterError: what is given does not fit the archive.
    """
    require()
    if wrapped:
        if not passphrase:
            raise ClusterError(f"{where} was encrypted with a passphrase: set it")
        try:
            identity = pyrage.passphrase.decrypt(wrapped, passphrase).decode("ascii")
        except (pyrage.DecryptError, UnicodeDecodeError) as error:
            raise ClusterError(
                f"{where} cannot be opened: the passphrase is another one, or the file is damaged"
            ) from error
    elif not identity:
        raise ClusterError(f"{where} was encrypted to recipients: set the private key of one of them")
    try:
        return pyrage.x25519.Identity.from_str(identity.strip())
    except pyrage.IdentityError as error:
        raise ClusterError(f"the key for {where} is not a private key of age (AGE-SECRET-KEY-…)") from error
